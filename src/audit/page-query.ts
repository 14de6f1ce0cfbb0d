import { type SQL, sql } from 'drizzle-orm';
import { mergeSorted } from '../db/merge-sorted';
import { EVENT_TYPES, type EventType } from '../db/schema';
import type { AccountRef } from '../http/context';
import { LOG_SPAN } from '../ledger/append';
import { type Id, idBytes } from '../lib/typeid';
import { logStart } from './entry';

/** The account whose log it is. */
export type LogOwner = Pick<AccountRef, 'number'>;

/** Which entries of an account's log are wanted. An id of null is one that no entry can have. */
export interface EntryFilter {
  agent?: Id<'agent'> | null;
  permission?: Id<'perm'> | null;
  event?: EventType;
  action?: string;
  /** Milliseconds since the epoch; `from` inclusive, `to` exclusive. */
  from: number;
  to?: number;
  /** Positions; both exclusive. */
  after?: number;
  before?: number;
}

/**
 * The positions of the entries that match, in order, as a select of one column `pos`.
 *
 * Order by position is order by time, so that times become positions, once, by binary search. Each index then holds the
 * matching entries of one event type as one range, in order; without an event type the six ranges are merged. So a page
 * reads little more than its own rows, however many match.
 */
export function selectPositions(account: LogOwner, filter: EntryFilter, order: 'asc' | 'desc', limit: number): SQL {
  const { range, hasEvent } = chooseRange(filter);
  const within = sql`pos >= (select low from bounds) and pos < (select high from bounds)`;
  const events = filter.event ? [EVENT_TYPES.indexOf(filter.event)] : EVENT_TYPES.keys().toArray();
  const arms = hasEvent
    ? events.map((event) => sql`select pos from ${range} and event = ${sql.raw(String(event))} and ${within}`)
    : [sql`select pos from ${range} and ${within}`];
  return sql`
    with log as materialized (${selectLog(account)}),
      bounds as materialized (${selectBounds(account, filter)})
    select pos from (${mergeSorted(arms, 'pos', order)}) limit ${limit}`;
}

/**
 * The filter's bounds as positions, `low` inclusive and `high` exclusive, as a select of one row; of none when the log
 * is empty.
 */
export function selectRange(account: LogOwner, filter: Omit<EntryFilter, 'agent' | 'permission'>): SQL {
  return sql`
    with log as materialized (${selectLog(account)}), bounds as (${selectBounds(account, filter)})
    select low, high from bounds`;
}

function chooseRange({ agent, permission, event, action }: EntryFilter): { range: SQL; hasEvent: boolean } {
  if (permission !== undefined) {
    const id = permission && idBytes(permission);
    return { range: sql`audit_entries indexed by audit_by_permission where permission = ${id}`, hasEvent: true };
  }
  const ofAgent = sql`agent = (select agent from bounds)`;
  if (agent !== undefined && action !== undefined) {
    const range = sql`audit_entries indexed by audit_by_agent_action where ${ofAgent} and action = ${action}`;
    return { range, hasEvent: true };
  }
  if (agent !== undefined) {
    return { range: sql`audit_entries indexed by audit_by_agent where ${ofAgent}`, hasEvent: true };
  }
  if (action !== undefined) {
    return { range: sql`audit_entries indexed by audit_by_action where action = ${action}`, hasEvent: true };
  }
  return event
    ? { range: sql`audit_entries indexed by audit_by_event where true`, hasEvent: true }
    : { range: sql`audit_entries not indexed where true`, hasEvent: false };
}

/** The first and the last entry of the log: their positions and times. No row when the log is empty. */
function selectLog(account: LogOwner): SQL {
  const start = logStart(account);
  const ofAccount = sql`pos > ${start} and pos < ${start + LOG_SPAN}`;
  return sql`
    select first.pos as first_pos, first.created_at as first_time, last.pos as last_pos, last.created_at as last_time
    from (select pos, created_at from audit_entries where ${ofAccount} order by pos limit 1) as first
    join (select pos, created_at from audit_entries where ${ofAccount} order by pos desc limit 1) as last`;
}

/** The filter's bounds as positions, `low` inclusive and `high` exclusive, and the number of its agent. */
function selectBounds(account: LogOwner, { agent, permission, action, from, to, after, before }: EntryFilter): SQL {
  const start = logStart(account);
  const number = agent
    ? sql`(select number from agents where account = ${account.number} and id = ${idBytes(agent)})`
    : sql`null`;
  const low = sql`max(cast(${(after ?? start) + 1} as integer), ${positionAt(from)})`;
  const end = sql`cast(${before ?? start + LOG_SPAN} as integer)`;
  const high = to === undefined ? end : sql`min(${end}, ${positionAt(to)})`;
  const fits =
    permission && (agent !== undefined || action !== undefined) ? probe(permission, number, agent, action) : sql`1`;
  return sql`select ${low} as low, iif(${fits}, ${high}, 0) as high, ${number} as agent from log`;
}

/** Whether a permission is of this agent and action. All its entries are alike in both, so one of them tells. */
function probe(permission: Id<'perm'>, number: SQL, agent: EntryFilter['agent'], action: string | undefined): SQL {
  const ofAgent = agent === undefined ? sql`1` : sql`agent = ${number}`;
  const ofAction = action === undefined ? sql`1` : sql`action = ${action}`;
  return sql`coalesce((
    select ${ofAgent} and ${ofAction} from audit_entries indexed by audit_by_permission
    where permission = ${idBytes(permission)} limit 1
  ), 0)`;
}

/**
 * The position of the first entry at or after a time, or one past the last entry: a binary search over the log, whose
 * times never decrease. `older` says whether the entry in the middle lies before the time; where entries were erased,
 * the next one that is left speaks for the gap.
 */
function positionAt(time: number): SQL {
  const older = (low: SQL, high: SQL) => sql`(
    select created_at < ${time} from audit_entries where pos >= (${low} + ${high}) / 2 order by pos limit 1
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
