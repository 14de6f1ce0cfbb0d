import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { openPage, type Page, pageParameters } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { Passkey, presentPasskey, selectPasskeys } from '../../identity/passkeys/passkey';
import { lazy } from '../../lib/lazy';

const PasskeyListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/**
 * Lists the passkeys of the member who calls, newest first, without removed ones. A token of the
 * account has none.
 */
export async function listPasskeys(
  context: UserContext,
  input: z.output<ReturnType<typeof PasskeyListQuery>>,
): Promise<Page<Passkey>> {
  const { reader, principal } = context;
  const { account, member } = principal;
  const page = await openPage(
    context,
    { list: 'passkeys', caller: member?.id ?? account.id },
    input,
  );
  const [rows] = member
    ? await reader.load([selectPasskeys(reader, account.number, member.id)])
    : [[]];
  // A member has few passkeys, so each request reads all of them.
  const listed = rows
    .filter(({ removedAt }) => removedAt === null)
    .map(presentPasskey)
    .filter((passkey) => page.after === undefined || positionOf(passkey) < page.after)
    .toSorted((one, other) => (positionOf(one) < positionOf(other) ? 1 : -1));
  return page.make(listed, (passkey) => passkey, { position: positionOf });
}

/** The place of a passkey in the list: by time, then by id. */
function positionOf({ added_at, id }: Passkey): string {
  return `${added_at} ${id}`;
}

export const listPasskeysRoute = new Hono().get(
  '/v1/me/passkeys',
  operation({
    id: 'listPasskeys',
    tag: 'Account',
    summary: 'List your passkeys',
    description: 'Newest first. Passkeys are added and removed in the console.',
    success: ok(pageOf(Passkey)),
  }),
  userAccess('account:read'),
  query(PasskeyListQuery),
  async (c) => answer(c, await listPasskeys(c.var.context, c.req.valid('query'))),
);
