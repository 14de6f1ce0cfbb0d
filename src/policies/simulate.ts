import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import type { Reader } from '../db/database';
import type { ReviewRule } from '../db/schema';
import { userAccess } from '../http/access';
import type { RequestContext, UserContext } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { countField, idField } from '../http/response-fields';
import type { CallerSql } from '../identity/credentials';
import { type LazyOutput, lazy } from '../lib/lazy';
import { idBytes, parseId } from '../lib/typeid';
import { permissionFields } from '../permissions/permission-fields';
import { countReviewersByRuleSql } from '../permissions/reviews/count-reviewers';
import { ownerOfAgentSql, ruleSql } from '../permissions/reviews/reviewers';
import { shortText } from '../permissions/tokens/token-input';
import { DECISIONS, evaluatePolicies } from './evaluate';
import { assertLoaded, type PolicyRow, selectActivePolicies } from './policy';

export const PolicySimulation = lazy(() =>
  z
    .strictObject({
      agent_id: shortText()
        .optional()
        .meta({
          description: 'Without it, policies for certain agents do not apply.',
          examples: [exampleId('agent')],
        }),
      action: permissionFields().action,
      resource: permissionFields().resource,
      scope: permissionFields().scope.default({}),
    })
    .meta({
      id: 'PolicySimulation',
      examples: [
        {
          agent_id: exampleId('agent'),
          action: EXAMPLE.action,
          resource: EXAMPLE.resource,
          scope: EXAMPLE.scope,
        },
      ],
    }),
);

export const Simulation = lazy(() =>
  z
    .object({
      decision: z.enum(DECISIONS),
      policy_id: idField('policy')
        .nullable()
        .meta({ description: 'The policy that decides; null if none applies.' }),
      matched: z
        .array(idField('policy'))
        .meta({ description: 'Every policy that applies; the first one decides.' }),
      exhausted: z.array(idField('policy')).meta({
        description:
          'The policies that do not apply only because they have expired, or have no room in their budget for one use of ' +
          'this.',
      }),
      reviewers: countField.optional().meta({
        description:
          "How many people may approve; the agent's owner counts only with `allow_self`. Only for the decision `review`.",
      }),
      approvals: countField.optional().meta({
        description: 'How many of them have to approve. Present as `reviewers` is.',
      }),
    })
    .meta({
      id: 'Simulation',
      examples: [
        {
          decision: 'approve',
          policy_id: exampleId('policy'),
          matched: [exampleId('policy')],
          exhausted: [],
        },
      ],
    }),
);

export type Simulation = LazyOutput<typeof Simulation>;

/** Returns what the account's active policies would decide about a request. Writes nothing. */
export async function simulatePolicies(
  { principal, reader, runtime }: Pick<UserContext, 'principal' | 'reader' | 'runtime'>,
  input: { policies: PolicyRow[] } & LazyOutput<typeof PolicySimulation>,
): Promise<Simulation> {
  const { policies, agent_id: agentId = null, action, resource, scope } = input;
  const { decision, policy, matched, exhausted } = evaluatePolicies(
    policies,
    { agentId, action, resource, scope, maxUses: 1 },
    runtime.now(),
  );
  const simulation = { decision, policy_id: policy?.id ?? null, matched, exhausted };
  if (!policy?.review) return simulation;
  const reviewers = await countReviewers(reader, principal.account.number, policy.review, agentId);
  return { ...simulation, reviewers, approvals: policy.review.approvals };
}

/** A limit that no account's reviewers reach: a simulation counts all of them. */
const ALL_REVIEWERS = 10_000;

/**
 * Counts the members who may approve requests of an agent by a rule; without an agent, those of any
 * agent.
 */
async function countReviewers(
  reader: Reader,
  account: number,
  rule: ReviewRule,
  agentId: string | null,
) {
  const id = parseId('agent', agentId ?? '');
  const agentOwner = ownerOfAgentSql(account, sql`${id && idBytes(id)}`);
  const reviewers = countReviewersByRuleSql(account, ruleSql(rule), {
    agentOwner,
    limit: ALL_REVIEWERS,
  });
  const [[row]] = await reader.load([reader.select({ reviewers }).from(sql`(select 1)`)]);
  return row?.reviewers ?? 0;
}

/** Preloads the active policies. */
async function preloadActivePolicies(_: RequestContext, __: Reader, { account }: CallerSql) {
  return { policies: selectActivePolicies(account) };
}

export const simulatePoliciesRoute = new Hono().post(
  '/v1/policies/simulate',
  operation({
    id: 'simulatePolicies',
    tag: 'Policies',
    summary: 'Simulate the policies',
    description: 'Shows what the active policies would decide about a request. Writes nothing.',
    success: ok(Simulation),
  }),
  userAccess('policies:read', preloadActivePolicies),
  noQuery(),
  body(PolicySimulation),
  async (c) => {
    const policies = assertLoaded(c.var.loaded.policies);
    return answer(c, await simulatePolicies(c.var.context, { policies, ...c.req.valid('json') }));
  },
);
