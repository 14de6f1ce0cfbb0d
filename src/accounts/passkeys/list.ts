import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import type { Page } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { Passkey, presentPasskey, selectPasskeys } from './passkey';

/** Lists the passkeys of the member who calls, oldest first, without removed ones. A token of the account has none. */
export async function listPasskeys({ reader, principal }: UserContext): Promise<Page<Passkey>> {
  const { account, member } = principal;
  const [rows] = member ? await reader.load([selectPasskeys(reader, account.number, member.id)]) : [[]];
  const data = rows.filter(({ removedAt }) => removedAt === null).map(presentPasskey);
  return { data, has_more: false, next_cursor: null };
}

export const listPasskeysRoute = new Hono().get(
  '/v1/me/passkeys',
  operation({
    id: 'listPasskeys',
    tag: 'Account',
    summary: 'List your passkeys',
    description: 'All of them, the oldest first. Passkeys are added and removed in the console.',
    success: ok(pageOf(Passkey)),
  }),
  userAccess('account:read'),
  noQuery(),
  async (c) => answer(c, await listPasskeys(c.var.context)),
);
