import { and, eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { userTokens } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { parseId } from '../lib/typeid';

/** Deletes a user token; it opens nothing from then on. */
export async function deleteUserToken({ ledger, principal }: UserContext, id: string): Promise<void> {
  const token = parseId('utok', id);
  if (!token) throw notFound('user token');
  const [deleted] = await ledger.change((write) => [
    write
      .delete(userTokens)
      .where(and(eq(userTokens.account, principal.account.number), eq(userTokens.id, token)))
      .returning({ id: userTokens.id }),
  ]);
  if (deleted.length === 0) throw notFound('user token');
}

export const userTokenDeletion = new Hono().delete(
  '/v1/me/tokens/:id',
  userAccess('account:write'),
  noQuery(),
  async (c) => {
    await deleteUserToken(c.var.context, c.req.param('id'));
    return c.body(null, 204);
  },
);
