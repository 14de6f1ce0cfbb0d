import type { AgentContext } from '../../http/context';
import { evaluatePolicies } from '../../policies/evaluate';
import type { PolicyRow } from '../../policies/policy';
import { startReview } from '../reviews/start-review';
import type { SeriesRow } from '../series/series';
import { approveBySeries, findSeries } from './approve-by-series';
import { decideByPolicy } from './decide-by-policy';
import type { DraftRequest } from './permission-request';
import type { Ruling } from './ruling';

/** The policies and series by which a request is weighed. */
export interface Rules {
  /** The account's active policies. */
  policies: PolicyRow[];
  /**
   * The live series of the agent, at least those for the action and the resource of the request.
   */
  liveSeries: SeriesRow[];
}

/** How many stale reads a request may have before people decide it. */
const MAX_STALE_READS = 3;

/**
 * Weighs a request: a policy decides it, or a series that people gave approves it, or it waits for
 * people.
 * @param staleReads how often the rows that decide the request changed after they were read. After
 *   3 times neither a policy nor a series approves it, so that people decide; denials and reviews
 *   apply.
 */
export async function weighRequest(
  context: AgentContext,
  draft: DraftRequest,
  { policies, liveSeries }: Rules,
  staleReads: number,
): Promise<Ruling> {
  if (staleReads < MAX_STALE_READS)
    return await applyRules(context, draft, { policies, liveSeries });
  const others = policies.filter(({ effect }) => effect !== 'approve');
  return await applyRules(context, draft, { policies: others, liveSeries: [] });
}

async function applyRules(
  context: AgentContext,
  draft: DraftRequest,
  { policies, liveSeries }: Rules,
): Promise<Ruling> {
  const { runtime, principal } = context;
  const { id: agentId, owner } = principal.agent;
  const { action, resource, scope, max_uses: maxUses } = draft.input;
  const now = runtime.now();
  const request = { agentId, action, resource, scope, maxUses };
  const { policy } = evaluatePolicies(policies, request, now);
  if (policy && policy.effect !== 'review') return await decideByPolicy(context, draft, policy);
  const candidate = { ...draft.input, connectionId: draft.connectionId, reviewPolicy: policy };
  const series = await findSeries(context, liveSeries, candidate);
  if (series) return await approveBySeries(context, draft, series, policies);
  const review = policy && startReview(policy, draft.input, { owner, now });
  return { kind: 'waits', review };
}
