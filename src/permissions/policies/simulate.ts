import { type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import type { Reader } from '../../db/database';
import { userAccess } from '../../http/access';
import type { RequestContext } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { body, noQuery, readJson, readObject } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { countField, idField } from '../../http/response-fields';
import { lazy } from '../../lib/lazy';
import { idBytes, parseId } from '../../lib/typeid';
import { permissionFields } from '../permission-fields';
import { shortText } from '../tokens/token-input';
import { evaluatePolicies, OUTCOMES } from './evaluate';
import { type ActivePolicy, requireLoaded, selectActivePolicies } from './policy';

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
        { agent_id: exampleId('agent'), action: EXAMPLE.action, resource: EXAMPLE.resource, scope: EXAMPLE.scope },
      ],
    }),
);

export const Simulation = lazy(() =>
  z
    .object({
      decision: z.enum(OUTCOMES),
      policy_id: idField('policy').nullable().meta({ description: 'The policy that decides; null if none applies.' }),
      matched: z.array(idField('policy')).meta({ description: 'Every policy that applies; the first one decides.' }),
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
      examples: [{ decision: 'approve', policy_id: exampleId('policy'), matched: [exampleId('policy')] }],
    }),
);

export type Simulation = z.output<ReturnType<typeof Simulation>>;

/** Returns what the account's active policies would decide about a request. Writes nothing. */
export function simulatePolicies(
  input: { policies: ActivePolicy[] } & z.output<ReturnType<typeof PolicySimulation>>,
): Simulation {
  const { policies, agent_id: agentId = null, action, resource, scope } = input;
  const { decision, policy, matched } = evaluatePolicies(policies, { agentId, action, resource, scope });
  const review = policy?.review && { reviewers: policy.reviewers, approvals: policy.review.approvals };
  return { decision, policy_id: policy?.id ?? null, matched, ...review };
}

/** A limit that no account's reviewers reach: a simulation counts all of them. */
const ALL_REVIEWERS = 10_000;

/** Selects the policies of a simulation, whose reviewers depend on who owns the agent. */
export function selectPoliciesForAgent(reader: Reader, account: SQL<number>, agentId: unknown) {
  const id = typeof agentId === 'string' ? parseId('agent', agentId) : null;
  return selectActivePolicies(reader, account, sql`${id && idBytes(id)}`, ALL_REVIEWERS);
}

/** The preload of a simulation: the active policies, with the number of reviewers for the agent in the body. */
async function policiesForAgent(c: RequestContext, reader: Reader, account: SQL<number>) {
  const { agent_id: agentId } = (await readObject(c, readJson)) ?? {};
  return { policies: selectPoliciesForAgent(reader, account, agentId) };
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
  userAccess('policies:read', policiesForAgent),
  noQuery(),
  body(PolicySimulation),
  (c) => answer(c, simulatePolicies({ policies: requireLoaded(c.var.loaded.policies), ...c.req.valid('json') })),
);
