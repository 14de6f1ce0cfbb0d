import { sql } from 'drizzle-orm';
import { SECOND } from '../../lib/time';
import { type Id, idBytes } from '../../lib/typeid';
import { capLimits, type RequestedLimits } from '../limits';
import type { PermissionRow } from '../permission';
import type { ActivePolicy } from '../policies/policy';
import type { ReviewState } from './review';
import { ownerOfAgentSql } from './reviewers';
import { DEFAULT_RULE } from './rule';
import { proposalColumns } from './vote';

/** The review of a new request, which a review policy routes. The limits of the policy cap what is asked. */
export function startReview(policy: ActivePolicy, requested: RequestedLimits, now: number): ReviewState {
  const { id: policyId, reviewers, review } = policy;
  const rule = review ?? DEFAULT_RULE;
  const proposal = capLimits(requested, policy);
  const escalatesAt = rule.escalation && now + rule.escalation.after * SECOND;
  return { policyId, rule, proposal, escalatesAt, escalatedAt: null, readAt: now, reviewers, votes: [] };
}

/** The row of the review of a new permission. The owner of its agent is read when the row is stored. */
export function reviewRow({ account, id, agentId }: PermissionRow, review: ReviewState) {
  const { policyId, rule, proposal, escalatesAt } = review;
  return {
    ...{ account, id, policyId, rule, escalatesAt, escalationDueAt: escalatesAt },
    owner: sql<Id<'member'>>`${ownerOfAgentSql(account, sql`${idBytes(agentId)}`)}`,
    ...proposalColumns(proposal),
  };
}
