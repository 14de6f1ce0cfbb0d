import type { AgentContext } from '../../http/context';
import { withPrefix } from '../../lib/typeid';
import { takeFromBudget } from '../../policies/budget';
import type { PolicyRow } from '../../policies/policy';
import { digestDetails, draftPermissionEntry } from '../draft-entry';
import { capLimits } from '../limits';
import { newTokenColumns } from '../tokens/new-token-columns';
import type { DraftRequest } from './permission-request';
import { type InstantDecision, RulingOutdated } from './ruling';

/**
 * Denies a request, or approves it with a token. An approval by a policy with a budget counts in
 * the transaction that stores it.
 */
export async function decideByPolicy(
  context: AgentContext,
  draft: DraftRequest,
  policy: PolicyRow,
): Promise<InstantDecision> {
  const { subject, input, act } = draft;
  const details = {
    scope: input.scope,
    decided_by: policy.id,
    decided_via: 'policy' as const,
    decision_reason: policy.reason,
    policy_id: policy.id,
    ...digestDetails(act),
  };
  const decided = {
    decidedBy: policy.id,
    decidedAt: context.runtime.now(),
    decisionReason: policy.reason,
    policyId: policy.id,
  };
  if (policy.effect === 'deny') {
    const entry = draftPermissionEntry(context, subject, 'deny', details);
    return { kind: 'decided', columns: { status: 'denied', ...decided }, entry };
  }
  const token = await newTokenColumns(context, capLimits(input, policy));
  const token_id = withPrefix('token', subject.id);
  const entry = draftPermissionEntry(context, subject, 'approve', { ...details, token_id });
  return {
    kind: 'decided',
    columns: { status: 'approved', ...decided, ...token },
    entry,
    ...budgetUse(context, draft, policy),
  };
}

/** The guard and the count of an approval by a policy that has a budget. */
function budgetUse({ runtime }: AgentContext, { input }: DraftRequest, policy: PolicyRow) {
  const { budget } = policy;
  if (budget === null) return null;
  const limits = { scope: input.scope, maxUses: input.max_uses };
  return takeFromBudget({ ...policy, budget }, limits, {
    now: runtime.now(),
    otherwise: () => new RulingOutdated(),
  });
}
