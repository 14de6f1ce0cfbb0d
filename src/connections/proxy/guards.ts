import { sql } from 'drizzle-orm';
import { connections } from '../../db/schema';
import type { Guard } from '../../ledger/guard';
import { idBytes } from '../../lib/typeid';
import type { ConnectionRow } from '../connection';

/** The connection was changed or switched off after it was read. Nothing was written. */
export class ConnectionChanged extends Error {}

/** The guard of every act of a connection: it is active, and as it was read. */
export function connectionGuard({
  account,
  id,
  updatedAt,
}: Pick<ConnectionRow, 'account' | 'id' | 'updatedAt'>): Guard {
  return {
    name: 'connection_is_as_read',
    holds: sql`exists (
      select 1 from ${connections}
      where ${connections.account} = ${account} and ${connections.id} = ${idBytes(id)}
        and ${connections.isActive} and ${connections.updatedAt} = ${updatedAt}
    )`,
    otherwise: new ConnectionChanged(),
  };
}
