import { and, isNull, type SQL, sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { codeOf } from '../db/columns';
import { eventFeeds } from '../db/schema';
import { prepareWrite, type Statement } from '../db/statements';
import { PLANS, RETENTION_DAYS } from '../lib/plans';
import { DAY } from '../lib/time';
import type { Entry } from './entry';

// A mark is a due time in the database, by which background tasks find an account with work to do:
// entries to deliver, to seal, to count or to erase.

type Marked = Pick<Entry, 'account' | 'at'>;

/** The accounts of some entries, as an SQL subquery with a placeholder and the column `value`. */
export const ACCOUNTS = sql`(select value from json_each(${sql.placeholder('accounts')}))`;

/** The placeholder for a time. */
const AT = sql`${sql.placeholder('at')}`;

/** The value of the placeholder of {@link ACCOUNTS}. */
export function accountsOf(entries: readonly Pick<Entry, 'account'>[]): string {
  return JSON.stringify([...new Set(entries.map(({ account }) => account))]);
}

/** The values of {@link ACCOUNTS}, and of {@link AT} for the newest of the entries. */
function markValues(entries: readonly Marked[]) {
  return { accounts: accountsOf(entries), at: Math.max(...entries.map(({ at }) => at)) };
}

/**
 * Marks the event feeds of accounts as due: they have new entries to deliver. The log itself is the
 * outbox.
 *
 * Writes nothing for an account without an active receiver, or for one that is already marked.
 */
export function markFeeds(build: DrizzleD1Database, entries: readonly Marked[]): Statement {
  return feedsStatement(build, markValues(entries));
}

const feedsStatement = prepareWrite((build: DrizzleD1Database) =>
  build
    .update(eventFeeds)
    .set({ dueAt: AT })
    .where(and(sql`${eventFeeds.account} in ${ACCOUNTS}`, isNull(eventFeeds.dueAt))),
);

/**
 * Marks the trees of accounts as due: they have entries to seal, and to count for the statistics of
 * agents. Writes nothing for one that is due by then anyway.
 */
export function markTrees(build: DrizzleD1Database, entries: readonly Marked[]): Statement {
  return treesStatement(build, markValues(entries));
}

const treesStatement = prepareWrite((build: DrizzleD1Database) =>
  build.run(sql`
    insert into trees (account, due_at, count_due_at)
    select value, ${AT}, ${AT} from ${ACCOUNTS} where true
    on conflict (account) do update set
      due_at = min(coalesce(trees.due_at, excluded.due_at), excluded.due_at),
      count_due_at = coalesce(trees.count_due_at, excluded.count_due_at)
    where trees.due_at is null or trees.due_at > excluded.due_at or trees.count_due_at is null`),
);

/**
 * The retention period of the account in the row `accounts`, in milliseconds, as SQL: see
 * `retentionDays`.
 */
export const retentionPeriod = sql`(coalesce(
  iif(accounts.plan = ${codeOf(PLANS, 'enterprise')}, accounts.audit_retention_days, null),
  case accounts.plan ${sql.join(
    PLANS.map(
      (plan) => sql`when ${codeOf(PLANS, plan)} then ${sql.raw(String(RETENTION_DAYS[plan]))}`,
    ),
    sql` `,
  )} end
) * ${sql.raw(String(DAY))})`;

/**
 * Marks each account that is not marked yet, and so has no older record, with the time at which the
 * new record will exceed its retention period.
 * @param accounts account numbers, as an SQL subquery
 * @param at when the new audit entry or activity record was made, in milliseconds since the epoch
 */
export function markRetention(
  build: DrizzleD1Database,
  accounts: SQL,
  at: number | SQL,
): Statement {
  return build.run(sql`
    update accounts set retention_due_at = ${at} + ${retentionPeriod} + 1
    where number in ${accounts} and retention_due_at is null`);
}

/** The same for the accounts of new entries, from the time of the first one on. */
export function markEntryRetention(
  build: DrizzleD1Database,
  entries: readonly [Marked, ...Marked[]],
): Statement {
  return retentionStatement(build, { accounts: accountsOf(entries), at: entries[0].at });
}

const retentionStatement = prepareWrite((build: DrizzleD1Database) =>
  markRetention(build, ACCOUNTS, AT),
);
