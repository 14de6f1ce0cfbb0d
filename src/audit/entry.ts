import { eq } from 'drizzle-orm';
import { z } from 'zod';
import { named } from '../db/columns';
import { agents, auditEntries, EVENT_TYPES, type EventType } from '../db/schema';
import type { AccountRef } from '../http/context';
import { shownId, shownObject, shownTime } from '../http/shown';
import { LOG_SPAN } from '../ledger/append';
import type { JsonObject } from '../lib/json';
import { retentionDays } from '../lib/plans';
import { DAY, formatTime } from '../lib/time';
import type { Id } from '../lib/typeid';

/** The columns of an {@link EntryRow}. */
export const entryColumns = {
  pos: auditEntries.pos,
  id: named(auditEntries.id, 'entry_id'),
  permission: auditEntries.permission,
  event: auditEntries.event,
  createdAt: named(auditEntries.createdAt, 'entry_created_at'),
  ipAddress: auditEntries.ipAddress,
  userAgent: auditEntries.userAgent,
  details: auditEntries.details,
  agentId: named(agents.id, 'agent_id'),
};

/** The agent of an entry. Entries of a deleted agent have none: they wait for their erasure, and are not shown. */
export const entryAgent = eq(agents.number, auditEntries.agent);

export interface EntryRow {
  pos: number;
  id: Id<'audit'>;
  permission: Id<'perm'>;
  event: EventType;
  createdAt: number;
  ipAddress: string;
  userAgent: string;
  details: JsonObject;
  agentId: Id<'agent'>;
}

/** An audit entry as the API shows it. */
export const AuditEntry = z.object({
  id: shownId('audit'),
  /** Place in the account's log, from 1. */
  sequence: z.number(),
  user_id: shownId('user'),
  agent_id: shownId('agent'),
  permission_request_id: shownId('perm'),
  event_type: z.enum(EVENT_TYPES),
  details: shownObject,
  ip_address: z.string(),
  user_agent: z.string(),
  created_at: shownTime,
});

export type AuditEntry = z.output<typeof AuditEntry>;

export function presentEntry(account: AccountRef, row: EntryRow): AuditEntry {
  return {
    id: row.id,
    sequence: row.pos - logStart(account),
    user_id: account.id,
    agent_id: row.agentId,
    permission_request_id: row.permission,
    event_type: row.event,
    details: row.details,
    ip_address: row.ipAddress,
    user_agent: row.userAgent,
    created_at: formatTime(row.createdAt),
  };
}

/** The position before an account's first entry; sequence n stands at this + n. */
export function logStart(account: Pick<AccountRef, 'number'>): number {
  return account.number * LOG_SPAN;
}

/** The oldest time whose entries the account's plan still keeps, in milliseconds since the epoch. */
export function oldestKept(account: AccountRef, now: number): number {
  return now - retentionDays(account) * DAY;
}
