import { Hono } from 'hono';
import * as z from 'zod';
import { policies } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import { asNotFound, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { atLeastOneField, body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { pathId } from '../../http/path-id';
import { lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';
import { isPolicy, Policy, policyFields, policyOwnerSql, presentPolicy } from './policy';

const PolicyUpdate = lazy(() =>
  atLeastOneField(z.strictObject(policyFields()).partial()).meta({
    id: 'PolicyUpdate',
    examples: [{ is_active: false }],
  }),
);

/**
 * Changes the given fields of a policy. The change applies to later requests only.
 * @throws Problem `not_found`
 */
export async function updatePolicy(
  context: UserContext,
  { id, ...fields }: { id: Id<'policy'> } & z.output<ReturnType<typeof PolicyUpdate>>,
): Promise<Policy> {
  const account = context.principal.account.number;
  const columns = {
    name: fields.name,
    effect: fields.effect,
    actions: fields.actions,
    resources: fields.resources,
    agentIds: fields.agent_ids,
    conditions: fields.conditions,
    tokenTtl: fields.token_ttl,
    maxUses: fields.max_uses,
    reason: fields.reason === '' ? null : fields.reason,
    priority: fields.priority,
    isActive: fields.is_active,
    updatedAt: context.runtime.now(),
  };
  const changed = { account: policyOwnerSql(account, id), changes: Object.keys(fields) };
  const [[row]] = await context.ledger
    .change({
      record: userActivity(context, 'policy.updated', id, changed),
      changes: (write) => [write.update(policies).set(columns).where(isPolicy(account, id)).returning()],
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
    description: 'Changes the given fields.',
    success: ok(Policy),
    pathId: 'policy',
  }),
  userAccess('policies:write'),
  noQuery(),
  body(PolicyUpdate),
  async (c) => answer(c, await updatePolicy(c.var.context, { id: pathId(c, 'policy'), ...c.req.valid('json') })),
);
