import { and, isNull, type SQL, sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { Statement } from '../db/database';
import { webhookFeeds } from '../db/schema';
import type { Entry } from './entry';

/** The numbers of the accounts that entries are of, as SQL. */
export function accountsOf(entries: readonly Pick<Entry, 'account'>[]): SQL {
  const numbers = JSON.stringify([...new Set(entries.map(({ account }) => account))]);
  return sql`(select value from json_each(${numbers}))`;
}

/**
 * Notes that accounts with webhooks have something new to deliver: the log itself is the outbox. It writes nothing for
 * an account without webhooks, and nothing where it is noted already.
 */
export function markFeeds(build: DrizzleD1Database, news: readonly Pick<Entry, 'account' | 'at'>[]): Statement {
  return build
    .update(webhookFeeds)
    .set({ dueAt: Math.max(...news.map(({ at }) => at)) })
    .where(and(sql`${webhookFeeds.account} in ${accountsOf(news)}`, isNull(webhookFeeds.dueAt)));
}

/** Notes that accounts have entries to seal. It writes nothing where that is noted already. */
export function markTrees(build: DrizzleD1Database, news: readonly Pick<Entry, 'account' | 'at'>[]): Statement {
  const dueAt = Math.max(...news.map(({ at }) => at));
  return build.run(sql`
    insert into trees (account, due_at) select value, ${dueAt} from ${accountsOf(news)} where true
    on conflict (account) do update set due_at = excluded.due_at
    where trees.due_at is null or trees.due_at > excluded.due_at`);
}
