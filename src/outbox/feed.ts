import { and, type Column, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import { codeOf, numberList } from '../db/columns';
import {
  type AccountEvent,
  accounts,
  auditEntries,
  DELIVERY_EVENTS,
  eventFeeds,
  fileResults,
  files,
  permissionEvents,
  receivers,
} from '../db/schema';
import type { Statement } from '../db/statements';
import { LOG_SPAN_SQL } from '../ledger/append';
import type { InternalWriter } from '../ledger/ledger';
import { DAY } from '../lib/time';
import { type Id, idBytes } from '../lib/typeid';

// An account with an active receiver has a feed: the position in its log (account number × 2³² +
// sequence) up to which deliveries have been created. The ledger marks the feed as due when it
// appends entries. All other events mark it as due where they are written.

/** How long deliveries are kept, in milliseconds. */
export const DELIVERY_LIFETIME = 30 * DAY;

// Without the index SQLite would read every event that the account keeps.
const FROM_PENDING_EVENTS = sql`${permissionEvents} indexed by permission_events_pending`;

/** Whether an account has an event of a permission that waits for its deliveries, as SQL. */
export function hasPendingEvent(account: number): SQL {
  return sql`exists (select 1 from ${FROM_PENDING_EVENTS} where ${isPendingOf(account)})`;
}

/**
 * The condition that finds the events of an account's permissions that wait for their deliveries,
 * as SQL.
 */
export function isPendingEvent(account: number): SQL {
  const key = sql`${permissionEvents.account}, ${permissionEvents.permission}, ${permissionEvents.event}`;
  return sql`(${key}) in (
    select ${key} from ${FROM_PENDING_EVENTS} where ${isPendingOf(account)}
  )`;
}

function isPendingOf(account: number): SQL {
  return sql`${permissionEvents.account} = ${account} and ${permissionEvents.isPending}`;
}

interface FinishedFiles {
  /** The condition that finds them, by their state before the change. */
  which: SQL | undefined;
  status: 'completed' | 'failed';
}

/**
 * Returns statements that record files of an account as completed or failed, and mark its feed as
 * due, so that its receivers get the events. They do nothing for an account without a feed. They
 * must run before the statement that changes the files, in the same transaction.
 */
export function recordFileResults(
  write: Pick<InternalWriter, 'insert' | 'update'>,
  account: number | SQL<number>,
  { which, status }: FinishedFiles,
  now: number,
): readonly [Statement, Statement] {
  const hasFeed = sql`exists (select 1 from ${eventFeeds} where ${eventFeeds.account} = ${files.account})`;
  const isFailure = Number(status === 'failed');
  const number = nextFileResultNumber(sql`${files.account}`);
  const results = sql`
    select ${files.account}, ${files.kind}, ${files.id}, ${isFailure}, ${now}, ${number}
    from ${files} where ${which} and ${hasFeed}`;
  return [
    write.insert(fileResults).select(results).onConflictDoNothing(),
    markFeed(write, account, now),
  ];
}

/**
 * Returns statements that record the escalation of a permission's review as an event, and mark the
 * account's feed as due. They do nothing for an account without a feed.
 */
export function recordEscalation(
  write: Pick<InternalWriter, 'insert' | 'update'>,
  account: number,
  permission: Id<'perm'>,
  now: number,
): readonly [Statement, Statement] {
  const event = sql`
    select ${eventFeeds.account}, ${idBytes(permission)},
      ${codeOf(DELIVERY_EVENTS, 'permission.escalated')}, null, null, 1, 0, null, ${now}
    from ${eventFeeds} where ${eventFeeds.account} = ${account}`;
  return [
    write.insert(permissionEvents).select(event).onConflictDoNothing(),
    markFeed(write, account, now),
  ];
}

/**
 * Returns statements that record for each permission that the condition finds, as an event, that
 * its outcome is missing, and mark the feeds of their accounts as due. They do nothing for an
 * account without a feed, or for a permission of a deleted agent. They must run before the
 * statement that changes the permissions, in the same transaction.
 */
export function recordMissingOutcomes(
  write: Pick<InternalWriter, 'insert' | 'update'>,
  which: SQL,
  accounts: readonly number[],
  now: number,
): readonly [Statement, Statement] {
  const events = sql`
    select account, id, ${codeOf(DELIVERY_EVENTS, 'permission.outcome_missing')}, null, null, 1, 0, null,
      outcome_due_at
    from permissions
    where ${which} and account in (select feed.account from ${eventFeeds} as feed)
      and agent in (select agents.number from agents)`;
  return [
    write.insert(permissionEvents).select(events).onConflictDoNothing(),
    write
      .update(eventFeeds)
      .set({ dueAt: now })
      .where(and(sql`${eventFeeds.account} in ${numberList(accounts)}`, isNull(eventFeeds.dueAt))),
  ];
}

/**
 * Returns the statement that records a stop or resume of an account as an event, and marks its feed
 * as due. It does nothing for an account without a feed.
 */
export function recordAccountEvent(
  write: Pick<InternalWriter, 'update'>,
  account: number,
  event: AccountEvent,
) {
  const events = sql`coalesce(${eventFeeds.accountEvents}, '[]')`;
  return write
    .update(eventFeeds)
    .set({
      accountEvents: sql`json_insert(${events}, '$[#]', json(${JSON.stringify(event)}))`,
      dueAt: sql`coalesce(${eventFeeds.dueAt}, ${event.at})`,
    })
    .where(eq(eventFeeds.account, account))
    .returning({ account: eventFeeds.account });
}

/**
 * Marks the feed of an account as due. Writes nothing for an account without a feed, or for one
 * that is marked.
 */
export function markFeed(
  write: Pick<InternalWriter, 'update'>,
  account: number | SQL<number>,
  now: number,
): Statement {
  return write
    .update(eventFeeds)
    .set({ dueAt: now })
    .where(and(eq(eventFeeds.account, account), isNull(eventFeeds.dueAt)));
}

/**
 * The highest number among an account's file results that have no deliveries yet, as SQL; 0 if
 * there are none.
 */
export function newestFileResult(account: number | SQL): SQL<number> {
  return sql<number>`(
    select coalesce(max(${fileResults.ordinal}), 0) from ${fileResults} where ${fileResults.account} = ${account}
  )`;
}

/**
 * A number for new file results: higher than that of any without deliveries, and than any that a
 * receiver starts after, even if that result no longer exists.
 */
function nextFileResultNumber(account: SQL): SQL {
  return sql`1 + max(${newestFileResult(account)}, (
    select coalesce(max(${receivers.startsAfterFileResult}), 0) from ${receivers} where ${receivers.account} = ${account}
  ))`;
}

const kept = alias(auditEntries, 'kept');
const owner = alias(accounts, 'owner');

/**
 * The position of the last entry of an account's log, even if it is erased, as SQL; before the
 * first entry, that of sequence 0.
 */
export function lastPosition(account: number | Column): SQL<number> {
  const start = sql`${account} * ${LOG_SPAN_SQL}`;
  const end = sql`${start} + ${LOG_SPAN_SQL}`;
  // The aliases keep the column `account` that of the outer query, which may read the same tables.
  const newestKept = sql`(
    select ${kept.pos} from ${auditEntries} as ${kept}
    where ${kept.pos} > ${start} and ${kept.pos} < ${end} order by ${kept.pos} desc limit 1
  )`;
  const erasedSequence = sql`(
    select ${owner.erasedSequence} from ${accounts} as ${owner} where ${owner.number} = ${account}
  )`;
  return sql<number>`max(coalesce(${newestKept}, 0), ${start} + coalesce(${erasedSequence}, 0))`;
}

/**
 * Returns statements that open the feed of an account that has an active receiver and no feed yet.
 * They must run after the statement that activates the receiver. The feed starts with events from
 * now on: file results that an earlier feed left are deleted, and events of permissions that waited
 * for it wait no longer.
 */
export function openFeed(
  write: Pick<InternalWriter, 'insert' | 'update' | 'delete'>,
  account: number,
): readonly [Statement, Statement, Statement] {
  const hasNone = sql`not exists (select 1 from ${eventFeeds} where ${eventFeeds.account} = ${account})`;
  return [
    write.delete(fileResults).where(and(eq(fileResults.account, account), hasNone)),
    write
      .update(permissionEvents)
      .set({ isPending: false })
      .where(and(isPendingEvent(account), hasNone)),
    write
      .insert(eventFeeds)
      .select(
        sql`select ${account}, ${lastPosition(account)}, null, null where exists (${activeReceiver(account)})`,
      )
      .onConflictDoNothing(),
  ];
}

/**
 * Returns the statement that closes the feed of an account without an active receiver. Entries and
 * files then leave nothing to deliver. It must run after the statement that disables or deletes the
 * receiver.
 */
export function closeFeed(write: Pick<InternalWriter, 'delete'>, account: number): Statement {
  return write
    .delete(eventFeeds)
    .where(and(eq(eventFeeds.account, account), sql`not exists (${activeReceiver(account)})`));
}

function activeReceiver(account: number): SQL {
  return sql`select 1 from ${receivers} where ${receivers.account} = ${account} and ${receivers.isActive} = 1`;
}
