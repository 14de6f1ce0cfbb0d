import { and, desc, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { userTokens } from '../../db/schema';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { openPage, type Page, pageParameters } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { ownTokens, presentUserToken, UserToken } from '../../identity/tokens/user-token';
import { lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';

const UserTokenListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/**
 * Lists the user tokens of the caller, newest first, without the tokens themselves. A member has
 * the member's own tokens; a token of the account has all of the account's own tokens.
 */
export async function listUserTokens(
  context: UserContext,
  input: z.output<ReturnType<typeof UserTokenListQuery>>,
): Promise<Page<UserToken>> {
  const { reader, principal } = context;
  const { account, member } = principal;
  const page = await openPage<Id<'utok'>>(
    context,
    { list: 'user_tokens', caller: member?.id ?? account.id },
    input,
  );
  const [rows] = await reader.load([
    reader
      .select()
      .from(userTokens)
      .where(and(ownTokens(principal), page.after && lt(userTokens.id, page.after)))
      .orderBy(desc(userTokens.id))
      .limit(page.rowLimit),
  ]);
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
  userAccess('account:read'),
  query(UserTokenListQuery),
  async (c) => answer(c, await listUserTokens(c.var.context, c.req.valid('query'))),
);
