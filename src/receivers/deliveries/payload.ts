import { and, eq, type SQL, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import {
  agents,
  auditEntries,
  type DeliveryEvent,
  deliveries,
  type EventType,
  permissionEvents,
} from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';
import { entryId } from '../../ledger/entry-id';
import { readDetails } from '../../ledger/stored-details';
import type { Json } from '../../lib/json';
import { retentionDays } from '../../lib/plans';
import { DAY, formatTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';

/**
 * The columns of a delivery, its audit entry, its event of a permission and its agent from which
 * {@link payloadOf} writes the payload.
 */
export const payloadColumns = {
  payload: deliveries.payload,
  // The event of a deleted agent is kept until a cron task has erased it, and shown to nobody.
  eventPayload: sql<
    string | null
  >`iif(${agents.number} is null, null, ${permissionEvents.payload})`.as('event_payload'),
  entryPosition: aliased(auditEntries.pos, 'entry_pos'),
  entryRandom: aliased(auditEntries.random, 'entry_random'),
  entryEvent: aliased(auditEntries.event, 'entry_event'),
  entryAction: aliased(auditEntries.action, 'entry_action'),
  entryCreatedAt: aliased(auditEntries.createdAt, 'entry_created_at'),
  permission: auditEntries.permission,
  details: auditEntries.details,
  agentId: aliased(agents.id, 'agent_id'),
};

/** The condition that joins a delivery with its event of a permission. */
export function isEventOfDelivery(account: number | SQL<number>): SQL | undefined {
  return and(
    eq(permissionEvents.account, account),
    eq(permissionEvents.permission, deliveries.permission),
    eq(permissionEvents.event, deliveries.event),
  );
}

interface PayloadRow {
  payload: string | null;
  eventPayload: string | null;
  entryPosition: number | null;
  entryRandom: Uint8Array | null;
  entryEvent: EventType | null;
  entryAction: string | null;
  entryCreatedAt: number | null;
  permission: Id<'perm'> | null;
  /** As they are stored. */
  details: string | null;
  agentId: Id<'agent'> | null;
}

/** Writes the payload of an event, always with the same bytes, which are signed. */
export function writePayload(event: DeliveryEvent, at: number, data: Json | object): string {
  return JSON.stringify({ event, timestamp: formatTime(at), data });
}

/**
 * The payload of a delivery; null if its audit entry, its permission or its agent is erased, or the
 * entry is older than the account's retention. The payload of an audit entry is not stored, because
 * entries never change.
 */
export function payloadOf(
  row: PayloadRow,
  account: Parameters<typeof retentionDays>[0],
  now: number,
): string | null {
  const stored = row.payload ?? row.eventPayload;
  if (stored !== null) return stored;
  const { entryEvent, entryAction: action, permission, details, agentId } = row;
  const { entryPosition: position, entryCreatedAt: createdAt, entryRandom: random } = row;
  if (position === null || createdAt === null || random === null) return null;
  if (!entryEvent || action === null || !permission || !details || !agentId) return null;
  if (createdAt < now - retentionDays(account) * DAY) return null;
  return writePayload('audit.created', createdAt, {
    id: entryId({ createdAt, sequence: position % LOG_SPAN, random }),
    event_type: entryEvent,
    agent_id: agentId,
    permission_request_id: permission,
    details: readDetails({ action, permission }, details),
  });
}
