import { and, eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import { userTokens } from '../../db/schema';
import { userAccess } from '../../http/access';
import { asNotFound, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, noContent, operation } from '../../http/operation';
import { pathId } from '../../http/path-id';
import type { Id } from '../../lib/typeid';
import { isOwnToken } from './user-token';

/**
 * Deletes one of the user tokens that `GET /v1/me/tokens` lists for the caller. It is refused from then on.
 * @throws Problem `not_found`
 */
export async function deleteUserToken(context: UserContext, { id }: { id: Id<'utok'> }): Promise<void> {
  const found = and(isOwnToken(context.principal), eq(userTokens.id, id));
  const account = sql<number>`(select account from ${userTokens} where ${found})`;
  await context.ledger
    .change({
      record: userActivity(context, 'user_token.deleted', id, { account }),
      changes: (write) => [write.delete(userTokens).where(found)],
      answer: null,
    })
    .catch(asNotFound('user token'));
}

export const deleteUserTokenRoute = new Hono().delete(
  '/v1/me/tokens/:id',
  operation({
    id: 'deleteUserToken',
    tag: 'Account',
    summary: 'Delete a user token',
    description: 'The token is refused from then on.',
    success: noContent(),
    pathId: 'utok',
  }),
  userAccess('account:write'),
  noQuery(),
  async (c) => {
    await deleteUserToken(c.var.context, { id: pathId(c, 'utok', 'user token') });
    return answer(c, null);
  },
);
