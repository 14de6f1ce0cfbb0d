import { Hono } from 'hono';
import { policies } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { parseId } from '../../lib/typeid';
import { isPolicy, Policy, presentPolicy } from './policy';

/** Finds a policy of the account. */
export async function getPolicy({ reader, principal }: UserContext, id: string): Promise<Policy> {
  const policy = parseId('policy', id);
  if (!policy) throw notFound('policy');
  const [[row]] = await reader.load([reader.select().from(policies).where(isPolicy(principal.account.number, policy))]);
  if (!row) throw notFound('policy');
  return presentPolicy(row);
}

export const getPolicyRoute = new Hono().get(
  '/v1/policies/:id',
  operation({
    id: 'getPolicy',
    tag: 'Policies',
    summary: 'Get a policy',
    success: ok(Policy),
    pathId: 'policy',
  }),
  userAccess('policies:read'),
  noQuery(),
  async (c) => answer(c, await getPolicy(c.var.context, c.req.param('id'))),
);
