import { Hono } from 'hono';
import { policies } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import type { Id } from '../lib/typeid';
import { isPolicyWithId, Policy, presentPolicy } from './policy';

/**
 * Returns a policy of the account.
 * @throws Problem `not_found`
 */
export async function getPolicy(
  { reader, principal, runtime }: UserContext,
  { id }: { id: Id<'policy'> },
): Promise<Policy> {
  const [[row]] = await reader.load([
    reader.select().from(policies).where(isPolicyWithId(principal.account.number, id)),
  ]);
  if (!row) throw notFound('policy');
  return presentPolicy(row, runtime.now());
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
  async (c) => answer(c, await getPolicy(c.var.context, { id: pathId(c, 'policy') })),
);
