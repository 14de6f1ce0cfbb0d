import { Hono } from 'hono';
import { policies } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { parseId } from '../../lib/typeid';
import { isPolicy } from './policy';

/** Deletes a policy. What it decided stays decided. */
export async function deletePolicy({ ledger, principal }: UserContext, id: string): Promise<void> {
  const policy = parseId('policy', id);
  if (!policy) throw notFound('policy');
  const [deleted] = await ledger.change((write) => [
    write.delete(policies).where(isPolicy(principal.account.number, policy)).returning({ id: policies.id }),
  ]);
  if (deleted.length === 0) throw notFound('policy');
}

export const policyDeletion = new Hono().delete(
  '/v1/policies/:id',
  userAccess('policies:write'),
  noQuery(),
  async (c) => {
    await deletePolicy(c.var.context, c.req.param('id'));
    return c.body(null, 204);
  },
);
