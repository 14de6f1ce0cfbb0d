import { type Database, loadNonNull, type Reader } from '../db/database';
import { listShards, openShard } from '../db/shards';
import type { Query } from '../db/statements';
import type { Env } from '../env';
import type { RequestContext } from '../http/context';
import { toHex } from '../lib/bytes';
import { findMovedCredential } from './credentials';

/**
 * Finds a credential on the shard that it names, or on the shard to which its account was moved;
 * null if it is unknown. An account may have moved several times, so each shard may name another
 * one.
 *
 * Takes one round trip, also for a moved account whose shard this isolate has found before; two
 * more for each move that it has not seen, and one more for an unknown credential.
 * @param home the shard that the credential names
 * @param find finds the caller's row on a shard
 * @param preload makes queries that run in the same round trip
 */
export async function findCaller<Q extends Query>(
  c: RequestContext,
  home: string,
  hashes: [Uint8Array, ...Uint8Array[]],
  find: (reader: Reader) => Q,
  preload: (database: Database) => Promise<(Query | null)[]> = async () => [],
): Promise<FoundCaller<Q> | null> {
  const [hash] = hashes;
  const findOn = async (shard: string) => {
    const database = openShard(c.env, shard, c.var.cost);
    if (!database) return null;
    const queries = await preload(database);
    const [rows, ...loaded] = await loadNonNull(database, [find(database), ...queries]);
    const [row] = rows as RowOf<Q>[];
    return { database, shard, row, loaded };
  };
  const known = moved.get(c.env)?.get(toHex(hash));
  if (known !== undefined) {
    const found = await findOn(known);
    if (found?.row) return found;
    moved.get(c.env)?.delete(toHex(hash));
  }
  let shard = home;
  for (const _ of listShards(c.env)) {
    const found = await findOn(shard);
    if (found?.row) {
      if (shard !== home) rememberMoved(c, hash, shard);
      return found;
    }
    const [[next]] = found ? await found.database.load([findMovedCredential(hashes)]) : [[]];
    if (!next) return null;
    shard = next.shard;
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

const MAX_MOVED = 1_000;

/**
 * The shards on which this isolate has found credentials that name another shard, by the hash of
 * the credential; for each environment, because tests have several. Only hints: where a credential
 * is not found by one, the search starts at the shard that the credential names.
 */
const moved = new WeakMap<Env, Map<string, string>>();

function rememberMoved({ env }: RequestContext, hash: Uint8Array, shard: string): void {
  const shards = moved.get(env) ?? new Map<string, string>();
  moved.set(env, shards);
  if (shards.size >= MAX_MOVED) shards.clear();
  shards.set(toHex(hash), shard);
}
