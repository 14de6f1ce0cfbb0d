import { sql } from 'drizzle-orm';
import { connectionReads } from '../../db/schema';
import type { AgentContext } from '../../http/context';
import { DAY } from '../../lib/time';
import type { Id } from '../../lib/typeid';

/** Counts a call that a rule allowed without asking, for its agent and the UTC day. */
export async function countRead(
  { ledger, principal, runtime }: AgentContext,
  connection: Id<'conn'>,
): Promise<void> {
  const { account, agent } = principal;
  const day = Math.floor(runtime.now() / DAY);
  await ledger.write({
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
