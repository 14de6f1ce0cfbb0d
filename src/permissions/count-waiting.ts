import { type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../db/database';
import { pendingPermissions } from '../db/schema';
import { awaitsDecisionOf } from './reviews/reviewers';

/**
 * How many of the most urgent waiting requests are examined. One takes up to three rows: itself,
 * its review and its agent; and the votes on it, where several people have to approve. With what
 * finds the caller these are at most 300 rows.
 */
const MAX_EXAMINED = 98;

/** The most that is shown as a number. */
const MAX_SHOWN = 99;

/** How many requests wait for a caller, as far as they were examined. */
export interface WaitingCount {
  waiting: number;
  examined: number;
  /** How many requests of the account wait, for whomever. */
  pending: number;
}

/**
 * Selects how many of the account's requests wait for the caller, who may decide: those that
 * `listWaiting` lists for `caller`. The caller is SQL, so that the count is read together with the
 * authentication.
 * @param caller the number of the account, and the id of the member; null if no member acts
 */
export function selectWaitingCount(
  reader: Reader,
  { account, member }: { account: SQL<number>; member: SQL },
  now: number,
) {
  // SQLite reads no further than a condition needs, whereas it computes every part of a value.
  const waits = sql`iif(reviews.id is null or ${awaitsDecisionOf(now)}, 1, 0)`;
  // The member is read once, and agents only where there is a review. The index is in the order in
  // which requests expire.
  const examined = sql`
    select me.account, ${waits} as waits
    from (select ${account} as account, ${member} as id) as me
    left join members on members.account = me.account and members.id = me.id
    cross join permissions indexed by permissions_waiting
    left join reviews on reviews.account = permissions.account and reviews.id = permissions.id
    left join agents on agents.number = iif(reviews.id is null, null, permissions.agent)
    where permissions.account = me.account and permissions.status = 0
      and permissions.expires_at > ${now}
    limit ${MAX_EXAMINED}`;
  const pending = sql`(
    select ${pendingPermissions.count} from ${pendingPermissions}
    where ${pendingPermissions.account} = examined.account
  )`;
  return reader
    .select({
      waiting: sql<number>`coalesce(sum(examined.waits), 0)`.as('waiting'),
      examined: sql<number>`count(*)`.as('examined'),
      pending: sql<number>`coalesce(${pending}, 0)`.as('pending'),
    })
    .from(sql`(${examined}) as examined`);
}

/** The count in a few characters, such as `7` or `99+`; null if nothing is known to wait. */
export function waitingCountText({ waiting, examined, pending }: WaitingCount): string | null {
  if (waiting === 0) return null;
  if (waiting === MAX_EXAMINED && pending > MAX_SHOWN) return `${MAX_SHOWN}+`;
  return examined === MAX_EXAMINED && pending > examined ? `${waiting}+` : String(waiting);
}
