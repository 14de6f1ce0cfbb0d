import { Hono } from 'hono';
import * as z from 'zod';
import { policies } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import { asNotFound, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { atLeastOneField, body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { lazy } from '../../lib/lazy';
import { parseId } from '../../lib/typeid';
import { isPolicy, Policy, policyFields, policyOwner, presentPolicy } from './policy';

const PolicyUpdate = lazy(() =>
  atLeastOneField(z.strictObject(policyFields()).partial()).meta({
    id: 'PolicyUpdate',
    examples: [{ is_active: false }],
  }),
);

/** Changes the fields that are named; requests from then on are decided by it as it then is. */
export async function updatePolicy(
  context: UserContext,
  id: string,
  input: z.output<ReturnType<typeof PolicyUpdate>>,
): Promise<Policy> {
  const policy = parseId('policy', id);
  if (!policy) throw notFound('policy');
  const account = context.principal.account.number;
  const fields = {
    name: input.name,
    effect: input.effect,
    actions: input.actions,
    resources: input.resources,
    agentIds: input.agent_ids,
    conditions: input.conditions,
    tokenTtl: input.token_ttl,
    maxUses: input.max_uses,
    reason: input.reason === '' ? null : input.reason,
    priority: input.priority,
    isActive: input.is_active,
    updatedAt: context.runtime.now(),
  };
  const changed = { account: policyOwner(account, policy), changes: Object.keys(input) };
  const [[row]] = await context.ledger
    .change({
      record: userActivity(context, 'policy.updated', policy, changed),
      changes: (write) => [write.update(policies).set(fields).where(isPolicy(account, policy)).returning()],
      answer: null,
    })
    .catch(asNotFound('policy'));
  if (!row) throw notFound('policy');
  return presentPolicy(row);
}

export const updatePolicyRoute = new Hono().put(
  '/v1/policies/:id',
  operation({
    id: 'updatePolicy',
    tag: 'Policies',
    summary: 'Change a policy',
    description: 'Changes the fields that are named.',
    success: ok(Policy),
    pathId: 'policy',
  }),
  userAccess('policies:write'),
  noQuery(),
  body(PolicyUpdate),
  async (c) => answer(c, await updatePolicy(c.var.context, c.req.param('id'), c.req.valid('json'))),
);
