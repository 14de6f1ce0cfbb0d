import { listShards, openShard } from '../db/shards';
import { SERVICE } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import type { RequestContext, Shard } from './context';

/** Opens the shard that a signed address names; null if there is none. */
export function openNamedShard(c: RequestContext, name: string): Pick<Shard, 'reader' | 'ledger'> | null {
  const database = openShard(c.env, name, c.var.cost);
  return database && { reader: database, ledger: new Ledger(database, SERVICE) };
}

/** The names of all shards. An account may have been on any of them. */
export function listShardNames(c: RequestContext): string[] {
  return listShards(c.env);
}
