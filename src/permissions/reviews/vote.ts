import { and, eq } from 'drizzle-orm';
import { reviews, votes } from '../../db/schema';
import type { Batch } from '../../db/statements';
import { Problem } from '../../errors';
import { userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import type { Writer } from '../../ledger/ledger';
import { stopGuard } from '../../ledger/stop';
import { equalJson } from '../../lib/json';
import type { Id } from '../../lib/typeid';
import { type Permission, presentPermission, type ReviewedPermission } from '../permission';
import { withVoteMac } from './genuine';
import { voteGuard } from './guards';
import {
  approvalsLeft,
  type Limits,
  type MemberDecision,
  type ReviewState,
  type Vote,
} from './review';
import type { Voter } from './voter';

/**
 * Maximum number of votes on a permission: more than a review needs, as the votes of people who
 * left do not count.
 */
const MAX_VOTES = 20;

/** Makes the vote that a member's decision is in a review. */
export function makeVote(
  context: UserContext,
  id: Id<'perm'>,
  { review, voter, decided }: CastVote,
): Promise<Vote> {
  const ordinal = review.nextOrdinal;
  return withVoteMac(context, id, { ...decided, ordinal, name: voter?.name ?? null, counts: true });
}

interface CastVote {
  review: ReviewState;
  voter: Voter | undefined;
  decided: MemberDecision;
}

/** Whether a vote ends the review: a denial, or the last approval that the rule demands. */
export function isLastVote(review: ReviewState, vote: Vote): boolean {
  return vote.decision === 'deny' || approvalsLeft(review) <= 1;
}

/**
 * Stores a vote that does not decide yet, with an activity record. The audit log gets it only with
 * the entry that ends the review, which has all votes.
 * @throws Problem `conflict` for too many votes; PermissionChanged
 */
export async function storeVote(
  context: UserContext,
  row: ReviewedPermission,
  review: ReviewState,
  vote: Vote,
): Promise<Permission> {
  if (review.nextOrdinal > MAX_VOTES) {
    throw new Problem(
      'conflict',
      `The request has ${MAX_VOTES} votes, which is the maximum. Deny it.`,
    );
  }
  const permission = presentPermission(
    withVote(row, vote),
    context.runtime.now(),
    context.principal,
  );
  const guard = voteGuard(row, vote, context.runtime.now());
  await context.ledger.change({
    guards: [...(vote.decision === 'approve' ? [stopGuard(row.account)] : []), guard],
    record: userActivity(context, 'permission.voted', row.id, {
      changes: narrowedLimits(review.proposal, vote),
    }),
    changes: (write) => voteStatements(write, row, vote),
    answer: { value: permission, subject: row.agentId },
  });
  return permission;
}

/** The limits, by their names in the API, that a vote has narrowed. */
function narrowedLimits(proposal: Limits, vote: Limits): string[] {
  const narrowed: string[] = [];
  if (!equalJson(vote.scope, proposal.scope)) narrowed.push('scope');
  if (vote.tokenTtl !== proposal.tokenTtl) narrowed.push('token_ttl');
  if (vote.maxUses !== proposal.maxUses) narrowed.push('max_uses');
  if (!equalJson(vote.series, proposal.series)) narrowed.push('series');
  return narrowed;
}

/**
 * The permission with one vote more. An approval leaves its limits as the proposal for the next
 * one.
 */
export function withVote(row: ReviewedPermission, vote: Vote): ReviewedPermission {
  if (!row.review) return row;
  const review = { ...row.review, votes: [...row.review.votes, vote] };
  const { scope, tokenTtl, maxUses, series } = vote;
  if (vote.decision === 'approve') review.proposal = { scope, tokenTtl, maxUses, series };
  return { ...row, review };
}

/** Makes the statements that store a vote and, of an approval, the limits that it proposes. */
export function voteStatements(
  write: Pick<Writer<typeof votes | typeof reviews>, 'insert' | 'update'>,
  row: ReviewedPermission,
  vote: Vote,
): Batch {
  const stored = write.insert(votes).values(voteRow(row, vote));
  if (vote.decision === 'deny') return [stored];
  const isReview = and(eq(reviews.account, row.account), eq(reviews.id, row.id));
  return [stored, write.update(reviews).set(proposalColumns(vote)).where(isReview)];
}

function voteRow(row: ReviewedPermission, vote: Vote) {
  const { by, name: _, counts: __, at, ...columns } = vote;
  return {
    ...columns,
    account: row.account,
    permission: row.id,
    member: by,
    createdAt: at,
  };
}

/** The columns of a review that an approval changes. */
export function proposalColumns({ scope, tokenTtl, maxUses, series }: Limits) {
  return {
    proposedScope: scope,
    proposedTokenTtl: tokenTtl,
    proposedMaxUses: maxUses,
    proposedSeries: series,
  };
}
