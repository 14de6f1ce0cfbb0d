import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { policies } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { query } from '../http/input';
import { defineList, loadPage, preloadPage, type RowsOf } from '../http/list';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { type Id, parseId } from '../lib/typeid';
import { Policy, presentPolicy } from './policy';

const PolicyListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

const policyList = defineList({
  parameters: PolicyListQuery,
  readPosition: (text: string) => parseId('policy', text),
  select: (reader, { account }, _, { after, rowLimit }) =>
    reader
      .select()
      .from(policies)
      .where(and(eq(policies.account, account), after && lt(policies.id, after)))
      .orderBy(desc(policies.id))
      .limit(rowLimit),
});

/**
 * Lists the account's policies, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listPolicies(
  context: UserContext,
  input: LazyOutput<typeof PolicyListQuery>,
  preloaded?: RowsOf<typeof policyList>,
): Promise<Page<Policy>> {
  const { account } = context.principal;
  const page = await openPage<Id<'policy'>>(
    context,
    { list: 'policies', caller: account.id },
    input,
  );
  const rows = preloaded ?? (await loadPage(policyList, context, input, page));
  return page.make(rows, (row) => presentPolicy(row, context.runtime.now()));
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
  userAccess('policies:read', preloadPage(policyList)),
  query(PolicyListQuery),
  async (c) =>
    answer(c, await listPolicies(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);
