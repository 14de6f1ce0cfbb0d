import { and, eq, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import {
  agents,
  auditEntries,
  DELIVERY_EVENTS,
  DELIVERY_STATUSES,
  deliveries,
  permissionEvents,
  receivers,
} from '../../db/schema';
import { choice } from '../../http/fields';
import { countField, integerField, timeField } from '../../http/response-fields';
import { lazy } from '../../lib/lazy';
import { formatTime, formatTimeOrNull } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { isEventOfDelivery, payloadColumns } from './payload';

const DeliveryEvent = lazy(() =>
  choice(DELIVERY_EVENTS).meta({ id: 'DeliveryEvent', description: 'What a delivery is about.' }),
);

export const DeliveryStatus = lazy(() => choice(DELIVERY_STATUSES).meta({ id: 'DeliveryStatus' }));

export type DeliveryStatus = z.output<ReturnType<typeof DeliveryStatus>>;

/** The fields that deliveries to webhooks and by channels share. */
export const deliveryFields = lazy(() => ({
  event: DeliveryEvent(),
  status: DeliveryStatus(),
  attempts: countField.meta({ description: 'The number of attempts so far.' }),
  next_attempt_at: timeField
    .nullable()
    .meta({ description: 'When the next attempt is due; null if there is none.' }),
  last_status_code: integerField
    .nullable()
    .meta({ description: 'The status of the answer to the last attempt.' }),
  last_error: z
    .string()
    .nullable()
    .meta({ description: 'Why the last attempt failed, in plain words.' }),
  created_at: timeField,
  completed_at: timeField.nullable().meta({ description: 'When it succeeded or finally failed.' }),
}));

/**
 * A delivery with its receiver, and with its audit entry or its event of a permission.
 */
export type FoundDelivery = ReturnType<typeof findDelivery>['_']['result'][number];

/**
 * The columns of a delivery, and whether it is canceled: it was pending when its receiver was
 * disabled, and a worker has not recorded it as failed yet.
 */
export const deliveryColumns = {
  receiver: deliveries.receiver,
  id: aliased(deliveries.id, 'delivery_id'),
  event: aliased(deliveries.event, 'delivery_event'),
  status: deliveries.status,
  attempts: deliveries.attempts,
  dueAt: aliased(deliveries.dueAt, 'delivery_due_at'),
  lastStatusCode: deliveries.lastStatusCode,
  lastError: deliveries.lastError,
  duration: deliveries.duration,
  failures: deliveries.failures,
  createdAt: aliased(deliveries.createdAt, 'delivery_created_at'),
  completedAt: deliveries.completedAt,
  aboutPermission: aliased(deliveries.permission, 'delivery_permission'),
  reminder: deliveries.reminder,
  member: aliased(deliveries.member, 'delivery_member'),
  slackChannel: deliveries.slackChannel,
  isCanceled:
    sql<number>`${deliveries.status} = 0 and ${deliveries.disableCount} < ${receivers.disableCount}`.as(
      'is_canceled',
    ),
};

/**
 * The condition that leaves out deliveries of deleted agents that are not erased yet. Needs
 * `agents` to be joined.
 */
export const agentExists = sql`(${deliveries.agent} is null or ${agents.number} is not null)`;

/** The error of a delivery that was pending when its receiver was disabled. */
export const CANCELED_ERROR = 'The webhook or channel was disabled before this delivery was sent.';

/**
 * Makes the query of a delivery of one receiver, with its audit entry or its event of a
 * permission.
 */
export function findDelivery(reader: Reader, isReceiver: SQL | undefined, id: Id<'dlv'>) {
  return reader
    .select({
      ...deliveryColumns,
      original: deliveries.original,
      pos: aliased(deliveries.pos, 'delivery_pos'),
      agent: aliased(deliveries.agent, 'delivery_agent'),
      ...payloadColumns,
      receiverId: aliased(receivers.id, 'receiver_id'),
    })
    .from(receivers)
    .innerJoin(deliveries, and(eq(deliveries.receiver, receivers.number), eq(deliveries.id, id)))
    .leftJoin(agents, eq(agents.number, deliveries.agent))
    .leftJoin(auditEntries, eq(auditEntries.pos, deliveries.pos))
    .leftJoin(permissionEvents, isEventOfDelivery(sql<number>`${receivers.account}`))
    .where(and(isReceiver, agentExists));
}

export type ShownDelivery = Pick<
  typeof deliveries.$inferSelect,
  | 'id'
  | 'event'
  | 'status'
  | 'attempts'
  | 'dueAt'
  | 'lastStatusCode'
  | 'lastError'
  | 'createdAt'
  | 'completedAt'
> & { isCanceled: number };

/**
 * Presents {@link deliveryFields}. A canceled delivery is shown as failed, even before a worker has
 * recorded that.
 */
export function presentProgress(row: ShownDelivery) {
  const isCanceled = row.isCanceled === 1;
  return {
    event: row.event,
    status: isCanceled ? ('failed' as const) : row.status,
    attempts: row.attempts,
    next_attempt_at: isCanceled ? null : formatTimeOrNull(row.dueAt),
    last_status_code: row.lastStatusCode,
    last_error: isCanceled ? CANCELED_ERROR : row.lastError,
    created_at: formatTime(row.createdAt),
    completed_at: formatTimeOrNull(row.completedAt),
  };
}
