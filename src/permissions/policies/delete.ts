import { Hono } from 'hono';
import { policies } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import { asNotFound, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, noContent, operation } from '../../http/operation';
import { parseId } from '../../lib/typeid';
import { isPolicy, policyOwner } from './policy';

/** Deletes a policy. What it decided stays decided. */
export async function deletePolicy(context: UserContext, id: string): Promise<void> {
  const policy = parseId('policy', id);
  if (!policy) throw notFound('policy');
  const account = context.principal.account.number;
  await context.ledger
    .change({
      record: userActivity(context, 'policy.deleted', policy, { account: policyOwner(account, policy) }),
      changes: (write) => [write.delete(policies).where(isPolicy(account, policy))],
      answer: null,
    })
    .catch(asNotFound('policy'));
}

export const deletePolicyRoute = new Hono().delete(
  '/v1/policies/:id',
  operation({
    id: 'deletePolicy',
    tag: 'Policies',
    summary: 'Delete a policy',
    description: 'What it decided stays decided.',
    success: noContent(),
    pathId: 'policy',
  }),
  userAccess('policies:write'),
  noQuery(),
  async (c) => {
    await deletePolicy(c.var.context, c.req.param('id'));
    return answer(c, null);
  },
);
