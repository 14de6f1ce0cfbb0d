import { and, eq, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import { agents, auditEntries, DELIVERY_STATUSES, deliveries, webhooks } from '../../db/schema';
import type { AccountRef, RequestContext } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { choice } from '../../http/fields';
import { countField, idField, integerField, timeField } from '../../http/response-fields';
import { lazy } from '../../lib/lazy';
import { retentionDays } from '../../lib/plans';
import { DAY, formatTime, formatTimeOrNull } from '../../lib/time';
import { parseId } from '../../lib/typeid';
import { writeEntryPayload } from '../payload';
import { isWebhook, WebhookEvent } from '../webhook';

export const DeliveryStatus = lazy(() => choice(DELIVERY_STATUSES).meta({ id: 'DeliveryStatus' }));

export const exampleDelivery = {
  id: exampleId('dlv'),
  webhook_id: exampleId('webhook'),
  event: 'audit.created',
  status: 'pending',
  attempts: 1,
  next_attempt_at: EXAMPLE.laterTime,
  last_status_code: 503,
  last_error: 'The answer was 503.',
  created_at: EXAMPLE.time,
  completed_at: null,
};

/** A delivery as lists show it. */
export const Delivery = lazy(() =>
  z
    .object({
      id: idField('dlv'),
      webhook_id: idField('webhook'),
      event: WebhookEvent(),
      status: DeliveryStatus(),
      attempts: countField.meta({ description: 'How often it was sent so far.' }),
      next_attempt_at: timeField.nullable().meta({ description: 'When it is sent next; null where it is not.' }),
      last_status_code: integerField.nullable().meta({ description: 'What the last attempt was answered.' }),
      last_error: z.string().nullable().meta({ description: 'Why the last attempt failed, in plain words.' }),
      created_at: timeField,
      completed_at: timeField.nullable().meta({ description: 'When it succeeded, or was given up.' }),
    })
    .meta({ id: 'Delivery', description: 'One event on its way to one webhook.', examples: [exampleDelivery] }),
);

export type Delivery = z.output<ReturnType<typeof Delivery>>;

type DeliveryRow = typeof deliveries.$inferSelect;

/** A delivery's row with its webhook and the entry that it tells of, as far as there is one to be shown. */
export type FoundDelivery = NonNullable<ReturnType<typeof findDelivery>>['_']['result'][number];

/** The columns of a delivery, and the generation that its webhook has come to. */
export const deliveryColumns = {
  webhook: deliveries.webhook,
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
  isVoid: sql<number>`${deliveries.status} = 0 and ${deliveries.generation} < ${webhooks.generation}`.as('is_void'),
};

/** Leaves out what tells of a deleted agent: it waits for its erasure, and is not shown. */
export const isShown = sql`(${deliveries.agent} is null or ${agents.number} is not null)`;

export const CANCELED_ERROR = 'The webhook was switched off before it was sent.';

/** Finds a delivery of a webhook of an account, with what it tells of. */
export function findDelivery(reader: Reader, account: number | SQL<number>, webhook: string, delivery: string) {
  const [webhookId, id] = [parseId('webhook', webhook), parseId('dlv', delivery)];
  if (!webhookId || !id) return null;
  return reader
    .select({
      ...deliveryColumns,
      original: deliveries.original,
      pos: aliased(deliveries.pos, 'delivery_pos'),
      agent: aliased(deliveries.agent, 'delivery_agent'),
      payload: deliveries.payload,
      webhookId: aliased(webhooks.id, 'webhook_id'),
      isActive: webhooks.isActive,
      isSlow: webhooks.isSlow,
      entryId: aliased(auditEntries.id, 'entry_id'),
      entryEvent: aliased(auditEntries.event, 'entry_event'),
      entryCreatedAt: aliased(auditEntries.createdAt, 'entry_created_at'),
      permission: auditEntries.permission,
      details: auditEntries.details,
      agentId: aliased(agents.id, 'agent_id'),
    })
    .from(webhooks)
    .innerJoin(deliveries, and(eq(deliveries.webhook, webhooks.number), eq(deliveries.id, id)))
    .leftJoin(agents, eq(agents.number, deliveries.agent))
    .leftJoin(auditEntries, eq(auditEntries.pos, deliveries.pos))
    .where(and(isWebhook(account, webhookId), isShown));
}

/** A preload of the delivery that the path names. */
export async function deliveryOfPath(c: RequestContext, reader: Reader, owner: SQL<number>) {
  const query = findDelivery(reader, owner, c.req.param('id') ?? '', c.req.param('delivery_id') ?? '');
  return query && { query };
}

type ShownDelivery = Pick<
  DeliveryRow,
  'id' | 'event' | 'status' | 'attempts' | 'dueAt' | 'lastStatusCode' | 'lastError' | 'createdAt' | 'completedAt'
> & { isVoid: number };

/** A delivery as it is: what waited for a webhook that was switched off has failed, whether or not its row says so yet. */
export function presentDelivery(webhook: Delivery['webhook_id'], row: ShownDelivery): Delivery {
  const isVoid = row.isVoid === 1;
  return {
    id: row.id,
    webhook_id: webhook,
    event: row.event,
    status: isVoid ? 'failed' : row.status,
    attempts: row.attempts,
    next_attempt_at: isVoid ? null : formatTimeOrNull(row.dueAt),
    last_status_code: row.lastStatusCode,
    last_error: isVoid ? CANCELED_ERROR : row.lastError,
    created_at: formatTime(row.createdAt),
    completed_at: formatTimeOrNull(row.completedAt),
  };
}

/** What a delivery sends; null when the entry that it tells of is not kept any more. */
export function payloadOf(row: FoundDelivery, account: AccountRef, now: number): string | null {
  if (row.payload !== null) return row.payload;
  const { entryId, entryEvent, entryCreatedAt, permission, details, agentId } = row;
  if (!entryId || !entryEvent || entryCreatedAt === null || !permission || !details || !agentId) return null;
  if (entryCreatedAt < now - retentionDays(account) * DAY) return null;
  return writeEntryPayload({ id: entryId, event: entryEvent, createdAt: entryCreatedAt, permission, details, agentId });
}
