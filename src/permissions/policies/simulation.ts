import { Hono } from 'hono';
import { z } from 'zod';
import { userAccess } from '../../http/access';
import { body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { shownId } from '../../http/shown';
import { permissionFields } from '../permission';
import { wordText } from '../token-lookup';
import { DECISIONS, evaluate } from './evaluation';
import { activePolicies, type PolicyRow } from './policy';

const PolicySimulation = z.strictObject({
  agent_id: wordText.optional(),
  action: permissionFields.action,
  resource: permissionFields.resource,
  scope: permissionFields.scope.default({}),
});

/** What the account's policies would say. */
export const Simulation = z.object({
  decision: z.enum(DECISIONS),
  policy_id: shownId('policy').nullable(),
  /** Every policy that applies, the one that decides first. */
  matched: z.array(shownId('policy')),
});

export type Simulation = z.output<typeof Simulation>;

/** Asks the policies of an account what they would decide, and writes nothing. */
export function simulate(policies: PolicyRow[], input: z.output<typeof PolicySimulation>): Simulation {
  const { agent_id: agentId = null, action, resource, scope } = input;
  const { decision, policy, matched } = evaluate(policies, { agentId, action, resource, scope });
  return { decision, policy_id: policy?.id ?? null, matched };
}

export const policySimulation = new Hono().post(
  '/v1/policies/simulate',
  operation({
    id: 'simulatePolicies',
    tag: 'Policies',
    summary: 'Ask what the policies would decide',
    success: ok(Simulation),
  }),
  userAccess('policies:read', activePolicies),
  noQuery(),
  body(PolicySimulation),
  (c) => answer(c, simulate(c.var.loaded ?? [], c.req.valid('json'))),
);
