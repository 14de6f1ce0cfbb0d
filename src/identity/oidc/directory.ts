import { and, eq, gte, type SQL } from 'drizzle-orm';
import type { Database } from '../../db/database';
import { accounts, identities, members } from '../../db/schema';
import { openShard } from '../../db/shards';
import type { RequestContext } from '../../http/context';
import { MINUTE } from '../../lib/time';
import { type Id, timeOfId } from '../../lib/typeid';

/**
 * The shard with the directory of people (table `identities`), which says on which shard each one's
 * account is.
 */
export const DIRECTORY = '00';

/**
 * Milliseconds that a person has to finish joining the account that the directory names. After that
 * it may name another.
 */
export const JOINING_TIME = MINUTE;

/** An entry of the directory: the account of a person, and its shard. */
export interface DirectoryEntry {
  account: Id<'user'>;
  shard: string;
  /**
   * In milliseconds since the epoch. Later than the account if the person joined it: see
   * {@link makeJoinedEntry}.
   */
  createdAt: number;
}

/**
 * The entry of the directory for a person who joins an account by an invitation. It is later than
 * the account, by which it differs from the entry for an account that was made for the person: its
 * account never gets the person as its owner.
 */
export function makeJoinedEntry(
  { account, shard }: Omit<DirectoryEntry, 'createdAt'>,
  now: number,
): DirectoryEntry {
  return { account, shard, createdAt: Math.max(now, timeOfId(account) + 1) };
}

/**
 * Whether the person joined the account of an entry, instead of getting an account of their own.
 */
export function wasMadeByJoining({ account, createdAt }: DirectoryEntry): boolean {
  return timeOfId(account) < createdAt;
}

/**
 * Finds an entry as it was read, unless it was replaced since. Its account may have moved to
 * another shard.
 */
export function isEntry(key: Uint8Array, { account, createdAt }: DirectoryEntry): SQL | undefined {
  return and(
    eq(identities.key, key),
    eq(identities.account, account),
    eq(identities.createdAt, createdAt),
  );
}

/** Opens the shard that an entry names. */
export function openShardOf(c: RequestContext, { shard }: DirectoryEntry): Database {
  const database = openShard(c.env, shard, c.var.cost);
  if (!database) throw new Error(`shard ${shard} is in the directory and not bound`);
  return database;
}

/** Whether the person was removed from the account of an entry since the entry was made. */
export async function wasRemovedSince(
  c: RequestContext,
  entry: DirectoryEntry,
  key: Uint8Array,
): Promise<boolean> {
  const database = openShardOf(c, entry);
  const [found] = await database.load([
    database
      .select({ id: members.id })
      .from(members)
      .innerJoin(accounts, eq(accounts.number, members.account))
      .where(
        and(
          eq(accounts.id, entry.account),
          eq(members.identity, key),
          eq(members.status, 'removed'),
          gte(members.updatedAt, entry.createdAt),
        ),
      )
      .limit(1),
  ]);
  return found.length > 0;
}
