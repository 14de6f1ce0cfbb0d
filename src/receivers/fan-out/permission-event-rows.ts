import { and, eq, type SQL, sql } from 'drizzle-orm';
import { DELIVERY_EVENTS, eventFeeds, permissionEvents, permissions } from '../../db/schema';
import type { InternalWriter } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import { idBytes } from '../../lib/typeid';
import type { PendingEvents } from './pending-events';
import type { PermissionEvent } from './permission-events';
import type { NotificationPlan } from './plan';

/** Whether no other worker has advanced the account's feed, as SQL. */
export function isFeedAt(account: number, position: number): SQL {
  return sql`exists (
    select 1 from ${eventFeeds}
    where ${eventFeeds.account} = ${account} and ${eventFeeds.position} = ${position}
  )`;
}

/**
 * Whether the event in the row `value` still waits for its deliveries, as SQL: see
 * {@link sourceFields}.
 */
export function isUnhandled(account: number, position: number): SQL {
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

/** The fields of a JSON row that name the event and its permission. */
export function sourceFields({ event, pos, reminder, permission }: PermissionEvent) {
  return {
    event: DELIVERY_EVENTS.indexOf(event),
    permission: toHex(idBytes(permission.row.id)),
    agent: permission.row.agent,
    sourcePos: pos,
    reminder,
  };
}

/** Selects messages as rows of the table of held messages, in the order of its columns. */
export function selectHeld(account: number, position: number, held: NotificationPlan['held']): SQL {
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
export function selectEvents(
  account: number,
  position: number,
  events: readonly PermissionEvent[],
  reminders: NotificationPlan['reminders'],
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
export function completeWaiting(
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
