import { Hono } from 'hono';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { type Account, findAccount, presentAccount } from './account';

/** The account that a user token belongs to. */
export async function getOwnAccount({ reader, principal }: UserContext): Promise<Account> {
  const [[row]] = await reader.load([findAccount(reader, principal.account.number)]);
  if (!row) throw notFound('account');
  return presentAccount(row);
}

export const ownAccount = new Hono().get('/v1/me', userAccess('account:read'), noQuery(), async (c) =>
  c.json(await getOwnAccount(c.var.context)),
);
