import { eq, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import type { Database } from '../../db/database';
import { STATISTICS_UNITS, trees } from '../../db/schema';
import { LOG_SPAN_SQL } from '../../ledger/append';
import { isNotMoving } from '../../ledger/hold';
import { lastPosition } from '../../outbox/feed';
import {
  addToCounters,
  countEntries,
  countedColumns,
  counterColumns,
  counterSums,
} from './counters';

/** Maximum logs that one slice counts. */
const LOGS = 64;
/** Positions of all of these logs together that one slice counts. */
const POSITIONS = 2_000;

/**
 * Adds a slice of the entries that are not counted yet to the statistics of their agents. The logs
 * that have been due the longest share the slice evenly.
 *
 * Counts each entry exactly once, also if two calls run at the same time or one crashes: one
 * transaction adds the entries and moves the log's position, `counted`. Skips accounts that move to
 * another shard: their entries are counted there. Skips entries of agents that are deleted.
 * @param due counts logs that have been due since then, in milliseconds since the epoch; a log with
 *   more entries is due then again, so that it lets the others go first
 * @param positions how many positions of all logs together one slice counts
 * @returns whether there may be more to count
 */
export async function countLogs(
  database: Database,
  due: number,
  positions = POSITIONS,
): Promise<boolean> {
  const { build } = database;
  const slices = selectSlices(due, positions);
  const [, logs] = await database.run([
    build.run(addEntries(slices)),
    build
      .update(trees)
      .set({
        counted: sql`slice.reach`,
        countDueAt: sql`iif(slice.reach < slice.newest, ${due}, null)`,
      })
      .from(sql`(${slices}) as slice`)
      .where(eq(trees.account, sql`slice.account`))
      .returning({ dueAt: trees.countDueAt }),
  ]);
  return logs.length === LOGS || logs.some(({ dueAt }) => dueAt !== null);
}

/**
 * Selects the logs of a slice: the sequence up to which each is counted, the one up to which the
 * slice counts it (`reach`), and that of its newest entry.
 */
function selectSlices(due: number, positions: number): SQL {
  const share = sql.raw(`${positions} / count(*) over ()`);
  return sql`
    select account, counted, newest, min(newest, counted + ${share}) as reach
    from (
      select account, counted, ${lastPosition(trees.account)} - account * ${LOG_SPAN_SQL} as newest
      from trees indexed by trees_to_count
      where count_due_at is not null and count_due_at <= ${due} and ${isNotMoving(trees.account)}
      order by count_due_at, account limit ${sql.raw(String(LOGS))}
    )`;
}

function addEntries(slices: SQL): SQL {
  const entries = sql`
    select ${countedColumns} from (${slices}) as slice cross join audit_entries not indexed
    where pos > account * ${LOG_SPAN_SQL} + counted and pos <= account * ${LOG_SPAN_SQL} + reach`;
  return sql`
    insert into agent_statistics (agent, unit, bucket, ${counterColumns})
    select agent, ${codeOf(STATISTICS_UNITS, 'hour')}, hour, ${counterSums}
    from (${countEntries(entries)}) as counted
    group by agent, hour having exists (select 1 from agents where agents.number = counted.agent)
    ${addToCounters}`;
}
