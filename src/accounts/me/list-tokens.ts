import { and, desc, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { userTokens } from '../../db/schema';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { defineList, loadPage, preloadPage, type RowsOf } from '../../http/list';
import { answer, ok, operation } from '../../http/operation';
import { openPage, type Page, pageParameters } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { ownTokens, presentUserToken, UserToken } from '../../identity/tokens/user-token';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { type Id, parseId } from '../../lib/typeid';

const UserTokenListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

const userTokenList = defineList({
  parameters: UserTokenListQuery,
  readPosition: (text: string) => parseId('utok', text),
  select: (reader, caller, _, { after, rowLimit }) =>
    reader
      .select()
      .from(userTokens)
      .where(and(ownTokens(caller), after && lt(userTokens.id, after)))
      .orderBy(desc(userTokens.id))
      .limit(rowLimit),
});

/**
 * Lists the user tokens of the caller, newest first, without the tokens themselves. A member has
 * the member's own tokens; a token of the account has all of the account's own tokens.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listUserTokens(
  context: UserContext,
  input: LazyOutput<typeof UserTokenListQuery>,
  preloaded?: RowsOf<typeof userTokenList>,
): Promise<Page<UserToken>> {
  const { account, member } = context.principal;
  const page = await openPage<Id<'utok'>>(
    context,
    { list: 'user_tokens', caller: member?.id ?? account.id },
    input,
  );
  const rows = preloaded ?? (await loadPage(userTokenList, context, input, page));
  return page.make(rows, presentUserToken);
}

export const listUserTokensRoute = new Hono().get(
  '/v1/me/tokens',
  operation({
    id: 'listUserTokens',
    tag: 'Account',
    summary: 'List user tokens',
    description:
      'Those of the member who calls; for a token of the account, those of the account. Newest first, without the tokens ' +
      'themselves.',
    success: ok(pageOf(UserToken)),
  }),
  userAccess('account:read', preloadPage(userTokenList)),
  query(UserTokenListQuery),
  async (c) =>
    answer(c, await listUserTokens(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);
