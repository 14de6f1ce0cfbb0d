import { type SQL, sql } from 'drizzle-orm';
import { idSql } from '../db/columns';
import { agents, auditEntries, erasedEntries } from '../db/schema';
import { LOG_SPAN, LOG_SPAN_SQL } from '../ledger/append';
import type { Id } from '../lib/typeid';
import type { EntryFilter, LogAccount } from './entry-filter';

/**
 * The tables of a statement that reads the log: `owner`, `log`, `period` and `bounds`. Each has one
 * row; the last two have none if the log is empty.
 */
export function selectContext(account: LogAccount, filter: EntryFilter): SQL {
  return sql`
    ${selectOwnPeriod(account, filter)}, log as materialized (${selectLog()}),
    bounds as materialized (${selectBounds(filter)})`;
}

/** The tables `owner` and `period` of a statement: the account, and the earliest time. */
export function selectOwnPeriod(account: LogAccount, filter: Pick<EntryFilter, 'from'>): SQL {
  return sql`owner as materialized (${selectOwner(account)}), period as materialized (${selectPeriod(filter)})`;
}

/**
 * Selects the range of positions between the filter's times and positions, in one row: `low`
 * inclusive, `high` exclusive. Selects no row if the log is empty.
 */
export function selectPositionRange(
  account: LogAccount,
  filter: Pick<EntryFilter, 'from' | 'to' | 'before'>,
): SQL {
  return sql`
    with ${selectContext(account, filter)}
    select low, high from bounds`;
}

/**
 * Selects how many entries the log has from each of the times until the next one: rows of `time`,
 * an index in the list, and `entries`, null for the last time. Selects no rows if the log is empty.
 *
 * The number is the difference of the two positions, less the erased entries between them. Each
 * position is that of the first entry or directly follows an entry, so no erased range lies on both
 * sides of it. Everything that retention erased lies before all of them.
 * @param times milliseconds since the epoch, in ascending order
 */
export function selectEntryCounts(account: LogAccount, times: readonly number[]): SQL {
  return sql`
    with owner as materialized (${selectOwner(account)}), log as materialized (${selectLog()}),
      times as materialized (
        select given.key as time, ${positionAt(sql`given.value`)} as pos
        from log cross join json_each(${JSON.stringify(times)}) as given
      ),
      erased as (
        select ${START} + (range.value ->> 0) as pos, (range.value ->> 1) - (range.value ->> 0) + 1 as length
        from ${erasedEntries} cross join json_each(${erasedEntries.ranges}) as range
        where ${erasedEntries.id} >= (select min(pos) from times)
          and ${erasedEntries.id} < ${END}
          and ${START} + (${erasedEntries.ranges} ->> '$[0][0]') < (select max(pos) from times)
      )
    select time, lead(earlier) over (order by time) - earlier as entries
    from (
      select time, pos - sum(length) over (order by pos, length) as earlier
      from (select time, pos, 0 as length from times union all select null, pos, length from erased)
    )
    where time is not null`;
}

/** The position before the first entry of the log, and the one after all of them. */
export const START = sql`(select start from owner)`;
const END = sql`(select start + ${LOG_SPAN_SQL} from owner)`;

/** Selects the number of the account and the start of its log, in one row. */
function selectOwner({ number }: LogAccount): SQL {
  return sql`
    select number, number * ${LOG_SPAN_SQL} as start
    from (select cast(${number} as integer) as number)`;
}

/** Selects the earliest time of the filter, in one row. */
function selectPeriod({ from }: Pick<EntryFilter, 'from'>): SQL {
  return sql`select ${from} as from_time`;
}

/**
 * Selects the positions and times of the first and the last entry of the log, in one row; no row if
 * the log is empty.
 */
function selectLog(): SQL {
  const entry = (order: SQL) => sql`(
    select ${auditEntries.pos} as pos, ${auditEntries.createdAt} as time from ${auditEntries}
    where ${auditEntries.pos} > ${START} and ${auditEntries.pos} < ${END}
    order by ${auditEntries.pos} ${order} limit 1
  )`;
  return sql`
    select first.pos as first_pos, first.time as first_time, last.pos as last_pos, last.time as last_time
    from ${entry(sql`asc`)} as first join ${entry(sql`desc`)} as last`;
}

/**
 * Selects the filter's range of positions, `low` inclusive and `high` exclusive, and the number of
 * its agent.
 */
function selectBounds({ agent, to, after, before }: EntryFilter): SQL {
  const number = agent ? agentNumber(agent) : sql`null`;
  const fromPosition = positionAt(sql`(select from_time from period)`);
  const low = sql`max(${START} + cast(${(after ?? 0) + 1} as integer), ${fromPosition})`;
  let high = sql`${START} + cast(${Math.min(before ?? LOG_SPAN, LOG_SPAN)} as integer)`;
  if (to !== undefined) high = sql`min(${high}, ${positionAt(to)})`;
  return sql`select ${low} as low, ${high} as high, ${number} as agent from log`;
}

/** The number of an agent of the account, as SQL; null if it has no such agent. */
export function agentNumber(id: Id<'agent'> | SQL): SQL {
  return sql`(
    select ${agents.number} from ${agents}
    where ${agents.account} = (select number from owner) and ${agents.id} = ${idSql(id)}
  )`;
}

/**
 * The position of the first entry at or after a time, or one past the last entry, as SQL: a binary
 * search over the log, whose times never decrease. `older` says whether the entry in the middle is
 * before the time. If that entry was erased, the next remaining entry stands for it.
 */
function positionAt(time: number | SQL): SQL {
  const older = (low: SQL, high: SQL) => sql`(
    select ${auditEntries.createdAt} < ${time} from ${auditEntries}
    where ${auditEntries.pos} >= (${low} + ${high}) / 2 order by ${auditEntries.pos} limit 1
  )`;
  const nextLow = sql`iif(older, (low + high) / 2 + 1, low)`;
  const nextHigh = sql`iif(older, high, (low + high) / 2)`;
  return sql`(
    with recursive
      ends (low, high) as (
        select iif(last_time < ${time}, last_pos + 1, first_pos), iif(first_time >= ${time}, first_pos, last_pos + 1)
        from log
      ),
      search (low, high, older) as (
        select low, high, ${older(sql`low`, sql`high`)} from ends
        union all
        select ${nextLow}, ${nextHigh}, ${older(nextLow, nextHigh)} from search where low < high
      )
    select low from search where low >= high
  )`;
}
