import { and, eq } from 'drizzle-orm';
import { connections } from '../../db/schema';
import { type Guard, hasRow } from '../../ledger/guard';
import { type ConnectionRow, isConnection } from '../connection';

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
    holds: hasRow(
      connections,
      and(
        isConnection(account, id),
        eq(connections.isActive, true),
        eq(connections.updatedAt, updatedAt),
      ),
    ),
    otherwise: () => new ConnectionChanged(),
  };
}
