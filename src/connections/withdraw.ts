import { and, eq, sql } from 'drizzle-orm';
import { connectionRequests } from '../db/connection-requests';
import type { RecordWriter } from '../ledger/ledger';
import type { Id } from '../lib/typeid';

interface Withdrawal {
  account: number;
  /** The connection. */
  id: Id<'conn'>;
  now: number;
}

/**
 * Builds the statement that withdraws the pending requests of a connection, for good: they expire
 * when they were made, as no other request does. The sweep writes their entries.
 */
export function withdrawRequests(write: RecordWriter, { account, id, now }: Withdrawal) {
  const connection = sql.param(id, connectionRequests.connectionId);
  const waiting = sql`(
    select waiting.id from permissions as waiting indexed by permissions_waiting_by_connection
    where waiting.account = ${account} and waiting.connection_id = ${connection}
      and waiting.status = 0
  )`;
  return write
    .update(connectionRequests)
    .set({ expiresAt: sql`${connectionRequests.createdAt}`, updatedAt: now })
    .where(
      and(
        eq(connectionRequests.account, account),
        sql`${connectionRequests.permission} in ${waiting}`,
      ),
    );
}
