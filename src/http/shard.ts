import { listShards, openShard } from '../db/shards';
import { SERVICE_AUTHORITY } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import type { RequestContext, Shard } from './context';

/** Opens the shard that a signed URL names; null if there is no such shard. */
export function openNamedShard(c: RequestContext, name: string): Pick<Shard, 'reader' | 'ledger'> | null {
  const database = openShard(c.env, name, c.var.cost);
  return database && { reader: database, ledger: new Ledger(database, SERVICE_AUTHORITY) };
}

/** The names of all shards, for what an account may have left on any of them. */
export function listShardNames(c: RequestContext): string[] {
  return listShards(c.env);
}
