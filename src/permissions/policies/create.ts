import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { ConstraintError } from '../../db/database';
import { accounts, policies } from '../../db/schema';
import { Problem } from '../../errors';
import { userAccess } from '../../http/access';
import { userActivity } from '../../http/activity';
import { newId, type UserContext } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { answer, created, operation } from '../../http/operation';
import { lazy } from '../../lib/lazy';
import { examplePolicy, MAX_POLICIES, Policy, policyFields, presentPolicy } from './policy';

const { id: _id, created_at: _created, updated_at: _updated, ...examplePolicyFields } = examplePolicy;

const PolicyCreation = lazy(() =>
  z
    .strictObject({
      name: policyFields().name,
      effect: policyFields().effect,
      actions: policyFields().actions,
      resources: policyFields().resources,
      agent_ids: policyFields().agent_ids.default(null),
      conditions: policyFields().conditions.default({}),
      token_ttl: policyFields().token_ttl.default(null),
      max_uses: policyFields().max_uses.default(null),
      reason: policyFields().reason.default(null),
      priority: policyFields().priority.default(0),
      is_active: policyFields().is_active.default(true),
    })
    .meta({ id: 'PolicyCreation', examples: [examplePolicyFields] }),
);

/**
 * Creates a policy, which applies to later requests.
 * @throws Problem `conflict` if the account has the maximum number of policies
 */
export async function createPolicy(
  context: UserContext,
  input: z.output<ReturnType<typeof PolicyCreation>>,
): Promise<Policy> {
  const { principal, runtime, ledger } = context;
  const now = runtime.now();
  const row = {
    id: newId(runtime, 'policy'),
    name: input.name,
    effect: input.effect,
    actions: input.actions,
    resources: input.resources,
    agentIds: input.agent_ids,
    conditions: input.conditions,
    tokenTtl: input.token_ttl,
    maxUses: input.max_uses,
    reason: input.reason || null,
    priority: input.priority,
    isActive: input.is_active,
    createdAt: now,
    updatedAt: now,
  };
  // NULL, which the column refuses, if the account is deleted or has the maximum number of policies.
  const owner = sql`(
    select number from ${accounts} where number = ${principal.account.number}
      and (select count(*) from ${policies} where account = ${principal.account.number}) < ${MAX_POLICIES}
  )`;
  const created = presentPolicy(row);
  try {
    await ledger.change({
      record: userActivity(context, 'policy.created', row.id),
      changes: (write) => [write.insert(policies).values({ ...row, account: owner })],
      answer: { value: created, subject: principal.account.id },
    });
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new Problem('conflict', `The account has ${MAX_POLICIES} policies, the maximum. Delete one first.`);
  }
  return created;
}

export const createPolicyRoute = new Hono().post(
  '/v1/policies',
  operation({
    id: 'createPolicy',
    tag: 'Policies',
    summary: 'Create a policy',
    description: 'It applies to later requests.',
    success: created(Policy),
    problems: ['conflict'],
  }),
  userAccess('policies:write'),
  noQuery(),
  body(PolicyCreation),
  async (c) => answer(c, await createPolicy(c.var.context, c.req.valid('json'))),
);
