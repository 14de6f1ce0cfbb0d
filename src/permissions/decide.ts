import { and, eq, gt } from 'drizzle-orm';
import { type passkeys, permissions, reviews, type VoteSignature, votes } from '../db/schema';
import { Problem, unavailable } from '../errors';
import type { Context, UserContext, UserPrincipal } from '../http/context';
import type { Entry } from '../ledger/entry';
import { withPrefix } from '../lib/typeid';
import { digestDetails, draftPermissionEntry } from './draft-entry';
import { limitsOf, type Narrowing } from './limits';
import {
  isPermissionWithId,
  type Permission,
  type PermissionRow,
  presentPermission,
  type ReviewedPermission,
  requirePermission,
  statusAt,
} from './permission';
import { entryVotes, type Limits, type Vote, type VoteChannel, type VoteDecision } from './reviews/review';
import { isApprovedSql } from './reviews/reviewers';
import {
  hasVotes,
  isLastVote,
  isReviewOf,
  makeVote,
  nullIfVoteCameFirst,
  proposalColumns,
  storeVote,
  voteRow,
  withVote,
} from './reviews/vote';
import { requireVoter, type Voter } from './reviews/voter';
import { newTokenColumns } from './tokens/new-token-columns';

/** What a person decides about a permission. */
export interface Decision {
  decision: VoteDecision;
  narrowed: Narrowing;
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
    requireVoter(context, row.review, state.voter, decision.decision, context.sign !== null);
    const limits = limitsOf(row, decision.decision, decision.narrowed);
    const signature = (await context.sign?.(row, limits, state.passkey)) ?? null;
    const vote = makeVote(context, state.voter, decision, limits, signature);
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

/** The id under which a decision of a user is recorded: that of the member, or of the account for its own tokens. */
export function deciderOf({ member, account }: UserPrincipal): string {
  return member?.id ?? account.id;
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

function notPending(why: string): Problem {
  return new Problem('not_pending', `The permission ${why}.`);
}
