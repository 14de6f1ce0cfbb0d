import { type SQL, sql } from 'drizzle-orm';
import { codesOf, idSql } from '../db/columns';
import { auditEntries } from '../db/schema';
import { STORED_EVENTS } from '../db/stored-events';
import type { Id } from '../lib/typeid';
import { type DetailFilter, matchesDetailsSql } from './detail-filter';
import type { EntryFilter, LogAccount } from './entry-filter';
import { agentNumber, START, selectOwnPeriod } from './log-range';

/** A filter on the entries of one permission. */
interface ChainFilter extends EntryFilter {
  permission: Id<'perm'> | null;
  details?: DetailFilter;
}

/**
 * Selects the positions of a permission's entries that match the other filters, in order, as one
 * column `pos`.
 *
 * The entries form a chain, from the last one to the first: the permission has the sequence of its
 * last entry, and each entry that of the one before. It ends at an erased entry, or one before the
 * filter's range. A permission has few entries: a request, a decision, at most 1,000 uses and an
 * end.
 *
 * In descending order it is read until the page is full, in ascending order to its end. Each step
 * of the recursion reads a row of its own, so it takes two entries: 1.5 rows for an entry.
 */
export function selectChain(
  account: LogAccount,
  filter: ChainFilter,
  order: 'asc' | 'desc',
  limit: number | SQL,
): SQL {
  let pairs = sql`select newer, older from chain where coalesce(newer, older) is not null`;
  let both = sql`newer, older`;
  if (order === 'asc') {
    // SQLite reads one more row for each that a limited sort leaves out, so the sort has no limit.
    pairs = sql`${pairs} order by previous limit -1`;
    both = sql`older, newer`;
  }
  return sql`
    with recursive ${selectOwnPeriod(account, filter)},
      chain (newer, older, previous) as (
        ${selectStart(filter)}
        union all
        select ${matchingPosition('newer', filter)}, ${matchingPosition('older', filter)}, older.previous
        from chain
        cross join ${auditEntries} as newer
        left join ${auditEntries} as older
          on older.pos = ${START} + newer.previous and ${isInRange('older', filter)}
        where newer.pos = ${START} + chain.previous and ${isInRange('newer', filter)}
      )
    select entry.value as pos from (${pairs}) as pair cross join json_each(json_array(${both})) as entry
    where entry.value is not null limit ${limit}`;
}

/** Selects the row before the chain: the sequence with which it begins, as `previous`. */
function selectStart({ permission, agent, action, before }: ChainFilter): SQL {
  let start = sql`permissions.last_entry`;
  if (before !== undefined) {
    // A page begins after the last entry of the page before, which is one of the permission.
    start = sql`coalesce((
      select entry.previous from ${auditEntries} as entry
      where entry.pos = ${START} + ${before} and entry.permission = permissions.id
    ), ${start})`;
  }
  const conditions = [
    sql`account = (select number from owner) and id = ${permission && idSql(permission)}`,
  ];
  // All entries of a permission have its agent and its action.
  if (agent !== undefined) conditions.push(sql`agent = ${agent && agentNumber(agent)}`);
  if (action !== undefined) conditions.push(sql`action = ${action}`);
  return sql`select null, null, ${start} from permissions where ${sql.join(conditions, sql` and `)}`;
}

/** Whether an entry is not before the range of the filter, as SQL. No earlier one is in it then. */
function isInRange(alias: string, { after = 0 }: ChainFilter): SQL {
  const entry = sql.raw(alias);
  return sql`${entry}.pos > ${START} + ${after} and ${entry}.created_at >= (select from_time from period)`;
}

/** The position of an entry in the range; null if it does not match the filter. */
function matchingPosition(alias: string, { events, to, before, details }: ChainFilter): SQL {
  const entry = sql.raw(alias);
  const conditions: SQL[] = [];
  if (events) conditions.push(sql`${entry}.event in (${codesOf(STORED_EVENTS, events)})`);
  if (to !== undefined) conditions.push(sql`${entry}.created_at < ${to}`);
  if (before !== undefined) conditions.push(sql`${entry}.pos < ${START} + ${before}`);
  if (details) conditions.push(matchesDetailsSql(details, alias));
  if (conditions.length === 0) return sql`${entry}.pos`;
  return sql`iif(${sql.join(conditions, sql` and `)}, ${entry}.pos, null)`;
}
