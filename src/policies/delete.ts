import { Hono } from 'hono';
import { policies } from '../db/schema';
import { userAccess } from '../http/access';
import { targetExists, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, noContent, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import type { Id } from '../lib/typeid';
import { isPolicyWithId } from './policy';

/**
 * Deletes a policy. The decisions that it made remain.
 * @throws Problem `not_found`
 */
export async function deletePolicy(
  context: UserContext,
  { id }: { id: Id<'policy'> },
): Promise<void> {
  const account = context.principal.account.number;
  const found = isPolicyWithId(account, id);
  await context.ledger.change({
    record: userActivity(context, 'policy.deleted', id),
    guards: [targetExists('policy', policies, found)],
    changes: (write) => [write.delete(policies).where(found)],
    answer: null,
  });
}

export const deletePolicyRoute = new Hono().delete(
  '/v1/policies/:id',
  operation({
    id: 'deletePolicy',
    tag: 'Policies',
    summary: 'Delete a policy',
    description: 'The decisions that it made remain.',
    success: noContent(),
    pathId: 'policy',
  }),
  userAccess('policies:write'),
  noQuery(),
  async (c) => {
    await deletePolicy(c.var.context, { id: pathId(c, 'policy') });
    return answer(c, null);
  },
);
