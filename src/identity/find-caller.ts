import { type Database, loadNonNull, type Reader } from '../db/database';
import { listShards, openShard } from '../db/shards';
import type { Query } from '../db/statements';
import type { RequestContext } from '../http/context';
import { findMovedCredential } from './credentials';

/**
 * Finds a credential on the shard that it names, or on the shard to which its account was moved;
 * null if it is unknown. An account may have moved several times, so each shard may name another
 * one.
 * @param home the shard that the credential names
 * @param find finds the caller's row on a shard
 * @param preload makes queries that run in the same round trip
 */
export async function findCaller<Q extends Query>(
  c: RequestContext,
  home: string,
  hashes: Uint8Array[],
  find: (reader: Reader) => Q,
  preload: (database: Database) => Promise<(Query | null)[]> = async () => [],
): Promise<FoundCaller<Q> | null> {
  let shard = home;
  for (const _ of listShards(c.env)) {
    const database = openShard(c.env, shard, c.var.cost);
    if (!database) return null;
    const queries = await preload(database);
    const [rows, [moved], ...loaded] = await loadNonNull(database, [
      find(database),
      findMovedCredential(hashes),
      ...queries,
    ]);
    const [row] = rows as RowOf<Q>[];
    if (row) return { database, shard, row, loaded };
    if (!moved) return null;
    shard = moved.shard;
  }
  return null;
}

/** A row that a query finds. */
export type RowOf<Q extends Query> = Q['_']['result'][number];

/** A caller's row, and the shard on which it is. */
interface FoundCaller<Q extends Query> {
  database: Database;
  shard: string;
  row: RowOf<Q>;
  loaded: unknown[];
}
