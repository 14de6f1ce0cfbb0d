import { type Database, loadNonNull, type Reader } from '../db/database';
import { listShards, openShard } from '../db/shards';
import type { Query } from '../db/statements';
import type { Config } from '../env';
import { Problem } from '../errors';
import type { RequestContext } from '../http/context';
import { toHex } from '../lib/bytes';
import { type CallerAccountRow, findMovedCredential } from './credentials';

/** A query that finds the row of a caller, with the columns of their account. */
type CallerQuery = Query & { _: { result: CallerAccountRow[] } };

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
export async function findCaller<Q extends CallerQuery>(
  c: RequestContext,
  home: string,
  hashes: [Uint8Array, ...Uint8Array[]],
  find: (reader: Reader) => Q,
  preload: (database: Database) => Promise<(Query | null)[]> = async () => [],
): Promise<FoundCaller<Q> | null> {
  const findOn = async (shard: string): Promise<Searched<Q> | null> => {
    const database = openShard(c.env, shard, c.var.cost);
    if (!database) return null;
    const queries = await preload(database);
    const [rows, ...loaded] = await loadNonNull(database, [find(database), ...queries]);
    const [row] = rows as RowOf<Q>[];
    return { database, shard, row, loaded };
  };
  const moved = movedCredentials(c.var.config);
  const key = toHex(hashes[0]);
  const known = moved.get(key);
  if (known !== undefined) {
    const found = await findOn(known).catch(ignoreOutage);
    if (isFound(found) && !found.row.accountIsArriving) return found;
    moved.delete(key);
  }
  let shard = home;
  for (let tries = 0; tries <= listShards(c.env).length; tries++) {
    const found = await findOn(shard);
    if (!found) return null;
    if (isFound(found)) {
      if (shard !== home) remember(moved, key, shard);
      return found;
    }
    const { database } = found;
    const [[next], rows] = await database.load([findMovedCredential(hashes), find(database)]);
    // The account may have come back in between.
    if (!next && (rows as RowOf<Q>[]).length === 0) return null;
    if (next) shard = next.shard;
  }
  return null;
}

/** A row that a query finds. */
export type RowOf<Q extends Query> = Q['_']['result'][number];

/** The result of a search on one shard. */
interface Searched<Q extends Query> {
  database: Database;
  shard: string;
  row: RowOf<Q> | undefined;
  loaded: unknown[];
}

/** A caller's row, and the shard on which it is. */
interface FoundCaller<Q extends Query> extends Searched<Q> {
  row: RowOf<Q>;
}

function isFound<Q extends Query>(searched: Searched<Q> | null): searched is FoundCaller<Q> {
  return searched?.row !== undefined;
}

/**
 * Passes over a shard whose database fails, which is logged: the account may have left it, and the
 * search from its start finds out.
 */
function ignoreOutage(error: unknown): null {
  if (error instanceof Problem && error.code === 'unavailable') return null;
  throw error;
}

const MAX_MOVED = 1_000;

/**
 * The shards on which this isolate has found credentials that name another shard, by the hash of
 * the credential; for each configuration, because tests have several. Only hints: where a
 * credential is not found by one, the search starts at the shard that the credential names.
 */
const movedByConfig = new WeakMap<Config, Map<string, string>>();

function movedCredentials(config: Config): Map<string, string> {
  const moved = movedByConfig.get(config) ?? new Map<string, string>();
  movedByConfig.set(config, moved);
  return moved;
}

function remember(moved: Map<string, string>, key: string, shard: string): void {
  if (moved.size >= MAX_MOVED) moved.clear();
  moved.set(key, shard);
}
