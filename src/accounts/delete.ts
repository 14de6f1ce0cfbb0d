import { and, eq, isNotNull, or } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import {
  accounts,
  erasures,
  identities,
  movedAccounts,
  movedCredentials,
  moves,
  trees,
} from '../db/schema';
import { unavailable } from '../errors';
import type { OperatorContext, Reader } from '../http/context';
import { noQuery } from '../http/input';
import { accepted, answer, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import { hasRow } from '../ledger/guard';
import { AccountHeld, holdGuard } from '../ledger/hold';
import type { RecordWriter } from '../ledger/ledger';
import { lazy } from '../lib/lazy';
import { MINUTE } from '../lib/time';
import { type Id, idBytes } from '../lib/typeid';
import { type LocatedAccount, preloadAccount, requireLocatedAccount } from './account';

/** The answer to the deletion of an account: its data is not erased yet. */
export const AccountErasure = lazy(() =>
  z
    .object({ status: z.literal('erasing') })
    .meta({ id: 'AccountErasure', examples: [{ status: 'erasing' }] }),
);

/**
 * Longest time that a running task may still write the Merkle tree. Only then are the tree's
 * objects erased.
 */
const LONGEST_SEALING = 20 * MINUTE;

/**
 * Deletes an account, and the directory entries by which people sign in to it with the identity
 * provider.
 *
 * Its credentials are refused at once, because every lookup of a credential joins the account's
 * row. Background tasks erase the rest. Somebody who signs in again with the same identity gets a
 * new account.
 * @throws Problem `unavailable` if the account moves to another shard meanwhile
 */
export async function deleteAccount(
  { shards, runtime }: OperatorContext,
  { account: { shard, row } }: { account: LocatedAccount },
): Promise<void> {
  const [directory] = shards;
  const now = runtime.now();
  await requireNotHeld(shard.reader, row.id);
  const deleteIdentities = (write: RecordWriter) =>
    write.delete(identities).where(eq(identities.account, row.id));
  // First deletes what the other shards store of the account, because a retry cannot find the
  // account after it is deleted.
  await Promise.all(
    shards
      .filter(({ name }) => name !== shard.name)
      .map(({ name, ledger }) =>
        ledger.write({
          changes: (write) => [
            write.delete(movedCredentials).where(eq(movedCredentials.account, row.id)),
            write.delete(movedAccounts).where(eq(movedAccounts.id, row.id)),
            ...(name === directory.name ? [deleteIdentities(write)] : []),
          ],
        }),
      ),
  );
  const { number } = row;
  await shard.ledger.write({
    guards: [
      holdGuard([number]),
      {
        name: 'account_is_on_this_shard',
        holds: hasRow(accounts, eq(accounts.number, number)),
        otherwise: () => unavailable(),
      },
    ],
    changes: (write) => [
      write.insert(erasures).values([
        { kind: 'account', account: number, number, subject: idBytes(row.id), dueAt: 0 },
        {
          kind: 'tree',
          account: number,
          number,
          subject: idBytes(row.id),
          dueAt: now + LONGEST_SEALING,
        },
      ]),
      ...(shard.name === directory.name ? [deleteIdentities(write)] : []),
      // Without this row no worker starts to seal the log.
      write.delete(trees).where(eq(trees.account, row.number)),
      write.delete(accounts).where(eq(accounts.number, row.number)),
    ],
  });
}

/**
 * Refuses the deletion of an account that is held for its move, before anything of it is deleted on
 * other shards.
 * @throws Problem `unavailable`
 */
async function requireNotHeld(reader: Reader, id: Id<'user'>): Promise<void> {
  // Until its arrival is deleted, the account is not released on its new shard.
  const isHeld = and(eq(moves.id, id), or(isNotNull(moves.heldAt), eq(moves.direction, 'in')));
  const [held] = await reader.load([
    reader.select({ account: moves.account }).from(moves).where(isHeld),
  ]);
  if (held.length > 0) throw new AccountHeld();
}

export const deleteAccountRoute = new Hono().delete(
  '/v1/admin/users/:id',
  operation({
    id: 'deleteAccount',
    tag: 'Operator',
    summary: 'Delete an account',
    description:
      'Its credentials are refused at once. The data of the account is erased in the background.',
    success: accepted(AccountErasure),
    pathId: 'user',
  }),
  operatorAccess(preloadAccount),
  noQuery(),
  async (c) => {
    await deleteAccount(c.var.operator, { account: requireLocatedAccount(c.var.loaded) });
    return answer(c, { status: 'erasing' });
  },
);
