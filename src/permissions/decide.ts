import { and, eq, gt, type SQL, sql } from 'drizzle-orm';
import { ConstraintError } from '../db/database';
import { type passkeys, permissions, reviews, type VoteSignature, votes } from '../db/schema';
import { type FieldError, Problem, unavailable } from '../errors';
import { userActivity } from '../http/activity';
import type { Context, UserContext, UserPrincipal } from '../http/context';
import type { Entry } from '../ledger/entry';
import { equalJson } from '../lib/json';
import { withPrefix } from '../lib/typeid';
import { digestDetails, draftPermissionEntry } from './draft-entry';
import { findWidenings } from './find-widenings';
import {
  isPermissionWithId,
  type Permission,
  type PermissionRow,
  presentPermission,
  type ReviewedPermission,
  requirePermission,
  statusAt,
} from './permission';
import {
  entryVotes,
  type Limits,
  type ReviewState,
  type Vote,
  type VoteChannel,
  type VoteDecision,
} from './reviews/review';
import { eligibleVoterSql, isApprovedSql } from './reviews/reviewers';
import { newTokenColumns } from './tokens/new-token-columns';

/** What a person decides about a permission. */
export interface Decision {
  decision: VoteDecision;
  /** Limits of an approval that are narrower than what is proposed. */
  narrowed: { scope?: Limits['scope'] | undefined; token_ttl?: number | undefined; max_uses?: number | undefined };
  reason: string | null;
  via: VoteChannel;
}

/** What the decision depends on, as it was read last. */
export interface DecisionState {
  permission: ReviewedPermission | undefined;
  /** How the caller stands to the review; undefined if there is none, or the caller is no member. */
  voter: Voter | undefined;
  /** The caller's passkey that signed the decision. */
  passkey: typeof passkeys.$inferSelect | undefined;
}

/** How a member stands to the review of a permission. */
export interface Voter {
  name: string | null;
  /** Whether the member is a reviewer, apart from the ban on self-approval. */
  isNamed: boolean;
  /** Whether the member owns the agent, or did when it asked. */
  isOwner: boolean;
}

export interface DecidingContext extends UserContext {
  /** Reads the state again, after authenticating the caller again. */
  reload: () => Promise<DecisionState>;
  /**
   * Verifies the signature of the decision, whose limits depend on the votes before it; null for an unsigned decision.
   * @throws Problem `invalid_assertion`
   */
  sign: ((row: ReviewedPermission, limits: Limits, passkey: DecisionState['passkey']) => Promise<VoteSignature>) | null;
}

/** How often a decision is tried again after another vote came first. Each time, the review has one vote more. */
const MAX_TRIES = 20;

/** The greatest number of votes on a permission. More than a review needs, because votes of people who left count no longer. */
const MAX_VOTES = 20;

/**
 * Takes a person's decision on a permission. Without a review it decides at once. In a review it is a vote: a denial
 * decides at once, and so does the approval with which enough people have approved who are still reviewers.
 *
 * Of votes at the same time, one after the other is stored. No approval counts that was cast by a person who is no
 * reviewer at the moment of the last one: the transaction checks each of them.
 * @returns the permission, still pending if more approvals are needed
 * @throws Problem `not_found`, `not_pending`, `person_required`, `not_a_reviewer`, `self_approval`, `already_voted`,
 *   `passkey_required`, `scope_widened`, `invalid_assertion`, in this order
 */
export async function decidePermission(
  context: DecidingContext,
  state: DecisionState,
  decision: Decision,
): Promise<Permission> {
  return untilNoVoteComesFirst(context, state, async (state) => {
    const row = requirePending(context, state.permission);
    requireVoter(context, row, state.voter, decision, context.sign !== null);
    const limits = limitsOf(row, decision);
    const signature = (await context.sign?.(row, limits, state.passkey)) ?? null;
    const vote = makeVote(context, state, decision, limits, signature);
    return row.review && vote && !isLastVote(row.review, vote)
      ? storeVote(context, row, row.review, vote)
      : settleByDecision(context, row, decision, limits, vote);
  });
}

/**
 * Tries a change of a pending permission until no vote comes between reading and writing.
 * @param attempt returns null if another vote came first
 */
export async function untilNoVoteComesFirst<S, R>(
  { reload }: { reload: () => Promise<S> },
  state: S,
  attempt: (state: S) => Promise<R | null>,
): Promise<R> {
  let current = state;
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const result = await attempt(current);
    if (result !== null) return result;
    current = await reload();
  }
  throw unavailable();
}

/**
 * Returns a loaded permission if it still waits for a decision.
 * @throws Problem `not_found`; `not_pending` if it is already decided or has expired
 */
export function requirePending(
  { principal, runtime }: Context,
  permission: ReviewedPermission | undefined,
): ReviewedPermission {
  const row = requirePermission(principal, permission);
  const status = statusAt(row, runtime.now());
  if (status !== 'pending') throw notPending(`is ${status} already`);
  return row;
}

/**
 * Refuses a caller who may not decide as the review says. The agent's owner may always deny.
 * @throws Problem `person_required`, `not_a_reviewer`, `self_approval`, `already_voted`, `passkey_required`
 */
export function requireVoter(
  { principal: { member } }: UserContext,
  { review }: ReviewedPermission,
  voter: DecisionState['voter'],
  { decision }: Pick<Decision, 'decision'>,
  isSigned: boolean,
): void {
  if (!review) return;
  if (!member || !voter) {
    throw personRequired('A review policy applies: only a member with their own credential can decide.');
  }
  const isApproval = decision === 'approve';
  if (!voter.isNamed && (isApproval || !voter.isOwner)) {
    throw new Problem('not_a_reviewer', 'You are not one of the reviewers of this permission.');
  }
  if (!isApproval) return;
  if (voter.isOwner && !review.rule.allow_self) {
    throw new Problem('self_approval', 'You own the agent, or did when it asked. Its owner can deny, but not approve.');
  }
  if (review.votes.some(({ by, decision }) => by === member.id && decision === 'approve')) {
    throw new Problem('already_voted', 'You have approved this permission already.');
  }
  if (review.rule.passkey && !isSigned) {
    throw new Problem('passkey_required', 'Approvals of this permission have to be signed: send `assertion`.');
  }
}

/**
 * The limits that a decision is about: those of an approval may narrow what the votes so far have left; a denial is of
 * what was requested.
 * @throws Problem `scope_widened`
 */
export function limitsOf(
  row: ReviewedPermission,
  { decision, narrowed }: Pick<Decision, 'decision' | 'narrowed'>,
): Limits {
  if (decision === 'deny') return row;
  const base = row.review?.proposal ?? row;
  const source = row.review ? 'proposed' : 'requested';
  const errors: FieldError[] = narrowed.scope ? findWidenings(base.scope, narrowed.scope) : [];
  if ((narrowed.token_ttl ?? 0) > base.tokenTtl) {
    errors.push({ path: 'body.token_ttl', message: `must be at most the ${source} ${base.tokenTtl}` });
  }
  if ((narrowed.max_uses ?? 0) > base.maxUses) {
    errors.push({ path: 'body.max_uses', message: `must be at most the ${source} ${base.maxUses}` });
  }
  if (errors.length > 0) {
    throw new Problem('scope_widened', `An approval may narrow what is ${source}, but never widen it.`, { errors });
  }
  return {
    scope: narrowed.scope ?? base.scope,
    tokenTtl: narrowed.token_ttl ?? base.tokenTtl,
    maxUses: narrowed.max_uses ?? base.maxUses,
  };
}

/** The id under which a decision of a user is recorded: that of the member, or of the account for its own tokens. */
export function deciderOf({ member, account }: UserPrincipal): string {
  return member?.id ?? account.id;
}

/** The decision of the caller as a vote; null for the account's own token, which belongs to no member. */
function makeVote(
  { principal: { member }, runtime }: UserContext,
  { voter }: DecisionState,
  { decision, reason, via }: Decision,
  { scope, tokenTtl, maxUses }: Limits,
  signature: VoteSignature | null,
): Vote | null {
  if (!member) return null;
  const limits = { scope, tokenTtl, maxUses };
  const name = voter?.name ?? null;
  return { by: member.id, name, decision, ...limits, reason, via, signature, at: runtime.now(), counts: true };
}

/** Whether a vote ends the review: a denial, or the approval with which enough people have approved. */
function isLastVote({ rule, votes }: ReviewState, vote: Vote): boolean {
  if (vote.decision === 'deny') return true;
  const approvals = votes.filter(({ decision, counts }) => decision === 'approve' && counts);
  return approvals.length + 1 >= rule.approvals;
}

/** Stores a decision that ends the wait; null if a vote of another person came first. */
async function settleByDecision(
  context: UserContext,
  row: ReviewedPermission,
  { decision, reason, via }: Decision,
  { scope, tokenTtl, maxUses }: Limits,
  vote: Vote | null,
): Promise<Permission | null> {
  const decidedBy = deciderOf(context.principal);
  const isApproval = decision === 'approve';
  const votes = vote && (row.review || vote.signature) ? [...(row.review?.votes ?? []), vote] : null;
  const entry = draftPermissionEntry(context, row, decision, {
    scope: isApproval ? scope : row.scope,
    ...(isApproval && { token_id: withPrefix('token', row.id) }),
    ...digestDetails(row),
    decided_by: decidedBy,
    decided_via: via,
    decision_reason: reason,
    ...(votes && { votes: entryVotes(row.scope, votes) }),
    ...(row.review && { review_policy_id: row.review.policyId }),
  });
  const outcome = isApproval
    ? { status: 'approved' as const, ...(await newTokenColumns(context, { scope, tokenTtl, maxUses })) }
    : { status: 'denied' as const };
  const columns = { ...outcome, decidedBy, decidedAt: context.runtime.now(), decisionReason: reason };
  return settlePermission(context, row, { entry, columns, vote: row.review && vote });
}

/** Stores a vote that does not decide yet; null if a vote of another person came first. */
async function storeVote(
  context: UserContext,
  row: ReviewedPermission,
  review: ReviewState,
  vote: Vote,
): Promise<Permission | null> {
  if (review.votes.length >= MAX_VOTES) {
    throw new Problem('conflict', `The permission has ${MAX_VOTES} votes, which is the maximum. Deny it.`);
  }
  const permission = presentPermission(withVote(row, vote), context.runtime.now(), context.principal);
  try {
    await context.ledger.change({
      record: userActivity(context, 'permission.voted', row.id, { changes: narrowedLimits(review.proposal, vote) }),
      changes: (write) => [
        write.insert(votes).values(voteRow(context, row, vote)),
        write.update(reviews).set(proposalColumns(vote)).where(isReviewOf(row)),
      ],
      answer: { value: permission, subject: row.agentId },
    });
  } catch (error) {
    return nullIfVoteCameFirst(error);
  }
  return permission;
}

/** The limits, by their names in the API, that a vote has narrowed. */
function narrowedLimits(proposal: Limits, vote: Limits): string[] {
  return [
    ...(equalJson(vote.scope, proposal.scope) ? [] : ['scope']),
    ...(vote.tokenTtl === proposal.tokenTtl ? [] : ['token_ttl']),
    ...(vote.maxUses === proposal.maxUses ? [] : ['max_uses']),
  ];
}

/** The permission with one vote more. An approval leaves its limits as the proposal for the next one. */
function withVote(row: ReviewedPermission, vote: Vote): ReviewedPermission {
  if (!row.review) return row;
  const { scope, tokenTtl, maxUses } = vote;
  const proposal = vote.decision === 'approve' ? { scope, tokenTtl, maxUses } : row.review.proposal;
  return { ...row, review: { ...row.review, proposal, votes: [...row.review.votes, vote] } };
}

/**
 * The row of a vote. Its insertion aborts the transaction if the permission is no longer pending, the voter no longer a
 * reviewer, or if another vote has the same number.
 */
function voteRow({ runtime }: Context, row: ReviewedPermission, vote: Vote) {
  const { by, name: _, counts: __, at, ...columns } = vote;
  return {
    ...columns,
    account: row.account,
    permission: row.id,
    ordinal: (row.review?.votes.length ?? 0) + 1,
    member: eligibleVoterSql(row, by, vote.decision, runtime.now()),
    createdAt: at,
  };
}

function proposalColumns({ scope, tokenTtl, maxUses }: Limits) {
  return { proposedScope: scope, proposedTokenTtl: tokenTtl, proposedMaxUses: maxUses };
}

function isReviewOf({ account, id }: PermissionRow): SQL | undefined {
  return and(eq(reviews.account, account), eq(reviews.id, id));
}

/** The change of a pending permission that ends its wait. */
interface Settlement {
  entry: Entry;
  columns: Partial<PermissionRow>;
  /** The vote of a review that decides it. */
  vote?: Vote | null;
}

/**
 * Ends the wait of a pending permission: stores its new columns with the audit entry, and the vote that decided.
 * @returns the permission; null if a vote in its review came first, or a vote no longer counts
 * @throws Problem `not_pending` if it has no review and was decided, expired or was deleted after it was read
 */
export async function settlePermission(
  context: Context,
  row: ReviewedPermission,
  { entry, columns, vote }: Settlement,
): Promise<Permission | null> {
  const { runtime, ledger, principal } = context;
  const now = runtime.now();
  const settled = { ...columns, lastEntry: entry.id, updatedAt: now };
  const permission = presentPermission({ ...(vote ? withVote(row, vote) : row), ...settled }, now, principal);
  const isApproval = vote?.decision === 'approve';
  const isPending = and(
    isPermissionWithId(row.account, row.id),
    eq(permissions.status, 'pending'),
    gt(permissions.expiresAt, now),
    row.review && !vote ? hasVotes(row.review.votes.length) : undefined,
    isApproval ? isApprovedSql(row, now) : undefined,
  );
  const committed = await ledger
    .commit({
      changes: (write) => {
        const settling = write.update(permissions).set(settled).where(isPending);
        if (!vote) return [settling];
        const voting = write.insert(votes).values(voteRow(context, row, vote));
        if (!isApproval) return [voting, settling];
        return [voting, write.update(reviews).set(proposalColumns(vote)).where(isReviewOf(row)), settling];
      },
      entries: [entry],
      answer: { value: permission, subject: row.agentId },
    })
    .catch(nullIfVoteCameFirst);
  if (committed) return permission;
  if (row.review) return null;
  throw notPending('was decided at the same time; read it to see how');
}

/** Whether the permission has as many votes as were read, as SQL. */
function hasVotes(count: number): SQL {
  return sql`(
    select count(*) from votes where votes.account = permissions.account and votes.permission = permissions.id
  ) = ${count}`;
}

function nullIfVoteCameFirst(error: unknown): null {
  if (error instanceof ConstraintError && error.subject.startsWith('votes.')) return null;
  throw error;
}

export function personRequired(detail: string): Problem {
  return new Problem('person_required', detail);
}

function notPending(why: string): Problem {
  return new Problem('not_pending', `The permission ${why}.`);
}
