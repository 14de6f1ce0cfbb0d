import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { mergeSorted } from '../db/merge-sorted';
import { auditEntries } from '../db/schema';
import { selectExamined } from '../db/select-examined';
import { STORED_EVENTS, type StoredEvent } from '../db/stored-events';
import { type DetailFilter, matchesDetailsSql } from './detail-filter';
import type { EntryFilter, LogAccount } from './entry-filter';
import { selectContext } from './log-range';
import { selectChain } from './select-chain';

/**
 * Selects the positions of the matching entries, in order, as one column `pos`.
 *
 * Entries are in the same order by position and by time, so a binary search turns the times into
 * positions. An index then has the matching entries of one stored event as one range; the ranges of
 * several are merged. So the cost of a page does not depend on how many entries
 * match. Those of one permission are read from its chain instead.
 */
export function selectPositions(
  account: LogAccount,
  { permission, ...filter }: EntryFilter,
  order: 'asc' | 'desc',
  limit: number | SQL,
): SQL {
  if (permission !== undefined)
    return selectChain(account, { ...filter, permission }, order, limit);
  return sql`
    with ${selectContext(account, filter)}
    select pos from (${mergeSorted(selectArms(filter), 'pos', order)}) limit ${limit}`;
}

/**
 * Maximum number of entries that one page examines if it has a filter on details: then it reads at
 * most three times as many rows.
 */
export const MAX_EXAMINED = 600;

/**
 * The same for a page of the explorer, which reads 9,900 rows at most together with its timeline
 * and all names.
 */
export const MAX_EXAMINED_FOR_PERSON = 1_000;

/**
 * As {@link selectPositions}, of the entries whose details match too, with the column `is_end`. No
 * index has the details: the page examines up to `maxExamined` of the other entries, or all of one
 * permission. If that does not fill it, its last row has `is_end`, and is the last one that was
 * examined.
 */
export function selectDetailPositions(
  account: LogAccount,
  { permission, ...filter }: EntryFilter,
  details: DetailFilter,
  order: 'asc' | 'desc',
  { limit, maxExamined }: { limit: number; maxExamined: number },
): SQL {
  if (permission !== undefined) {
    const chain = selectChain(account, { ...filter, permission, details }, order, limit);
    return sql`select pos, 0 as is_end from (${chain})`;
  }
  const joinsAndWhere = sql`cross join ${auditEntries} as entry
    where entry.pos = examined.pos and ${matchesDetailsSql(details, 'entry')}`;
  const rows = mergeSorted(selectArms(filter), 'pos', order);
  const matching = selectExamined(
    { rows, alias: 'examined', columns: ['pos'], joinsAndWhere },
    { limit, maxExamined },
  );
  return sql`with ${selectContext(account, filter)} select pos, is_end from (${matching})`;
}

/** Selects the matching positions within the bounds: one arm for each range of an index. */
function selectArms({ agent, events, action }: EntryFilter): SQL[] {
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
