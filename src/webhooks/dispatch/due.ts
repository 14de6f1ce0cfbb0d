import { and, eq, type SQL, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import { agents, auditEntries, deliveries } from '../../db/schema';
import type { JsonObject } from '../../lib/json';
import { logFailure } from '../../lib/log';
import { FRESH, matchesWebhook, RETRIED_BY_TIME } from '../deliveries/waiting';
import { writeEntryPayload } from '../payload';

/** A delivery that is due, with what it tells of. */
export type DueDelivery = ReturnType<typeof findDue>['_']['result'][number];

/** Finds the deliveries of a webhook that are due, those that have waited longest first. */
export function findDue(reader: Reader, webhook: number, now: number, limit: number | SQL) {
  // What was never tried is due since the time in its identifier (RFC 9562 section 5.7): the index alone tells it.
  const due = sql`(
    select * from (
      select webhook, id, substr(id, 1, 6) as since from ${FRESH} ${matchesWebhook(webhook)} order by id limit ${limit}
    ) union all select * from (
      select webhook, id, unhex(printf('%012x', due_at)) from ${RETRIED_BY_TIME} ${matchesWebhook(webhook)}
        and due_at <= ${now} order by due_at limit ${limit}
    ) order by since limit ${limit}
  ) as due`;
  return reader
    .select({
      id: aliased(deliveries.id, 'delivery_id'),
      original: deliveries.original,
      payload: deliveries.payload,
      attempts: deliveries.attempts,
      failures: deliveries.failures,
      entryId: aliased(auditEntries.id, 'entry_id'),
      entryEvent: aliased(auditEntries.event, 'entry_event'),
      entryCreatedAt: aliased(auditEntries.createdAt, 'entry_created_at'),
      permission: auditEntries.permission,
      // Read as text: an entry that is damaged must not keep the others from their turn.
      details: sql<string | null>`${auditEntries.details}`.as('details_text'),
      agentId: aliased(agents.id, 'agent_id'),
    })
    .from(due)
    .crossJoin(deliveries)
    .leftJoin(auditEntries, eq(auditEntries.pos, deliveries.pos))
    .leftJoin(agents, eq(agents.number, deliveries.agent))
    .where(and(sql`${deliveries.webhook} = due.webhook`, sql`${deliveries.id} = due.id`));
}

/** The `webhook-id` that a delivery is sent with: that of the first delivery of the event. */
export function messageId({ id, original }: Pick<DueDelivery, 'id' | 'original'>): string {
  return original ?? id;
}

/**
 * The message of a delivery; null when the entry that it tells of is not kept any more, or cannot be read.
 * @param keptFrom the oldest time whose entries the account's plan keeps
 */
export function messageOf(row: DueDelivery, keptFrom: number): string | null {
  if (row.payload !== null) return row.payload;
  const { entryId, entryEvent, entryCreatedAt, permission, details, agentId } = row;
  if (!entryId || !entryEvent || entryCreatedAt === null || !permission || details === null || !agentId) return null;
  if (entryCreatedAt < keptFrom) return null;
  try {
    const entry = { id: entryId, event: entryEvent, createdAt: entryCreatedAt, permission, agentId };
    return writeEntryPayload({ ...entry, details: JSON.parse(details) as JsonObject });
  } catch {
    // The message of the error would quote the entry.
    logFailure('entry_unreadable', 'what is stored of it cannot be read', { entry: entryId });
    return null;
  }
}
