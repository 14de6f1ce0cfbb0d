import { and, eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import { userTokens } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import { asNotFound, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, noContent, operation } from '../../http/operation';
import { parseId } from '../../lib/typeid';

/** Deletes a user token; it opens nothing from then on. */
export async function deleteUserToken(context: UserContext, id: string): Promise<void> {
  const token = parseId('utok', id);
  if (!token) throw notFound('user token');
  const found = and(eq(userTokens.account, context.principal.account.number), eq(userTokens.id, token));
  const account = sql<number>`(select account from ${userTokens} where ${found})`;
  await context.ledger
    .change({
      record: userActivity(context, 'user_token.deleted', token, { account }),
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
    description: 'It opens nothing from then on.',
    success: noContent(),
    pathId: 'utok',
  }),
  userAccess('account:write'),
  noQuery(),
  async (c) => {
    await deleteUserToken(c.var.context, c.req.param('id'));
    return answer(c, null);
  },
);
