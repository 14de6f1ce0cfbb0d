import { and, eq, sql } from 'drizzle-orm';
import {
  accounts,
  agentKeys,
  agents,
  identities,
  members,
  movedAccounts,
  movedCredentials,
  moves,
  receivers,
  sessions,
  userTokens,
} from '../../db/schema';
import type { Statement } from '../../db/statements';
import type { Id } from '../../lib/typeid';
import { deleteAccountRows, deleteArrival } from './erase-copy';
import type { MoverShard } from './shard';
import { type Move, takeTurn, updateMove } from './turns';

/** The shards between which an account moves, among all shards; the first has the directory. */
export interface Route {
  shards: readonly MoverShard[];
  source: MoverShard;
  target: MoverShard;
}

/**
 * Deletes the account from its old shard and redirects its credentials to the new one, in one
 * transaction.
 */
export async function switchOver(route: Route, departure: Move): Promise<void> {
  const { source, target } = route;
  const { database } = source;
  const { build } = database;
  const { account, id } = departure;
  const idOf = sql`${sql.param(id, accounts.id)}`;
  await takeTurn(database, departure, [
    build.insert(movedAccounts).values({ id, shard: target.name }),
    build.run(sql`insert or ignore into ${movedCredentials} (hash, account)
      select hash, ${idOf} from ${userTokens} where account = ${account}
      union all select hash, ${idOf} from ${agentKeys}
      where agent in (select number from ${agents} where account = ${account})
      union all select hash, ${idOf} from ${sessions} where account = ${account}
      union all select invitation_hash, ${idOf} from ${members}
      where account = ${account} and invitation_hash is not null
      union all select inbound_hash, ${idOf} from ${receivers}
      where account = ${account} and inbound_hash is not null`),
    ...redirectPeople(source, route, departure.id),
    ...deleteAccountRows(database, departure),
    updateMove(database, departure, { heldAt: null, hasLeft: true }),
  ]);
}

/**
 * Releases the account on its new shard, by deleting the arrival. Every shard that redirects to the
 * old shard then redirects to the new one.
 */
export async function release(
  route: Route,
  departure: Move,
  arrival: Move | undefined,
): Promise<void> {
  const { shards, source, target } = route;
  const others = shards.filter((shard) => shard !== source && shard !== target);
  const { build } = target.database;
  if (arrival) {
    // The directory first: once released, the account may move on, and this entry would be out of
    // date.
    for (const shard of others) {
      const [redirect] = redirectPeople(shard, route, departure.id);
      if (redirect) await shard.database.run([redirect]);
    }
    await takeTurn(target.database, arrival, [
      ...redirectPeople(target, route, departure.id),
      // The account may have left that shard earlier: its redirections there end.
      build.delete(movedCredentials).where(eq(movedCredentials.account, departure.id)),
      build.delete(movedAccounts).where(eq(movedAccounts.id, departure.id)),
      ...deleteArrival(target.database, arrival.account),
    ]);
  }
  for (const { database } of others) {
    await database.run([
      database.build
        .update(movedAccounts)
        .set({ shard: target.name })
        .where(eq(movedAccounts.id, departure.id)),
    ]);
  }
  await source.database.run([
    source.database.build
      .delete(moves)
      .where(and(eq(moves.account, departure.account), eq(moves.hasLeft, true))),
  ]);
}

/** Points the account's identities to its new shard; nothing on a shard without the directory. */
function redirectPeople(
  { name, database }: MoverShard,
  { shards, source, target }: Route,
  id: Id<'user'>,
): Statement[] {
  if (name !== shards[0]?.name) return [];
  const isDirectedHere = and(eq(identities.account, id), eq(identities.shard, source.name));
  return [database.build.update(identities).set({ shard: target.name }).where(isDirectedHere)];
}
