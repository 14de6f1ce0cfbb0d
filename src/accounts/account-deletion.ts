import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { accounts, erasures } from '../db/schema';
import { noQuery } from '../http/input';
import { operatorAccess } from '../http/operator-access';
import { idBytes } from '../lib/typeid';
import { accountOfPath, type LocatedAccount, locatedAccount } from './account';

/**
 * Deletes an account: its credentials die at once with its row, which every one of them is looked up with; the sweep
 * erases the rest.
 */
export async function deleteAccount({ shard, row }: LocatedAccount): Promise<void> {
  await shard.ledger.change({
    note: null,
    changes: (write) => [
      write.insert(erasures).values({ kind: 'account', number: row.number, subject: idBytes(row.id) }),
      write.delete(accounts).where(eq(accounts.number, row.number)),
    ],
    answer: null,
  });
}

export const accountDeletion = new Hono().delete(
  '/v1/admin/users/:id',
  operatorAccess(accountOfPath),
  noQuery(),
  async (c) => {
    await deleteAccount(locatedAccount(c.var.loaded));
    return c.json({ status: 'erasing' }, 202);
  },
);
