import type { AgentContext } from '../../http/context';
import { evaluatePolicies } from '../../policies/evaluate';
import type { PolicyRow } from '../../policies/policy';
import { startReview } from '../reviews/start-review';
import { decideByPolicy } from './decide-by-policy';
import type { DraftRequest } from './permission-request';
import type { Ruling } from './ruling';

/**
 * Weighs a request: a policy decides it, or it waits for people.
 * @param policies the account's active policies
 */
export async function weighRequest(
  context: AgentContext,
  draft: DraftRequest,
  policies: PolicyRow[],
): Promise<Ruling> {
  const { runtime, principal } = context;
  const { id: agentId, owner } = principal.agent;
  const { action, resource, scope, max_uses: maxUses } = draft.input;
  const now = runtime.now();
  const request = { agentId, action, resource, scope, maxUses };
  const { policy } = evaluatePolicies(policies, request, now);
  if (policy && policy.effect !== 'review') return await decideByPolicy(context, draft, policy);
  const columns = { status: 'pending' as const };
  if (!policy) return { columns };
  return { columns, review: startReview(policy, draft.input, { owner, now }) };
}

/**
 * Weighs a request whose approvals kept becoming outdated: no policy approves it, so that people
 * decide. Denials and reviews apply.
 */
export async function weighWithoutApprovals(
  context: AgentContext,
  draft: DraftRequest,
  policies: PolicyRow[],
): Promise<Ruling> {
  const others = policies.filter(({ effect }) => effect !== 'approve');
  return await weighRequest(context, draft, others);
}
