import { eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { ConstraintError } from '../db/database';
import { accounts, erasures, identities, movedAccounts, movedCredentials, trees } from '../db/schema';
import { unavailable } from '../errors';
import type { OperatorContext } from '../http/context';
import { noQuery } from '../http/input';
import { accepted, answer, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import type { RecordWriter } from '../ledger/ledger';
import { lazy } from '../lib/lazy';
import { MINUTE } from '../lib/time';
import { idBytes } from '../lib/typeid';
import { accountOfPath, type LocatedAccount, locatedAccount } from './account';

/** What becomes of a deleted account. */
export const AccountErasure = lazy(() =>
  z.object({ status: z.literal('erasing') }).meta({ id: 'AccountErasure', examples: [{ status: 'erasing' }] }),
);

/** Longer than anybody who has begun to seal its log can still be at it, in milliseconds. */
const LONGEST_SEALING = 20 * MINUTE;

/**
 * Deletes an account: its credentials die at once with its row, which every one of them is looked up with; the sweep
 * erases the rest. Whoever signs in to it with an identity provider is forgotten first, and is new when they come again.
 * @throws Problem `unavailable` for an account on its way to another shard
 */
export async function deleteAccount(
  { shards, runtime }: OperatorContext,
  { shard, row }: LocatedAccount,
): Promise<void> {
  const [directory] = shards;
  const now = runtime.now();
  const forget = (write: RecordWriter) => write.delete(identities).where(eq(identities.account, row.id));
  // What other shards know of it leads here.
  await Promise.all(
    shards
      .filter(({ name }) => name !== shard.name)
      .map(({ name, ledger }) =>
        ledger.write({
          changes: (write) => [
            write.delete(movedCredentials).where(eq(movedCredentials.account, row.id)),
            write.delete(movedAccounts).where(eq(movedAccounts.id, row.id)),
            ...(name === directory.name ? [forget(write)] : []),
          ],
        }),
      ),
  );
  // Should it have moved on meanwhile there is no such row here, and nothing is to be erased.
  const number = sql<number>`(select number from ${accounts} where ${eq(accounts.number, row.number)})`;
  const deletion = shard.ledger.write({
    changes: (write) => [
      write.insert(erasures).values([
        { kind: 'account', number, subject: idBytes(row.id), dueAt: 0 },
        { kind: 'tree', number, subject: idBytes(row.id), dueAt: now + LONGEST_SEALING },
      ]),
      ...(shard.name === directory.name ? [forget(write)] : []),
      // From here on nothing of its log is sealed.
      write.delete(trees).where(eq(trees.account, row.number)),
      write.delete(accounts).where(eq(accounts.number, row.number)),
    ],
  });
  await deletion.catch((error: unknown) => {
    throw error instanceof ConstraintError ? unavailable() : error;
  });
}

export const deleteAccountRoute = new Hono().delete(
  '/v1/admin/users/:id',
  operation({
    id: 'deleteAccount',
    tag: 'Operator',
    summary: 'Delete an account',
    description: 'Its credentials die at once. Everything of the account is erased in the background.',
    success: accepted(AccountErasure),
    pathId: 'user',
  }),
  operatorAccess(accountOfPath),
  noQuery(),
  async (c) => {
    await deleteAccount(c.var.operator, locatedAccount(c.var.loaded));
    return answer(c, { status: 'erasing' });
  },
);
