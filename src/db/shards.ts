import type { Env } from '../env';
import { encodeBase62 } from '../lib/base62';
import { type Cost, Database } from './database';

const FIRST_SHARD = '00';

/** Opens the database of a shard, named by the two characters that a credential carries; null when there is none. */
export function openShard(env: Env, shard: string, cost: Cost): Database | null {
  const client = shard === FIRST_SHARD ? env.DB : env[`DB_${shard}`];
  return client ? new Database(client, cost) : null;
}

/** The shards of this deployment: `00`, then `01`, `02`, … as far as they are bound without a gap. */
export function listShards(env: Env): [string, ...string[]] {
  const shards: [string, ...string[]] = [FIRST_SHARD];
  for (let next = 1; env[`DB_${encodeBase62(next, 2)}`]; next++) shards.push(encodeBase62(next, 2));
  return shards;
}
