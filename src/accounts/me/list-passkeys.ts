import { Hono } from 'hono';
import * as z from 'zod';
import { isPasskeyOf } from '../../db/passkeys-by-member';
import { passkeys } from '../../db/schema';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { defineList, loadPage, preloadPage, type RowsOf } from '../../http/list';
import { answer, ok, operation } from '../../http/operation';
import { openPage, type Page, pageParameters } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { Passkey, presentPasskey } from '../../identity/passkeys/passkey';
import { type LazyOutput, lazy } from '../../lib/lazy';

const PasskeyListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

// A member has few passkeys, so each request reads all of them.
const passkeyList = defineList({
  parameters: PasskeyListQuery,
  readPosition: (text) => text,
  select: (reader, { account, member }) =>
    reader.select().from(passkeys).where(isPasskeyOf(account, member)),
});

/**
 * Lists the passkeys of the member who calls, newest first, without removed ones. A token of the
 * account has none.
 * @param preloaded the rows of the member's passkeys, if they were preloaded
 */
export async function listPasskeys(
  context: UserContext,
  input: LazyOutput<typeof PasskeyListQuery>,
  preloaded?: RowsOf<typeof passkeyList>,
): Promise<Page<Passkey>> {
  const { account, member } = context.principal;
  const page = await openPage(
    context,
    { list: 'passkeys', caller: member?.id ?? account.id },
    input,
  );
  const rows = preloaded ?? (await loadPage(passkeyList, context, input, page));
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
  userAccess('account:read', preloadPage(passkeyList)),
  query(PasskeyListQuery),
  async (c) =>
    answer(c, await listPasskeys(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);
