import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { OUTCOME_STATES } from '../../db/schema';
import { MINUTE } from '../../lib/time';
import { type Id, idBytes } from '../../lib/typeid';
import { DUE_MINUTE, isOverdue, type ListedOutcome } from './outcome';

/** The orders of a list by outcome: the index of each, and the column of the place. */
const ORDERS = {
  request: { index: sql`permissions_by_outcome`, place: sql`request_entry` },
  decision: { index: sql`permissions_by_decision_and_outcome`, place: sql`decided_at` },
};

/** Whether a list by outcome is in the order of the requests in the log, or of the decisions. */
export type OutcomeOrder = keyof typeof ORDERS;

/**
 * Selects what failed or is unknown, newest first, with what tells whether it is listed. What is
 * unknown without being stored so is read minute by minute: only the time since the last sweep has
 * any.
 * @param after the last permission of the page before: only those behind it are selected
 */
export function selectOutcomes(
  account: SQL<number>,
  outcome: ListedOutcome,
  order: OutcomeOrder,
  { after, now }: { after: { place: number; id: Id<'perm'> } | undefined; now: number },
): SQL {
  const { index, place } = ORDERS[order];
  const columns = sql`id, ${place} as place, agent, action, created_at`;
  const isAfter = after ? sql`and (${place}, id) < (${after.place}, ${idBytes(after.id)})` : sql``;
  const stored = sql`select ${columns} from permissions indexed by ${index}
    where account = ${account} and outcome_state = ${codeOf(OUTCOME_STATES, outcome)}
      and outcome_state in (2, 4) ${isAfter}`;
  if (outcome === 'failed') return sql`${stored} order by place desc, id desc`;
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
    order by place desc, id desc`;
}
