import type { EventType, WebhookEvent } from '../db/schema';
import type { Json, JsonObject } from '../lib/json';
import { formatTime } from '../lib/time';
import type { Id } from '../lib/typeid';

/** What an audit entry says, as far as webhooks are told. */
export interface PayloadEntry {
  id: Id<'audit'>;
  event: EventType;
  agentId: Id<'agent'>;
  permission: Id<'perm'>;
  details: JsonObject;
  createdAt: number;
}

/** The message of an event. The same event always yields the same bytes. */
export function writePayload(event: WebhookEvent, at: number, data: Json | object): string {
  return JSON.stringify({ event, timestamp: formatTime(at), data });
}

/** The message that tells of an audit entry. Entries never change, so that it need not be kept. */
export function writeEntryPayload({ id, event, agentId, permission, details, createdAt }: PayloadEntry): string {
  return writePayload('audit.created', createdAt, {
    id,
    event_type: event,
    agent_id: agentId,
    permission_request_id: permission,
    details,
  });
}
