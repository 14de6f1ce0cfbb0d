import { listShards, openShard } from '../db/shards';
import { SERVICE } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import type { RequestContext, Shard } from './context';

/** Opens the shard that a request names in a way of its own, such as a signed address; null when there is none. */
export function openNamedShard(c: RequestContext, name: string): Pick<Shard, 'reader' | 'ledger'> | null {
  const database = openShard(c.env, name, c.var.cost);
  return database && { reader: database, ledger: new Ledger(database, SERVICE) };
}

/** The names of all shards: an account was on no more than these. */
export function listShardNames(c: RequestContext): string[] {
  return listShards(c.env);
}
