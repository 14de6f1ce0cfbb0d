import { and, eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { sessions, userTokens } from '../../db/schema';
import { Problem } from '../../errors';
import { userAccess } from '../../http/access';
import { targetExists, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { listCaller } from '../../http/list';
import { answer, noContent, operation } from '../../http/operation';
import { pathId } from '../../http/path-id';
import { ownTokens } from '../../identity/tokens/user-token';
import type { Id } from '../../lib/typeid';

/**
 * Deletes one of the user tokens that `GET /v1/me/tokens` lists for the caller, and the console
 * sessions that were started with it. They are refused from then on. Does not check the
 * scope; callers do: a token without `account:write` may delete only itself.
 * @throws Problem `not_found`
 */
export async function deleteUserToken(
  context: UserContext,
  { id }: { id: Id<'utok'> },
): Promise<void> {
  const { principal } = context;
  const found = and(ownTokens(listCaller(context)), eq(userTokens.id, id));
  const ofToken = and(eq(sessions.account, principal.account.number), eq(sessions.token, id));
  await context.ledger.change({
    record: userActivity(context, 'user_token.deleted', id),
    guards: [targetExists('user token', userTokens, found)],
    changes: (write) => [
      write.delete(userTokens).where(found),
      write.delete(sessions).where(ofToken),
    ],
    answer: null,
  });
}

export const deleteUserTokenRoute = new Hono().delete(
  '/v1/me/tokens/:id',
  operation({
    id: 'deleteUserToken',
    tag: 'Account',
    summary: 'Delete a user token',
    description:
      'The token is refused from then on, and so are the sessions of the console that were started with it. A token can ' +
      'delete itself with `account:read` alone; to delete another one needs `account:write`.',
    success: noContent(),
    pathId: 'utok',
  }),
  userAccess('account:read'),
  noQuery(),
  async (c) => {
    const { context } = c.var;
    const id = pathId(c, 'utok', 'user token');
    if (id !== context.principal.token && !context.principal.scopes.includes('account:write')) {
      throw new Problem(
        'insufficient_scope',
        'Without the scope `account:write` a token can delete only itself.',
      );
    }
    await deleteUserToken(context, { id });
    return answer(c, null);
  },
);
