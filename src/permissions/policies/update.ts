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
import { isPolicyWithId, Policy, policyFields, policyOwnerSql, presentPolicy } from './policy';

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
  const { agent_ids: agentIds, token_ttl: tokenTtl, max_uses: maxUses, is_active: isActive, ...others } = fields;
  const reason = fields.reason === '' ? null : fields.reason;
  const updatedAt = context.runtime.now();
  const columns = { ...others, agentIds, tokenTtl, maxUses, isActive, reason, updatedAt };
  const changed = { account: policyOwnerSql(account, id), changes: Object.keys(fields) };
  const [[row]] = await context.ledger
    .change({
      record: userActivity(context, 'policy.updated', id, changed),
      changes: (write) => [write.update(policies).set(columns).where(isPolicyWithId(account, id)).returning()],
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
