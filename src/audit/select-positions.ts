import { type SQL, sql } from 'drizzle-orm';
import { codeOf, codesOf, idSql } from '../db/columns';
import { mergeSorted } from '../db/merge-sorted';
import { agents, auditEntries, erasedEntries } from '../db/schema';
import { selectExamined } from '../db/select-examined';
import { STORED_EVENTS, type StoredEvent } from '../db/stored-events';
import { LOG_SPAN, LOG_SPAN_SQL } from '../ledger/append';
import { type Id, idBytes } from '../lib/typeid';
import { type DetailFilter, matchesDetailsSql } from './detail-filter';

/** The account of a log. */
interface LogAccount {
  /** Its number, or SQL for it while the caller is not known. */
  number: number | SQL<number>;
}

/** A filter on the entries of a log. An id of null matches no entry. */
export interface EntryFilter {
  agent?: Id<'agent'> | SQL | null;
  permission?: Id<'perm'> | null;
  events?: readonly StoredEvent[];
  action?: string;
  /** Milliseconds since the epoch; `from` inclusive, `to` exclusive. */
  from: number | SQL<number>;
  to?: number;
  /** Sequence numbers; both exclusive. */
  after?: number;
  before?: number;
}

/**
 * Selects the positions of the matching entries, in order, as one column `pos`.
 *
 * Entries are in the same order by position and by time, so a binary search turns the times into
 * positions. An index then has the matching entries of one stored event as one range; the ranges of
 * several are merged. So the cost of a page does not depend on how many entries
 * match.
 */
export function selectPositions(
  account: LogAccount,
  filter: EntryFilter,
  order: 'asc' | 'desc',
  limit: number,
): SQL {
  return sql`
    with ${selectContext(account, filter)}
    select pos from (${mergeSorted(selectArms(filter), 'pos', order)}) limit ${limit}`;
}

/** The tables that the arms of a selection refer to. */
function selectContext(account: LogAccount, filter: EntryFilter): SQL {
  return sql`
    owner as materialized (${selectOwner(account)}), log as materialized (${selectLog()}),
    period as materialized (${selectPeriod(filter)}), bounds as materialized (${selectBounds(filter)})`;
}

/**
 * Maximum number of entries that one page examines if it has a filter on details: then it reads at
 * most three times as many rows.
 */
export const MAX_EXAMINED = 600;

/**
 * As {@link selectPositions}, of the entries whose details match too, with the column `is_end`. No
 * index has the details: the page examines up to {@link MAX_EXAMINED} of the other entries. If that
 * does not fill it, its last row has `is_end`, and is the last one that was examined.
 */
export function selectDetailPositions(
  account: LogAccount,
  filter: EntryFilter,
  details: DetailFilter,
  order: 'asc' | 'desc',
  limit: number,
): SQL {
  return sql`
    with ${selectContext(account, filter)}
    select pos, is_end from (${selectMatching(filter, details, order, limit)})`;
}

function selectMatching(
  filter: EntryFilter,
  details: DetailFilter,
  order: 'asc' | 'desc',
  limit: number,
): SQL {
  if (filter.permission !== undefined) {
    // All of its entries are read in any case, so none has to be examined again.
    const ofPermission = mergeSorted([selectOfPermission(filter, details)], 'pos', order);
    return sql`select pos, 0 as is_end from (${ofPermission}) limit ${limit}`;
  }
  const isListed = sql`cross join ${auditEntries} as entry
    where entry.pos = examined.pos and ${matchesDetailsSql(details, 'entry')}`;
  const rows = mergeSorted(selectArms(filter), 'pos', order);
  return selectExamined(
    { rows, alias: 'examined', columns: ['pos'], isListed },
    { limit, maxExamined: MAX_EXAMINED },
  );
}

/** Selects the matching positions within the bounds: one arm for each range of an index. */
function selectArms(filter: EntryFilter): SQL[] {
  if (filter.permission !== undefined) return [selectOfPermission(filter)];
  const { agent, events, action } = filter;
  const ranges = entryRanges({
    events,
    action,
    ...(agent !== undefined && { agent: sql`(select agent from bounds)` }),
  });
  return ranges.map(
    (range) => sql`
      select ${auditEntries.pos} from ${range} and ${auditEntries.pos} >= (select low from bounds)
        and ${auditEntries.pos} < (select high from bounds)`,
  );
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
    with owner as materialized (${selectOwner(account)}), log as materialized (${selectLog()}),
      period as materialized (${selectPeriod(filter)}), bounds as (${selectBounds(filter)})
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

/**
 * The ranges that together have the matching entries, each sorted by position: what follows `from`
 * in a statement, up to a condition. An index has the matching entries of one stored event as one
 * range; without a filter that needs one, the whole table is the range.
 * @param agent the number of the agent
 */
export function entryRanges({
  agent,
  action,
  events,
}: {
  agent?: SQL | undefined;
  action?: string | undefined;
  events?: readonly StoredEvent[] | undefined;
}): SQL[] {
  const index = chooseIndex(agent, action, events !== undefined);
  if (!index) return [sql`${auditEntries} not indexed where true`];
  const given = events ?? STORED_EVENTS;
  return given.map((event) => {
    const isEvent = sql`${auditEntries.event} = ${codeOf(STORED_EVENTS, event)}`;
    return sql`${index} and ${isEvent}`;
  });
}

function chooseIndex(
  agent: SQL | undefined,
  action: string | undefined,
  hasEvents: boolean,
): SQL | null {
  const ofAgent = sql`${auditEntries.agent} = ${agent}`;
  if (agent !== undefined && action !== undefined) {
    return sql`${auditEntries} indexed by audit_by_agent_action
      where ${ofAgent} and ${auditEntries.action} = ${action}`;
  }
  if (agent !== undefined) return sql`${auditEntries} indexed by audit_by_agent where ${ofAgent}`;
  if (action !== undefined)
    return sql`${auditEntries} indexed by audit_by_action where ${auditEntries.action} = ${action}`;
  if (hasEvents) return sql`${auditEntries} indexed by audit_by_event where true`;
  return null;
}

/**
 * Selects the positions of a permission's entries that match the other filters.
 *
 * The entries form a chain, from the last one to the first: the permission has the sequence of its
 * last entry, and each entry that of the one before. It ends at an erased entry, or one before the
 * bounds. A permission has few entries: a request, a decision, at most 1,000 uses and an end.
 */
function selectOfPermission(filter: EntryFilter, details?: DetailFilter): SQL {
  const { permission, agent, events, action } = filter;
  const columns = sql`entry.pos, entry.previous, entry.event, entry.agent, entry.action,
    ${details ? matchesDetailsSql(details, 'entry') : sql`true`}`;
  const isWanted = [sql`pos < (select high from bounds)`, sql`matches_details`];
  if (agent !== undefined) isWanted.push(sql`agent = (select agent from bounds)`);
  if (action !== undefined) isWanted.push(sql`action = ${action}`);
  if (events) isWanted.push(sql`event in (${codesOf(STORED_EVENTS, events)})`);
  return sql`
    select pos from (
      with recursive chain (pos, previous, event, agent, action, matches_details) as (
        select ${columns}
        from permissions cross join audit_entries as entry
        where permissions.account = (select number from owner) and permissions.id = ${permission && idBytes(permission)}
          and entry.pos = ${START} + permissions.last_entry and entry.pos >= (select low from bounds)
        union all
        select ${columns}
        from chain cross join audit_entries as entry
        where entry.pos = ${START} + chain.previous and entry.pos >= (select low from bounds)
      )
      select pos from chain where ${sql.join(isWanted, sql` and `)}
    ) where true`;
}

/** The position before the first entry of the log, and the one after all of them. */
const START = sql`(select start from owner)`;
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
  let number = sql`null`;
  if (agent) {
    number = sql`(
      select ${agents.number} from ${agents}
      where ${agents.account} = (select number from owner) and ${agents.id} = ${idSql(agent)}
    )`;
  }
  const fromPosition = positionAt(sql`(select from_time from period)`);
  const low = sql`max(${START} + cast(${(after ?? 0) + 1} as integer), ${fromPosition})`;
  let high = sql`${START} + cast(${Math.min(before ?? LOG_SPAN, LOG_SPAN)} as integer)`;
  if (to !== undefined) high = sql`min(${high}, ${positionAt(to)})`;
  return sql`select ${low} as low, ${high} as high, ${number} as agent from log`;
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
