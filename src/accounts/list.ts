import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts } from '../db/schema';
import type { OperatorContext } from '../http/context';
import { queryText } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { normalizeEmailAddress } from '../lib/email-address';
import { type LazyOutput, lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';
import { Account, accountFields, presentAccount } from './account';

const AccountListQuery = lazy(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    plan: accountFields().plan.optional().meta({ description: 'Only accounts with this plan.' }),
    email: queryText
      .transform((email) => normalizeEmailAddress(email) ?? email)
      .optional()
      .meta({ description: 'Only accounts with exactly this address.' }),
  }),
);

/** Lists the accounts of every shard, newest first. */
export async function listAccounts(
  context: OperatorContext,
  input: LazyOutput<typeof AccountListQuery>,
): Promise<Page<Account>> {
  const { plan, email } = input;
  const page = await openPage<Id<'user'>>(context, { list: 'accounts', caller: 'operator' }, input);
  const found = await Promise.all(
    context.shards.map(({ reader }) =>
      reader.load([
        reader
          .select()
          .from(accounts)
          .where(
            and(
              page.after && lt(accounts.id, page.after),
              plan && eq(accounts.plan, plan),
              email === undefined ? undefined : eq(accounts.email, email),
            ),
          )
          .orderBy(desc(accounts.id))
          .limit(page.rowLimit),
      ]),
    ),
  );
  // An account that moves between shards is on both of them for a moment.
  const rows = [...new Map(found.flat(2).map((row) => [row.id, row])).values()].sort((a, b) =>
    a.id < b.id ? 1 : -1,
  );
  return page.make(rows, presentAccount);
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
  query(AccountListQuery),
  async (c) => answer(c, await listAccounts(c.var.operator, c.req.valid('query'))),
);
