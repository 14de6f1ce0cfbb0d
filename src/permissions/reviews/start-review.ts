import { SECOND } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { capLimits, type RequestedLimits } from '../limits';
import type { PermissionRow } from '../permission';
import type { ActivePolicy } from '../policies/policy';
import type { ReviewState } from './review';
import { DEFAULT_RULE } from './rule';
import { proposalColumns } from './vote';

/**
 * The review of a new request, which a review policy routes. The limits of the policy cap what is asked.
 * @param owner the member who owns the agent
 */
export function startReview(
  policy: ActivePolicy,
  requested: RequestedLimits,
  { owner, now }: { owner: Id<'member'> | null; now: number },
): ReviewState {
  const { id: policyId, reviewers, review } = policy;
  const rule = review ?? DEFAULT_RULE;
  const proposal = capLimits(requested, policy);
  const escalatesAt = rule.escalation && now + rule.escalation.after * SECOND;
  const times = { escalatesAt, escalatedAt: null, readAt: now };
  return { policyId, rule, owner, proposal, ...times, reviewers, votes: [], nextOrdinal: 1 };
}

/** The row of the review of a new permission. */
export function reviewRow({ account, id }: PermissionRow, review: ReviewState) {
  const { policyId, rule, owner, proposal, escalatesAt } = review;
  return {
    ...{ account, id, policyId, rule, owner, escalatesAt, escalationDueAt: escalatesAt },
    ...proposalColumns(proposal),
  };
}
