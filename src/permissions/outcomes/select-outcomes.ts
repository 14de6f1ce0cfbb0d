import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { OUTCOME_STATES } from '../../db/schema';
import { LOG_SPAN_SQL } from '../../ledger/append';
import { MINUTE } from '../../lib/time';
import { type Id, idBytes } from '../../lib/typeid';
import { DUE_MINUTE, isOverdue, type ListedOutcome } from './outcome';

/**
 * Selects what failed or is unknown in the order of the requests, newest first, with what tells
 * whether it is listed. What is unknown without being stored so is read minute by minute: only the
 * time since the last sweep has any.
 * @param after the sequence of a request: only older ones are selected
 */
export function selectOutcomes(
  account: SQL<number>,
  outcome: ListedOutcome,
  { after, now }: { after: number | undefined; now: number },
): SQL {
  const columns = sql`id, request_entry as place, agent, action, created_at, decided_at`;
  const isAfter = after === undefined ? sql`` : sql`and request_entry < ${after}`;
  const stored = sql`select ${columns} from permissions indexed by permissions_by_outcome
    where account = ${account} and outcome_state = ${codeOf(OUTCOME_STATES, outcome)}
      and outcome_state in (2, 4) ${isAfter}`;
  if (outcome === 'failed') return sql`${stored} order by place desc`;
  const nextMinute = (isLater: SQL) => sql`(
    select ${DUE_MINUTE} from permissions indexed by outcomes_awaited
    where outcome_state = 1 and ${isLater} order by ${DUE_MINUTE} limit 1
  )`;
  return sql`${stored}
    union all
    select ${columns} from (
      with recursive minutes (minute) as (
        select ${nextMinute(sql`true`)}
        union all
        select ${nextMinute(sql`${DUE_MINUTE} > minutes.minute`)} from minutes
        where minutes.minute < ${Math.floor(now / MINUTE)}
      )
      select minute from minutes
    ) as due cross join permissions indexed by outcomes_awaited
    where ${DUE_MINUTE} = due.minute and account = ${account} and ${isOverdue(now)} ${isAfter}
    order by place desc`;
}

/** How many requests are sorted by their decisions. */
const SORTED = 250;

/**
 * Selects a page of what failed or is unknown, in the order of the decisions among the requests of
 * a window, the newest window first. A window has {@link SORTED} requests in their own order,
 * because no index has the order of the decisions: with fewer, all are sorted.
 *
 * The place of a permission is the sequence before which its window begins. The last row of a full
 * window is there a second time as its end (`is_end`), with its own sequence as the place: there the
 * next window begins.
 * @param isListed the rest of the statement after the rows, which says which are listed
 */
export function selectByDecision(
  account: SQL<number>,
  outcome: ListedOutcome,
  isListed: SQL,
  {
    after,
    limit,
    now,
  }: { after: { place: number; id: Id<'perm'> } | undefined; limit: number; now: number },
): SQL {
  const start = after ? sql`${after.place}` : LOG_SPAN_SQL;
  // Not of the window, but its start: then all of it follows.
  const decidedAt =
    after &&
    sql`(
    select last.decided_at from permissions as last
    where last.account = ${account} and last.id = ${idBytes(after.id)} and last.request_entry < ${after.place}
  )`;
  const isAfter = after
    ? sql`and coalesce((decided_at, id) < (${decidedAt}, ${idBytes(after.id)}), true)`
    : sql``;
  return sql`
    with newest as materialized (
      select * from (${selectOutcomes(account, outcome, { after: after?.place, now })}) limit ${SORTED}
    )
    select * from (
      select id, ${start} as place, 0 as is_end from newest as permissions ${isListed} ${isAfter}
      order by decided_at desc, id desc limit ${limit}
    )
    union all
    select * from (select id, place, 1 from newest limit 1 offset ${SORTED - 1})`;
}
