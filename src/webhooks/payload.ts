import { aliased } from '../db/columns';
import { agents, auditEntries, deliveries, type EventType, type WebhookEvent } from '../db/schema';
import type { Json, JsonObject } from '../lib/json';
import { retentionDays } from '../lib/plans';
import { DAY, formatTime } from '../lib/time';
import type { Id } from '../lib/typeid';

/**
 * The columns of a delivery, its audit entry and its agent from which {@link payloadOf} writes the payload, except the
 * entry's `details`: each query selects these in the form that it needs.
 */
export const payloadColumns = {
  payload: deliveries.payload,
  entryId: aliased(auditEntries.id, 'entry_id'),
  entryEvent: aliased(auditEntries.event, 'entry_event'),
  entryCreatedAt: aliased(auditEntries.createdAt, 'entry_created_at'),
  permission: auditEntries.permission,
  agentId: aliased(agents.id, 'agent_id'),
};

interface PayloadRow {
  payload: string | null;
  entryId: Id<'audit'> | null;
  entryEvent: EventType | null;
  entryCreatedAt: number | null;
  permission: Id<'perm'> | null;
  details: JsonObject | null;
  agentId: Id<'agent'> | null;
}

/** Writes the payload of an event, always with the same bytes, which are signed. */
export function writePayload(event: WebhookEvent, at: number, data: Json | object): string {
  return JSON.stringify({ event, timestamp: formatTime(at), data });
}

/**
 * The payload of a delivery; null if its audit entry or its agent is erased, or the entry is older than the account's
 * retention. The payload of an audit entry is not stored, because entries never change.
 */
export function payloadOf(row: PayloadRow, account: Parameters<typeof retentionDays>[0], now: number): string | null {
  if (row.payload !== null) return row.payload;
  const { entryId, entryEvent, entryCreatedAt, permission, details, agentId } = row;
  if (!entryId || !entryEvent || entryCreatedAt === null || !permission || !details || !agentId) return null;
  if (entryCreatedAt < now - retentionDays(account) * DAY) return null;
  return writePayload('audit.created', entryCreatedAt, {
    id: entryId,
    event_type: entryEvent,
    agent_id: agentId,
    permission_request_id: permission,
    details,
  });
}
