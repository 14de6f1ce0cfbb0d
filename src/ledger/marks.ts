import { and, isNull, type SQL, sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { codeOf } from '../db/columns';
import type { Statement } from '../db/database';
import { webhookFeeds } from '../db/schema';
import { PLANS, RETENTION_DAYS } from '../lib/plans';
import { DAY } from '../lib/time';
import type { Entry } from './entry';

/** The numbers of the accounts of some entries, as SQL. */
export function accountsOf(entries: readonly Pick<Entry, 'account'>[]): SQL {
  const numbers = JSON.stringify([...new Set(entries.map(({ account }) => account))]);
  return sql`(select value from json_each(${numbers}))`;
}

/**
 * Marks accounts that have active webhooks as having new entries to deliver. The log itself is the outbox.
 *
 * Writes nothing for an account without webhooks, or for one that is already marked.
 */
export function markFeeds(build: DrizzleD1Database, entries: readonly Pick<Entry, 'account' | 'at'>[]): Statement {
  return build
    .update(webhookFeeds)
    .set({ dueAt: Math.max(...entries.map(({ at }) => at)) })
    .where(and(sql`${webhookFeeds.account} in ${accountsOf(entries)}`, isNull(webhookFeeds.dueAt)));
}

/** Marks accounts as having entries to seal. Writes nothing for an account that is already marked. */
export function markTrees(build: DrizzleD1Database, entries: readonly Pick<Entry, 'account' | 'at'>[]): Statement {
  const dueAt = Math.max(...entries.map(({ at }) => at));
  return build.run(sql`
    insert into trees (account, due_at) select value, ${dueAt} from ${accountsOf(entries)} where true
    on conflict (account) do update set due_at = excluded.due_at
    where trees.due_at is null or trees.due_at > excluded.due_at`);
}

/** The retention period of the account in the row `accounts`, in milliseconds, as SQL. */
export const retentionPeriod = sql`(coalesce(
  iif(accounts.plan = ${codeOf(PLANS, 'enterprise')}, accounts.audit_retention_days, null),
  case accounts.plan ${sql.join(
    PLANS.map((plan) => sql`when ${codeOf(PLANS, plan)} then ${sql.raw(String(RETENTION_DAYS[plan]))}`),
    sql` `,
  )} end
) * ${sql.raw(String(DAY))})`;

/**
 * Marks accounts with the time at which their oldest record will exceed its retention period. Writes nothing for an
 * account that is already marked.
 * @param accounts account numbers, as SQL
 * @param at when the new entry or activity record was made, in milliseconds since the epoch
 */
export function markRetention(build: DrizzleD1Database, accounts: SQL, at: number): Statement {
  return build.run(sql`
    update accounts set retention_due_at = ${at} + ${retentionPeriod} + 1
    where number in ${accounts} and retention_due_at is null`);
}
