import type { Env } from '../env';
import { type Cost, Database } from './database';

const FIRST_SHARD = '00';

/**
 * Opens the database of a shard; null if there is none of this name.
 * @param shard its name: the two characters that credentials contain
 * @param cost counts what the database is used for
 */
export function openShard(env: Env, shard: string, cost: Cost): Database | null {
  const client = shard === FIRST_SHARD ? env.DB : env[`DB_${shard}`];
  return client ? new Database(client, cost) : null;
}

/**
 * The names of this deployment's shards, in order: `00`, and one for each binding `DB_01`, `DB_02`,
 * …
 */
export function listShards(env: Env): [string, ...string[]] {
  const further = Object.keys(env).flatMap((name) => /^DB_([0-9A-Za-z]{2})$/.exec(name)?.[1] ?? []);
  return [FIRST_SHARD, ...further.sort()];
}
