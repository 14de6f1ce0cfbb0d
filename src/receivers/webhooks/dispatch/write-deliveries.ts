import { and, eq, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import { numberList } from '../../../db/columns';
import {
  agents,
  auditEntries,
  DELIVERY_EVENTS,
  type DeliveryEvent,
  deliveries,
  FILE_KINDS,
  type FileKind,
  fileOutcomes,
  heldMessages,
  permissionEvents,
  permissions,
  webhookFeeds,
  webhooks,
} from '../../../db/schema';
import type { Runtime } from '../../../env';
import { LOG_SPAN } from '../../../ledger/append';
import type { InternalWriter } from '../../../ledger/ledger';
import { toHex } from '../../../lib/bytes';
import { type Id, idBytes, makeId } from '../../../lib/typeid';
import { hasPendingEvent } from '../../../outbox/feed';
import { markDue, newDeliveryColumns } from '../deliveries/pending';
import type {
  FanOutContext,
  PermissionEvent,
  PlannedNotifications,
  Recipient,
} from './fan-out-context';
import type { PendingEvents } from './pending-events';

/**
 * How many rows one parameter of a statement holds: D1 takes 2 MB in one, and a row without a
 * payload has some 250 bytes.
 */
const ROWS_PER_STATEMENT = 4_000;
/** The same for rows about a stop. These are larger: a reason takes up to 4 KB. */
const ACCOUNT_ROWS_PER_STATEMENT = 200;

/** A delivery to create, and what it is about: see {@link selectDrafts}. */
export type DeliveryDraft = { webhook: number; event: DeliveryEvent } & (
  | { about: 'entry'; pos: number; agent: number }
  | { about: 'file'; kind: FileKind; file: Id<'export'>; payload: string }
  | ({ about: 'permission'; source: PermissionEvent } & Partial<Recipient>)
  | ({ about: 'webhook'; disabled: number; payload: string } & Recipient)
  | ({ about: 'account'; source: Id<'act'>; payload: string } & Partial<Recipient>)
);

/** The deliveries and events that a slice writes. */
export interface SliceDraft {
  deliveries: readonly DeliveryDraft[];
  /** The events of permissions that have deliveries, held messages or reminders. */
  events: readonly PermissionEvent[];
  held: PlannedNotifications['held'];
  reminders: PlannedNotifications['reminders'];
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
  { ledger, runtime }: FanOutContext,
  account: number,
  { position: before, outcomes, disabledWebhooks, accountEvents }: PendingEvents,
  { deliveries: drafts, events, held, reminders, waiting, position }: SliceDraft,
): Promise<boolean> {
  const now = runtime.now();
  const numbers = JSON.stringify([...new Set(drafts.map(({ webhook }) => webhook))]);
  const handled = JSON.stringify(
    outcomes.map(({ kind, id }) => [FILE_KINDS.indexOf(kind), toHex(idBytes(id))]),
  );
  const hasMore = sql`exists (
      select 1 from ${auditEntries}
      where ${auditEntries.pos} > ${position} and ${auditEntries.pos} < ${(account + 1) * LOG_SPAN}
    ) or exists (select 1 from ${fileOutcomes} where ${fileOutcomes.account} = ${account})
    or ${hasPendingEvent(account)} or ${webhookFeeds.accountEvents} is not null
    or exists (
      select 1 from ${webhooks} where ${webhooks.account} = ${account} and ${webhooks.isNoticeDue}
    )`;
  const reported = numberList(disabledWebhooks.map(({ number }) => number));
  const isOfAccount = ({ about }: DeliveryDraft) => about === 'account';
  const rows = [
    ...divide(draftRows(runtime, drafts.filter(isOfAccount)), ACCOUNT_ROWS_PER_STATEMENT),
    ...divide(
      draftRows(
        runtime,
        drafts.filter((draft) => !isOfAccount(draft)),
      ),
    ),
  ];
  const results = await ledger.write({
    changes: (write) => [
      markDue(write, sql`${webhooks.number} in (select value from json_each(${numbers}))`, now),
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
              .update(webhooks)
              .set({ isNoticeDue: false })
              .where(sql`${webhooks.number} in ${reported}`),
          ]
        : []),
      ...(accountEvents.length > 0 ? [completeAccountEvents(write, account, accountEvents)] : []),
      write.delete(fileOutcomes).where(
        sql`(${fileOutcomes.account}, ${fileOutcomes.kind}, ${fileOutcomes.id}) in (
            select ${account}, value ->> 0, unhex(value ->> 1) from json_each(${handled})
          )`,
      ),
      write
        .update(webhookFeeds)
        .set({ position, dueAt: sql`iif(${hasMore}, ${now}, null)` })
        .where(and(eq(webhookFeeds.account, account), eq(webhookFeeds.position, before)))
        .returning({ dueAt: webhookFeeds.dueAt }),
    ],
  });
  const [feed] = results.at(-1) as unknown as { dueAt: number | null }[];
  return feed !== undefined && feed.dueAt !== null;
}

/** Whether no other worker has advanced the account's feed, as SQL. */
function isFeedAt(account: number, position: number): SQL {
  return sql`exists (
    select 1 from ${webhookFeeds}
    where ${webhookFeeds.account} = ${account} and ${webhookFeeds.position} = ${position}
  )`;
}

/**
 * Whether the event in the row `value` still waits for its deliveries, as SQL: see
 * {@link sourceFields}.
 */
function isUnhandled(account: number, position: number): SQL {
  return sql`iif(value ->> 'sourcePos' is null,
    exists (
      select 1 from ${permissionEvents}
      where ${permissionEvents.account} = ${account}
        and ${permissionEvents.permission} = unhex(value ->> 'permission')
        and ${permissionEvents.event} = value ->> 'event' and ${permissionEvents.isPending}
        and ${permissionEvents.reminders} = value ->> 'reminder'
    ),
    ${isFeedAt(account, position)}
  )`;
}

/** The fields of a JSON row that say of which event of a permission it is. */
function sourceFields({ event, pos, reminder, permission }: PermissionEvent) {
  return {
    event: DELIVERY_EVENTS.indexOf(event),
    permission: toHex(idBytes(permission.row.id)),
    agent: permission.row.agent,
    sourcePos: pos,
    reminder,
  };
}

/** The drafts as JSON rows, each with the id of its delivery. */
function draftRows(runtime: Runtime, drafts: readonly DeliveryDraft[]) {
  const now = runtime.now();
  // Sorted, so that deliveries of one slice are listed in the order of their events.
  const ids = drafts.map(() => toHex(idBytes(makeId('dlv', now, runtime.random(10))))).sort();
  return drafts.map((draft, i) => ({
    webhook: draft.webhook,
    id: ids[i],
    about: draft.about,
    event: DELIVERY_EVENTS.indexOf(draft.event),
    ...fieldsOf(draft),
  }));
}

/** Divides rows into those of one statement each. */
function divide<T>(rows: readonly T[], size = ROWS_PER_STATEMENT): T[][] {
  const count = Math.ceil(rows.length / size);
  return Array.from({ length: count }, (_, i) => rows.slice(i * size, (i + 1) * size));
}

const disabled = alias(webhooks, 'disabled');

/**
 * Selects drafts as rows of the table of deliveries. Leaves out the drafts of events that another
 * worker has handled, drafts of events before the start of their webhook, and those whose webhook
 * was disabled or whose agent was deleted meanwhile.
 */
function selectDrafts(
  account: number,
  position: number,
  now: number,
  rows: ReturnType<typeof draftRows>,
): SQL {
  const hasAgent = sql`exists (select 1 from ${agents} where ${agents.number} = value ->> 'agent')`;
  const columns = {
    webhook: sql`${webhooks.number}`,
    id: sql`unhex(value ->> 'id')`,
    disableCount: sql`${webhooks.disableCount}`,
    event: sql`value ->> 'event'`,
    pos: sql`value ->> 'pos'`,
    agent: sql`value ->> 'agent'`,
    payload: sql`value ->> 'payload'`,
    permission: sql`unhex(value ->> 'permission')`,
    reminder: sql`nullif(value ->> 'reminder', 0)`,
    member: sql`unhex(value ->> 'member')`,
    slackChannel: sql`value ->> 'slackChannel'`,
  };
  return sql`
    select ${newDeliveryColumns(columns, now)}
    from json_each(${JSON.stringify(rows)})
    cross join ${webhooks}
    where ${webhooks.number} = value ->> 'webhook' and ${webhooks.account} = ${account}
      and ${webhooks.isActive} = 1
      and case value ->> 'about'
        when 'entry' then value ->> 'pos' > ${webhooks.startsAfter}
          and ${hasAgent} and ${isFeedAt(account, position)}
        when 'file' then exists (
          select 1 from ${fileOutcomes}
          where ${fileOutcomes.account} = ${account} and ${fileOutcomes.kind} = value ->> 'kind'
            and ${fileOutcomes.id} = unhex(value ->> 'file')
            and ${fileOutcomes.ordinal} > ${webhooks.startsAfterOutcome}
        )
        when 'permission' then ${hasAgent} and ${isUnhandled(account, position)}
          and coalesce(value ->> 'sourcePos' > ${webhooks.startsAfter}, 1)
        when 'webhook' then exists (
          select 1 from ${webhooks} as ${disabled}
          where ${disabled.number} = value ->> 'disabled' and ${disabled.isNoticeDue}
        )
        when 'account' then exists (
          select 1 from ${webhookFeeds} as feed, json_each(feed.account_events) as waiting
          where feed.account = ${account} and waiting.value ->> 'id' = json_each.value ->> 'source'
        )
      end`;
}

/** The fields of a draft's JSON row that depend on what it is about. */
function fieldsOf(draft: DeliveryDraft) {
  switch (draft.about) {
    case 'entry':
      return { pos: draft.pos, agent: draft.agent };
    case 'file':
      return {
        payload: draft.payload,
        kind: FILE_KINDS.indexOf(draft.kind),
        file: toHex(idBytes(draft.file)),
      };
    case 'permission':
      return { ...sourceFields(draft.source), ...recipientFields(draft) };
    case 'webhook':
      return { payload: draft.payload, disabled: draft.disabled, ...recipientFields(draft) };
    case 'account':
      return { payload: draft.payload, source: draft.source, ...recipientFields(draft) };
  }
}

function recipientFields({ member, slackChannel }: Partial<Recipient>) {
  return { member: member && toHex(idBytes(member)), slackChannel };
}

/** Selects messages as rows of the table of held messages, in the order of its columns. */
function selectHeld(account: number, position: number, held: PlannedNotifications['held']): SQL {
  const rows = held.map(({ channel, member, source, dueAt }) => ({
    ...sourceFields(source),
    channel,
    member: toHex(idBytes(member)),
    dueAt,
  }));
  return sql`
    select ${account}, value ->> 'channel', unhex(value ->> 'member'), unhex(value ->> 'permission'), value ->> 'event',
      value ->> 'reminder', value ->> 'dueAt'
    from json_each(${JSON.stringify(rows)}) where ${isUnhandled(account, position)}`;
}

/**
 * Selects the events of entries as rows of the table of events of permissions, in the order of its
 * columns.
 */
function selectEvents(
  account: number,
  position: number,
  events: readonly PermissionEvent[],
  reminders: PlannedNotifications['reminders'],
): SQL {
  const rows = events
    .filter(({ pos }) => pos !== null)
    .map(({ event, at, payload, permission: { row, names } }) => ({
      event: DELIVERY_EVENTS.indexOf(event),
      permission: toHex(idBytes(row.id)),
      payload,
      names: JSON.stringify(names),
      remindAt: event === 'permission.requested' ? (reminders.get(row.id) ?? null) : null,
      at,
    }));
  return sql`
    select ${account}, unhex(value ->> 'permission'), value ->> 'event', value ->> 'payload', value ->> 'names', 0, 0,
      value ->> 'remindAt', value ->> 'at'
    from json_each(${JSON.stringify(rows)})
    where ${isFeedAt(account, position)}
      and exists (
        select 1 from ${permissions}
        where ${permissions.account} = ${account} and ${permissions.id} = unhex(value ->> 'permission')
      )`;
}

/**
 * Builds the statement that completes events that waited: an escalation gets its payload. The
 * account's number comes from the JSON rows: as a parameter it would make SQLite read every event
 * of the account.
 */
function completeWaiting(
  write: Pick<InternalWriter, 'update'>,
  account: number,
  waiting: PendingEvents['waitingEvents'],
  events: readonly PermissionEvent[],
) {
  const rows = waiting.map(({ permission, event, reminders }) => {
    const found = events.find(
      (each) => each.pos === null && each.permission.row.id === permission && each.event === event,
    );
    return {
      account,
      permission: toHex(idBytes(permission)),
      event: DELIVERY_EVENTS.indexOf(event),
      reminders,
      payload: found?.payload,
      names: found && JSON.stringify(found.permission.names),
    };
  });
  const value = (field: string): SQL => sql`done.value ->> ${sql.raw(`'${field}'`)}`;
  return write
    .update(permissionEvents)
    .set({
      isPending: false,
      payload: sql`coalesce(${permissionEvents.payload}, ${value('payload')})`,
      names: sql`coalesce(${permissionEvents.names}, ${value('names')})`,
    })
    .from(sql`json_each(${JSON.stringify(rows)}) as done`)
    .where(
      and(
        eq(permissionEvents.account, value('account')),
        eq(permissionEvents.permission, sql`unhex(${value('permission')})`),
        eq(permissionEvents.event, value('event')),
        eq(permissionEvents.reminders, value('reminders')),
      ),
    );
}

/** Builds the statement that removes stops and resumes of the account that have deliveries now. */
function completeAccountEvents(
  write: Pick<InternalWriter, 'update'>,
  account: number,
  handled: PendingEvents['accountEvents'],
) {
  const ids = JSON.stringify(handled.map(({ id }) => id));
  return write
    .update(webhookFeeds)
    .set({
      accountEvents: sql`(
        select nullif(json_group_array(json(waiting.value)), '[]')
        from json_each(${webhookFeeds.accountEvents}) as waiting
        where waiting.value ->> 'id' not in (select done.value from json_each(${ids}) as done)
      )`,
    })
    .where(eq(webhookFeeds.account, account));
}
