import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { accounts } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { Account, presentAccount } from './account';

/**
 * Returns the caller's account.
 * @throws Problem `not_found` if it was deleted meanwhile
 */
export async function getOwnAccount({ reader, principal }: UserContext): Promise<Account> {
  const [[row]] = await reader.load([
    reader.select().from(accounts).where(eq(accounts.number, principal.account.number)),
  ]);
  if (!row) throw notFound('account');
  return presentAccount(row);
}

export const getOwnAccountRoute = new Hono().get(
  '/v1/me',
  operation({
    id: 'getOwnAccount',
    tag: 'Account',
    summary: 'Get your account',
    success: ok(Account),
    problems: ['not_found'],
  }),
  userAccess('account:read'),
  noQuery(),
  async (c) => answer(c, await getOwnAccount(c.var.context)),
);
