import { and, type Column, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { Statement } from '../db/database';
import { accounts, auditEntries, fileOutcomes, files, webhookFeeds, webhooks } from '../db/schema';
import { LOG_SPAN } from '../ledger/append';
import type { InternalWriter } from '../ledger/ledger';
import { DAY } from '../lib/time';

/** How long deliveries are kept, in milliseconds. */
export const DELIVERY_LIFETIME = 30 * DAY;

/**
 * Writes down that files of an account are finished, or have failed, for its webhooks to be told; nothing where it has
 * none. Goes before the change of the files, in the same transaction.
 * @param which finds the files as they are before
 */
export function recordFileOutcomes(
  write: Pick<InternalWriter, 'insert' | 'update'>,
  account: number | SQL<number>,
  which: SQL | undefined,
  isFailure: boolean,
  now: number,
): readonly [Statement, Statement] {
  const hasFeed = sql`exists (select 1 from ${webhookFeeds} where ${webhookFeeds.account} = ${files.account})`;
  const outcomes = sql`
    select account, kind, id, ${isFailure ? 1 : 0}, ${now}, ${nextOutcomeNumber(sql`${files.account}`)}
    from ${files} where ${which} and ${hasFeed}`;
  return [
    write.insert(fileOutcomes).select(outcomes).onConflictDoNothing(),
    write
      .update(webhookFeeds)
      .set({ dueAt: now })
      .where(and(eq(webhookFeeds.account, account), isNull(webhookFeeds.dueAt))),
  ];
}

/** The highest ordinal of an account's outcomes of files of which no delivery was made yet, as SQL; 0 where there is none. */
export function newestOutcome(account: number | SQL): SQL<number> {
  return sql<number>`(
    select coalesce(max(${fileOutcomes.ordinal}), 0) from ${fileOutcomes} where ${fileOutcomes.account} = ${account}
  )`;
}

/** An ordinal above all outcomes that wait, and above those that a webhook begins after, which may be gone by now. */
function nextOutcomeNumber(account: SQL): SQL {
  return sql`1 + max(${newestOutcome(account)}, (
    select coalesce(max(${webhooks.startsAfterOutcome}), 0) from ${webhooks} where ${webhooks.account} = ${account}
  ))`;
}

/** The place of an account's newest entry in the log, erased ones included, as SQL. */
export function newestPosition(account: number | Column): SQL<number> {
  const start = sql`${account} * ${sql.raw(String(LOG_SPAN))}`;
  const end = sql`${start} + ${sql.raw(String(LOG_SPAN))}`;
  return sql<number>`(select max(
    coalesce((select pos from ${auditEntries} where pos > ${start} and pos < ${end} order by pos desc limit 1), 0),
    ${start} + coalesce((select erased_sequence from ${accounts} where number = ${account}), 0)
  ))`;
}

/**
 * Begins the feed of an account whose first webhook is on: with what happens from this moment on. What a feed before it
 * left untold is forgotten.
 */
export function openFeed(
  write: Pick<InternalWriter, 'insert' | 'delete'>,
  account: number,
): readonly [Statement, Statement] {
  const hasNone = sql`not exists (select 1 from ${webhookFeeds} where ${webhookFeeds.account} = ${account})`;
  return [
    write.delete(fileOutcomes).where(and(eq(fileOutcomes.account, account), hasNone)),
    write
      .insert(webhookFeeds)
      .select(sql`select ${account}, ${newestPosition(account)}, null where exists (${activeWebhook(account)})`)
      .onConflictDoNothing(),
  ];
}

/** Ends the feed of an account whose last webhook is off or gone: nothing is written for it any more. */
export function closeFeed(write: Pick<InternalWriter, 'delete'>, account: number): Statement {
  return write
    .delete(webhookFeeds)
    .where(and(eq(webhookFeeds.account, account), sql`not exists (${activeWebhook(account)})`));
}

function activeWebhook(account: number): SQL {
  return sql`select 1 from ${webhooks} where ${webhooks.account} = ${account} and ${webhooks.isActive} = 1`;
}
