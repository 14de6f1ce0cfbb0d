import { and, eq, gt } from 'drizzle-orm';
import { permissions, type VoteSignature } from '../db/schema';
import { unavailable } from '../errors';
import type { Context, UserContext } from '../http/context';
import { appendedSequence } from '../ledger/append';
import type { Entry } from '../ledger/entry';
import type { Guard } from '../ledger/guard';
import { withPrefix } from '../lib/typeid';
import { deciderOf, digestDetails, draftPermissionEntry } from './draft-entry';
import { isPermissionWithId, notPending } from './find-permission';
import { limitsOf } from './limits';
import {
  type Permission,
  type PermissionRow,
  presentPermission,
  type ReviewedPermission,
} from './permission';
import type { DecidingContext, Decision, DecisionState } from './reviews/decision';
import { readGenuine } from './reviews/genuine';
import {
  approvalsGuard,
  noNewVoteGuard,
  PermissionChanged,
  passkeyGuard,
  voteGuard,
} from './reviews/guards';
import {
  countingApprovals,
  entryVotes,
  type Limits,
  type MemberDecision,
  type ReviewState,
  type Vote,
} from './reviews/review';
import { isLastVote, makeVote, storeVote, voteStatements, withVote } from './reviews/vote';
import { requireMayDecide } from './reviews/voter';
import { type GivenSeries, type Giver, giveSeries, requireKeptSeries } from './series/give';
import { newTokenColumns } from './tokens/new-token-columns';

/** The number of attempts while the review changes between reading and writing. */
const MAX_TRIES = 20;

/**
 * Takes a person's decision on a permission. Without a review it decides at once. In a review it is
 * a vote: a denial decides at once, and so does the last approval that the rule demands.
 *
 * Concurrent votes are stored one after the other. The transaction that stores the deciding
 * approval counts only approvals of people who are still reviewers.
 * @returns the permission, still pending if more approvals are needed
 * @throws Problem `not_found`, `not_pending`, `account_stopped` (approvals), `person_required`,
 *   `not_a_reviewer`, `self_approval`, `already_voted`, `passkey_required`, `scope_widened`,
 *   `invalid_assertion`, in this order; `conflict` for too many votes, or as {@link readGenuine};
 *   `unavailable` if the review keeps changing
 */
export async function decidePermission(
  context: DecidingContext,
  preloaded: DecisionState,
  decision: Decision,
): Promise<Permission> {
  return untilUnchanged(context, preloaded, async (state) => {
    const atReading = withTimeOf(context, state.permission);
    const row = await readGenuine(atReading, state, decision);
    requireMayDecide(atReading, {
      review: row.review,
      voter: state.voter,
      decision: decision.kind,
      isSigned: context.verifySignature !== null,
      givesSeries: decision.narrowed.series !== undefined,
    });
    requireKeptSeries(context.principal.account, decision.narrowed.series);
    const limits = limitsOf(row, decision.kind, decision.narrowed);
    const signature = (await context.verifySignature?.(row, limits, state.passkey)) ?? null;
    const decided = byMember(atReading, decision, limits, signature);
    const { review } = row;
    if (!review)
      return storeDecision(atReading, row, decision, limits, { kind: 'direct', decided });
    if (!decided) throw new Error('a caller who is no member was admitted to a review');
    const vote = await makeVote(atReading, row.id, { review, voter: state.voter, decided });
    if (!isLastVote(review, vote)) return storeVote(atReading, row, review, vote);
    return storeDecision(atReading, row, decision, limits, { kind: 'vote', review, vote });
  });
}

/** The decision of the calling member; null for the account's own token, which has no member. */
function byMember(
  { principal, runtime }: UserContext,
  { kind, reason, via }: Decision,
  limits: Limits,
  signature: VoteSignature | null,
): MemberDecision | null {
  if (!principal.member) return null;
  const { id: by } = principal.member;
  return { by, decision: kind, ...limits, reason, via, signature, at: runtime.now() };
}

/**
 * The context at the time for which the review was read. Who is a reviewer depends on the time, so
 * reading and writing must use the same one. Otherwise an escalation in between would make the
 * writing count other people than the reading.
 */
function withTimeOf<C extends Context>(context: C, permission: ReviewedPermission | undefined): C {
  const readAt = permission?.review?.readAt;
  if (readAt === undefined) return context;
  return { ...context, runtime: { ...context.runtime, now: () => readAt } };
}

/**
 * Tries a change of a pending permission until its review does not change between reading and
 * writing: after {@link PermissionChanged} it reads the state again.
 * @throws Problem `unavailable` if it keeps changing
 */
export async function untilUnchanged<S, R>(
  { reload }: { reload: () => Promise<S> },
  state: S,
  attempt: (state: S) => Promise<R>,
): Promise<R> {
  let current = state;
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    try {
      return await attempt(current);
    } catch (error) {
      if (!(error instanceof PermissionChanged)) throw error;
    }
    current = await reload();
  }
  throw unavailable();
}

/** How a decision ends the wait: as the last vote of a review, or directly if there is none. */
type FinalDecision =
  | { kind: 'vote'; review: ReviewState; vote: Vote }
  | {
      kind: 'direct';
      /** Null if the account's own token decides. */
      decided: MemberDecision | null;
    };

/** Stores a decision that ends the wait: its entry, its columns and the series that it gives. */
async function storeDecision(
  context: UserContext,
  row: ReviewedPermission,
  { kind, reason, via }: Decision,
  limits: Limits,
  final: FinalDecision,
): Promise<Permission> {
  const { scope, series } = limits;
  const decidedBy = deciderOf(context.principal);
  const isApproval = kind === 'approve';
  const votes = loggedVotes(final);
  const entry = draftPermissionEntry(context, row, kind, {
    scope,
    ...(isApproval && { token_id: withPrefix('token', row.id) }),
    ...digestDetails(row),
    decided_by: decidedBy,
    decided_via: via,
    decision_reason: reason,
    ...(votes && { votes: entryVotes(row.scope, votes) }),
    ...(row.review && { review_policy_id: row.review.policyId }),
    ...(series && { granted_series: series }),
  });
  let columns: WaitEnd['columns'] = {
    status: 'denied',
    decidedBy,
    decidedAt: context.runtime.now(),
    decisionReason: reason,
  };
  if (isApproval) {
    const token = await newTokenColumns(context, limits);
    columns = { ...columns, ...token, status: 'approved', grantedSeries: series };
  }
  let given: GivenSeries | null = null;
  if (series) given = await giveSeries(context, row, series, { limits, givers: giversOf(final) });
  return endWait(context, row, { entry, columns, final, given });
}

/** The change of a pending permission that ends its wait. */
interface WaitEnd {
  entry: Entry;
  columns: Partial<PermissionRow>;
  /** Absent if nobody decides. */
  final?: FinalDecision;
  /** The series that the approval gives. */
  given?: GivenSeries | null;
}

/**
 * Ends the wait of a pending permission: stores its new columns with the audit entry, and the vote
 * that decided.
 * @throws PermissionChanged if it was read with a review, or the decision is signed; otherwise
 *   Problem `not_pending` if it was decided, expired or was deleted after it was read
 */
export async function endWait(
  context: Context,
  row: ReviewedPermission,
  { entry, columns, final, given = null }: WaitEnd,
): Promise<Permission> {
  const { runtime, ledger, principal } = context;
  const now = runtime.now();
  const changed = { ...columns, updatedAt: now };
  const vote = final?.kind === 'vote' ? final.vote : null;
  const decided = final?.kind === 'direct' ? final.decided : null;
  const voted = vote ? withVote(row, vote) : row;
  const permission = presentPermission({ ...voted, ...changed }, now, principal);
  const guards: Guard[] = [];
  if (vote) guards.push(voteGuard(row, vote, now));
  if (given) guards.push(given.guard);
  if (row.review && !vote) guards.push(noNewVoteGuard(row, row.review));
  if (vote?.decision === 'approve') guards.push(approvalsGuard(voted, now));
  if (decided?.signature) guards.push(passkeyGuard(row.account, decided.by, decided.signature));
  const committed = await ledger.commit({
    guards,
    changes: (write) => {
      const isPending = and(
        isPermissionWithId(row.account, row.id),
        eq(permissions.status, 'pending'),
        gt(permissions.expiresAt, now),
      );
      const ending = write
        .update(permissions)
        .set({ ...changed, lastEntry: appendedSequence(row.account) })
        .where(isPending);
      const giving = given ? [given.insert(write)] : [];
      if (!vote) return [ending, ...giving];
      return [...voteStatements(write, row, vote), ending, ...giving];
    },
    entries: [entry],
    answer: { value: permission, subject: row.agentId },
  });
  if (committed) return permission;
  if (row.review || decided?.signature) throw new PermissionChanged();
  throw notPending('was decided at the same time; read it to see how');
}

/** The decisions that the entry has as votes: those of a review, or a direct one that is signed. */
function loggedVotes(final: FinalDecision): MemberDecision[] | null {
  if (final.kind === 'vote') return [...final.review.votes, final.vote];
  return final.decided?.signature ? [final.decided] : null;
}

/** Those whose approvals give a series: the last vote, and the earlier ones that count. */
function giversOf(final: FinalDecision): Giver[] {
  if (final.kind === 'vote') return [...countingApprovals(final.review), final.vote];
  return final.decided ? [final.decided] : [];
}
