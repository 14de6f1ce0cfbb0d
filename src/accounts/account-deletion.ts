import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { z } from 'zod';
import { accounts, erasures } from '../db/schema';
import { operatorAccess } from '../http/access';
import type { OperatorContext } from '../http/context';
import { noQuery } from '../http/input';
import { accepted, answer, operation } from '../http/operation';
import { locateAccount } from './account';

/** What becomes of a deleted account. */
export const AccountErasure = z
  .object({ status: z.literal('erasing') })
  .meta({ id: 'AccountErasure', examples: [{ status: 'erasing' }] });

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

export const accountDeletion = new Hono().delete(
  '/v1/admin/users/:id',
  operation({
    id: 'deleteAccount',
    tag: 'Operator',
    summary: 'Delete an account',
    description: 'Its credentials die at once. Everything of the account is erased in the background.',
    success: accepted(AccountErasure),
    pathId: 'user',
  }),
  operatorAccess(),
  noQuery(),
  async (c) => {
    await deleteAccount(c.var.operator, c.req.param('id'));
    return answer(c, { status: 'erasing' });
  },
);
