import { type SQL, sql } from 'drizzle-orm';
import { SECOND } from '../../lib/time';
import { type Id, idBytes } from '../../lib/typeid';
import type { PolicyRow } from '../../policies/policy';
import { capLimits, type RequestedLimits } from '../limits';
import type { PermissionRow } from '../permission';
import { countReviewersByRuleSql } from './count-reviewers';
import type { ReviewState } from './review';
import { ownerOfAgentSql, ruleSql } from './reviewers';
import { DEFAULT_RULE } from './rule';
import { proposalColumns } from './vote';

/**
 * The review of a new request, which a review policy routes. The limits of the policy cap what is
 * asked. Its reviewers are counted when it is stored: see {@link shortOfReviewersSql}.
 * @param owner the member who owns the agent
 */
export function startReview(
  policy: PolicyRow,
  requested: RequestedLimits,
  { owner, now }: { owner: Id<'member'> | null; now: number },
): ReviewState {
  const { id: policyId, updatedAt: policyUpdatedAt, review } = policy;
  const rule = review ?? DEFAULT_RULE;
  const proposal = { ...capLimits(requested, policy), series: requested.series ?? null };
  const escalatesAt = rule.escalation && now + rule.escalation.after * SECOND;
  const times = { escalatesAt, escalatedAt: null, readAt: now };
  return {
    policyId,
    policyUpdatedAt,
    rule,
    owner,
    proposal,
    ...times,
    reviewers: 0,
    votes: [],
    nextOrdinal: 1,
  };
}

/** Whether a new review has fewer reviewers than it needs, as the SQL of a JSON value. */
export function shortOfReviewersSql(
  { account, agentId }: PermissionRow,
  { rule }: ReviewState,
): SQL {
  const agentOwner = ownerOfAgentSql(account, sql`${idBytes(agentId)}`);
  const reviewers = countReviewersByRuleSql(account, ruleSql(rule), {
    agentOwner,
    limit: rule.approvals,
  });
  return sql`json(iif(${reviewers} < ${rule.approvals}, 'true', 'false'))`;
}

/** The row of the review of a new permission. */
export function reviewRow({ account, id }: PermissionRow, review: ReviewState) {
  const { policyId, policyUpdatedAt, rule, owner, proposal, escalatesAt } = review;
  return {
    account,
    id,
    policyId,
    policyUpdatedAt,
    rule,
    owner,
    escalatesAt,
    escalationDueAt: escalatesAt,
    ...proposalColumns(proposal),
  };
}
