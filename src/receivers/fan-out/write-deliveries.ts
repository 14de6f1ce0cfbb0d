import { and, eq, sql } from 'drizzle-orm';
import { numberList } from '../../db/columns';
import {
  auditEntries,
  deliveries,
  eventFeeds,
  FILE_KINDS,
  fileResults,
  heldMessages,
  permissionEvents,
  receivers,
} from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';
import type { InternalWriter } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import { idBytes } from '../../lib/typeid';
import { hasPendingEvent } from '../../outbox/feed';
import type { DispatchContext } from '../context';
import { markDue } from '../deliveries/pending';
import type { PendingEvents } from './pending-events';
import { completeWaiting, selectEvents, selectHeld } from './permission-event-rows';
import type { PermissionEvent } from './permission-events';
import type { NotificationPlan } from './plan';
import { type DeliveryDraft, rowsOfDrafts, selectDrafts } from './select-drafts';

/**
 * How many rows one parameter of a statement holds: D1 takes 2 MB in one, and a row without a
 * payload has some 250 bytes.
 */
const ROWS_PER_STATEMENT = 4_000;

/** The same for rows about a stop. These are larger: a reason takes up to 4 KB. */
const ACCOUNT_ROWS_PER_STATEMENT = 200;

/** The deliveries and events that a slice writes. */
export interface SliceDraft {
  deliveries: readonly DeliveryDraft[];
  /** The events of permissions that have deliveries, held messages or reminders. */
  events: readonly PermissionEvent[];
  held: NotificationPlan['held'];
  reminders: NotificationPlan['reminders'];
  /** The events among `waitingEvents` that are handled. */
  waiting: PendingEvents['waitingEvents'];
  /** The position of the last entry that is handled. */
  position: number;
}

/**
 * Writes the deliveries and what belongs to them, deletes what is handled, and advances the feed.
 * @returns whether there are more events; false if another worker has advanced the feed
 */
export async function writeDeliveries(
  { ledger, runtime }: DispatchContext,
  account: number,
  { position: before, finishedFiles, disabledWebhooks, accountEvents }: PendingEvents,
  { deliveries: drafts, events, held, reminders, waiting, position }: SliceDraft,
): Promise<boolean> {
  const now = runtime.now();
  const numbers = JSON.stringify([...new Set(drafts.map(({ receiver }) => receiver))]);
  const handled = JSON.stringify(
    finishedFiles.map(({ kind, id }) => [FILE_KINDS.indexOf(kind), toHex(idBytes(id))]),
  );
  const hasMore = sql`exists (
      select 1 from ${auditEntries}
      where ${auditEntries.pos} > ${position} and ${auditEntries.pos} < ${(account + 1) * LOG_SPAN}
    ) or exists (select 1 from ${fileResults} where ${fileResults.account} = ${account})
    or ${hasPendingEvent(account)} or ${eventFeeds.accountEvents} is not null
    or exists (
      select 1 from ${receivers} where ${receivers.account} = ${account} and ${receivers.isNoticeDue}
    )`;
  const reported = numberList(disabledWebhooks.map(({ number }) => number));
  const isOfAccount = ({ about }: DeliveryDraft) => about === 'account';
  const rows = [
    ...divide(rowsOfDrafts(runtime, drafts.filter(isOfAccount)), ACCOUNT_ROWS_PER_STATEMENT),
    ...divide(
      rowsOfDrafts(
        runtime,
        drafts.filter((draft) => !isOfAccount(draft)),
      ),
    ),
  ];
  const results = await ledger.write({
    changes: (write) => [
      markDue(write, sql`${receivers.number} in (select value from json_each(${numbers}))`, now),
      ...rows.map((each) =>
        write.insert(deliveries).select(selectDrafts(account, before, now, each)),
      ),
      ...divide(held).map((each) =>
        write
          .insert(heldMessages)
          .select(selectHeld(account, before, each))
          .onConflictDoNothing(),
      ),
      ...(events.length > 0
        ? [
            write
              .insert(permissionEvents)
              .select(selectEvents(account, before, events, reminders))
              .onConflictDoNothing(),
          ]
        : []),
      ...(waiting.length > 0 ? [completeWaiting(write, account, waiting, events)] : []),
      ...(disabledWebhooks.length > 0
        ? [
            write
              .update(receivers)
              .set({ isNoticeDue: false })
              .where(sql`${receivers.number} in ${reported}`),
          ]
        : []),
      ...(accountEvents.length > 0 ? [completeAccountEvents(write, account, accountEvents)] : []),
      write.delete(fileResults).where(
        sql`(${fileResults.account}, ${fileResults.kind}, ${fileResults.id}) in (
            select ${account}, value ->> 0, unhex(value ->> 1) from json_each(${handled})
          )`,
      ),
      write
        .update(eventFeeds)
        .set({ position, dueAt: sql`iif(${hasMore}, ${now}, null)` })
        .where(and(eq(eventFeeds.account, account), eq(eventFeeds.position, before)))
        .returning({ dueAt: eventFeeds.dueAt }),
    ],
  });
  const [feed] = results.at(-1) as unknown as { dueAt: number | null }[];
  return feed !== undefined && feed.dueAt !== null;
}

/** Divides rows into those of one statement each. */
function divide<T>(rows: readonly T[], size = ROWS_PER_STATEMENT): T[][] {
  const count = Math.ceil(rows.length / size);
  return Array.from({ length: count }, (_, i) => rows.slice(i * size, (i + 1) * size));
}

/** Builds the statement that removes stops and resumes of the account that have deliveries now. */
function completeAccountEvents(
  write: Pick<InternalWriter, 'update'>,
  account: number,
  handled: PendingEvents['accountEvents'],
) {
  const ids = JSON.stringify(handled.map(({ id }) => id));
  return write
    .update(eventFeeds)
    .set({
      accountEvents: sql`(
        select nullif(json_group_array(json(waiting.value)), '[]')
        from json_each(${eventFeeds.accountEvents}) as waiting
        where waiting.value ->> 'id' not in (select done.value from json_each(${ids}) as done)
      )`,
    })
    .where(eq(eventFeeds.account, account));
}
