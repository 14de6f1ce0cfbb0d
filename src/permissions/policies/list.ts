import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { policies } from '../../db/schema';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { makePageById, type Page, pageParameters, readCursor } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';
import { Policy, presentPolicy } from './policy';

const PolicyList = lazy(() => z.strictObject(pageParameters(20, 100)));

/** Lists the account's policies, newest first. */
export async function listPolicies(
  { reader, principal, config }: UserContext,
  { limit, cursor }: z.output<ReturnType<typeof PolicyList>>,
): Promise<Page<Policy>> {
  const binding = { list: 'policies', owner: principal.account.id, filters: {} };
  const before = cursor === undefined ? null : await readCursor(config.keyring, binding, cursor);
  const older = before ? lt(policies.id, before as Id<'policy'>) : undefined;
  const page = reader
    .select()
    .from(policies)
    .where(and(eq(policies.account, principal.account.number), older))
    .orderBy(desc(policies.id))
    .limit(limit + 1);
  const [rows] = await reader.load([page]);
  return makePageById(config.keyring, binding, rows, limit, presentPolicy);
}

export const listPoliciesRoute = new Hono().get(
  '/v1/policies',
  operation({
    id: 'listPolicies',
    tag: 'Policies',
    summary: 'List policies',
    description: 'Newest first.',
    success: ok(pageOf(Policy)),
  }),
  userAccess('policies:read'),
  query(PolicyList),
  async (c) => answer(c, await listPolicies(c.var.context, c.req.valid('query'))),
);
