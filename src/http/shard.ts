import { listShards, openShard } from '../db/shards';
import { SERVICE_AUTHORITY } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import type { RequestContext, Shard } from './context';

/**
 * A shard for requests without a credential. Its ledger writes with the service's own authority.
 */
export type OpenedShard = Pick<Shard, 'reader' | 'ledger'>;

/** Opens the shard that a signed URL names; null if there is no such shard. */
export function openNamedShard(c: RequestContext, name: string): OpenedShard | null {
  const database = openShard(c.env, name, c.var.cost);
  return database && { reader: database, ledger: new Ledger(database, SERVICE_AUTHORITY) };
}

/** The names of all shards. */
export function listShardNames(c: RequestContext): string[] {
  return listShards(c.env);
}
