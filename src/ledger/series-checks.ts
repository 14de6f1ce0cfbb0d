import { type SQL, sql } from 'drizzle-orm';
import { idSql } from '../db/columns';
import { agents, series, seriesChecks } from '../db/schema';
import type { Id } from '../lib/typeid';
import type { RecordWriter } from './ledger';

// A series of approvals ends when its agent gets another owner, and when a member who gave it
// leaves or gets another role. The change itself ends it; a background task then records the end,
// because one change may end many.

/**
 * Makes the statement that has the series of an account checked by the task `record_ended_series`.
 * It must run in the transaction of a change that may end series: of an agent's owner, or of a
 * member's role or status. It writes nothing in an account that has given none.
 */
export function checkSeries(write: Pick<RecordWriter, 'insert'>, account: number, now: number) {
  return write
    .insert(seriesChecks)
    .select(
      sql`select ${account}, ${now}, 1 where exists (
        select 1 from series where series.account = ${account} limit 1
      )`,
    )
    .onConflictDoUpdate({
      target: seriesChecks.account,
      set: { changes: sql`${seriesChecks.changes} + 1` },
    });
}

/**
 * Makes the statement that ends the live series of an agent that gets another owner. It must run
 * before the owner changes, together with {@link checkSeries}.
 * @param agent the condition that finds the agent
 */
export function endSeriesOfOwner(
  write: Pick<RecordWriter, 'update'>,
  {
    account,
    agent,
    owner,
    now,
  }: { account: number; agent: SQL | undefined; owner: Id<'member'>; now: number },
) {
  return write
    .update(series)
    .set({ endedAt: now })
    .where(sql`
      series.account = ${account} and series.live_until > ${now} and series.ended_at is null
      and series.agent = (
        select ${agents.number} from ${agents} where ${agent} and ${agents.owner} is not ${idSql(owner)}
      )`);
}
