import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts } from '../db/schema';
import type { OperatorContext } from '../http/context';
import { queryText } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import { makePageById, type Page, pageParameters, readCursor } from '../http/page';
import { pageOf } from '../http/response-fields';
import { lazy } from '../lib/lazy';
import { type Id, parseId } from '../lib/typeid';
import { Account, accountFields, presentAccount } from './account';

const AccountList = lazy(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    plan: accountFields().plan.optional().meta({ description: 'Accounts with this plan alone.' }),
    email: queryText.optional().meta({ description: 'Accounts with this address alone, as it is written.' }),
  }),
);

/** Lists the accounts of every shard, newest first. */
export async function listAccounts(
  { config, shards }: OperatorContext,
  { limit, cursor, ...filters }: z.output<ReturnType<typeof AccountList>>,
): Promise<Page<Account>> {
  const binding = { list: 'accounts', owner: 'operator', filters };
  const before = cursor === undefined ? null : await readCursor(config.keyring, binding, cursor);
  const { plan, email } = filters;
  const pages = await Promise.all(
    shards.map(async ({ reader }) => {
      const page = reader
        .select()
        .from(accounts)
        .where(
          and(
            before ? lt(accounts.id, parseId('user', before) as Id<'user'>) : undefined,
            plan ? eq(accounts.plan, plan) : undefined,
            email === undefined ? undefined : eq(accounts.email, email),
          ),
        )
        .orderBy(desc(accounts.id))
        .limit(limit + 1);
      const [rows] = await reader.load([page]);
      return rows;
    }),
  );
  // One that moves is on two shards for a moment.
  const rows = [...new Map(pages.flat().map((row) => [row.id, row])).values()].sort((a, b) => (a.id < b.id ? 1 : -1));
  return makePageById(config.keyring, binding, rows, limit, presentAccount);
}

export const listAccountsRoute = new Hono().get(
  '/v1/admin/users',
  operation({
    id: 'listAccounts',
    tag: 'Operator',
    summary: 'List accounts',
    description: 'Newest first.',
    success: ok(pageOf(Account)),
  }),
  operatorAccess(),
  query(AccountList),
  async (c) => answer(c, await listAccounts(c.var.operator, c.req.valid('query'))),
);
