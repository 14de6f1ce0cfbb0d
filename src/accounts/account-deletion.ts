import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { accounts, erasures } from '../db/schema';
import { operatorAccess } from '../http/access';
import type { OperatorContext } from '../http/context';
import { noQuery } from '../http/input';
import { locateAccount } from './account';

/**
 * Deletes an account: its credentials die at once with its row, which every one of them is looked up with; the sweep
 * erases the rest.
 */
export async function deleteAccount(context: OperatorContext, id: string): Promise<void> {
  const { shard, row } = await locateAccount(context, id);
  await shard.ledger.change(null, (write) => [
    write.insert(erasures).values({ kind: 'account', number: row.number }),
    write.delete(accounts).where(eq(accounts.number, row.number)),
  ]);
}

export const accountDeletion = new Hono().delete('/v1/admin/users/:id', operatorAccess(), noQuery(), async (c) => {
  await deleteAccount(c.var.operator, c.req.param('id'));
  return c.json({ status: 'erasing' }, 202);
});
