import { sql } from 'drizzle-orm';
import { connectionReads, connections } from '../../db/schema';
import type { AgentContext } from '../../http/context';
import { hasRow } from '../../ledger/guard';
import { logFailure } from '../../lib/log';
import { DAY } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { isConnection } from '../connection';

/**
 * Counts a call that a rule allowed without asking, for its agent and the UTC day. If the
 * connection was deleted meanwhile, or the database fails, the call is not counted.
 */
export async function countRead(context: AgentContext, connection: Id<'conn'>): Promise<void> {
  try {
    await writeCount(context, connection);
  } catch (error) {
    logFailure('read_not_counted', error, { connection });
  }
}

async function writeCount(
  { ledger, principal, runtime }: AgentContext,
  connection: Id<'conn'>,
): Promise<void> {
  const { account, agent } = principal;
  const day = Math.floor(runtime.now() / DAY);
  await ledger.write({
    guards: [
      {
        name: 'connection_exists',
        holds: hasRow(connections, isConnection(account.number, connection)),
        otherwise: () => new Error('the connection was deleted'),
      },
    ],
    changes: (write) => [
      write
        .insert(connectionReads)
        .values({ account: account.number, connection, agent: agent.number, day, count: 1 })
        .onConflictDoUpdate({
          target: [
            connectionReads.account,
            connectionReads.connection,
            connectionReads.agent,
            connectionReads.day,
          ],
          set: { count: sql`${connectionReads.count} + 1` },
        }),
    ],
  });
}
