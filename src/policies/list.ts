import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { policies } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';
import { Policy, presentPolicy } from './policy';

const PolicyListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** Lists the account's policies, newest first. */
export async function listPolicies(
  context: UserContext,
  input: LazyOutput<typeof PolicyListQuery>,
): Promise<Page<Policy>> {
  const { reader, principal } = context;
  const { account } = principal;
  const page = await openPage<Id<'policy'>>(
    context,
    { list: 'policies', caller: account.id },
    input,
  );
  const [rows] = await reader.load([
    reader
      .select()
      .from(policies)
      .where(and(eq(policies.account, account.number), page.after && lt(policies.id, page.after)))
      .orderBy(desc(policies.id))
      .limit(page.rowLimit),
  ]);
  return page.make(rows, presentPolicy);
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
  query(PolicyListQuery),
  async (c) => answer(c, await listPolicies(c.var.context, c.req.valid('query'))),
);
