import type { EventType } from '../db/schema';
import type { Runtime } from '../env';
import type { JsonObject } from '../lib/json';
import { type Id, makeId } from '../lib/typeid';

/** Where an event came from: the request that caused it. */
export interface Origin {
  /** `""` where the service itself is the cause. */
  ipAddress: string;
  userAgent: string;
}

/** The origin of what no request caused. */
export const SERVICE_ORIGIN: Origin = { ipAddress: '', userAgent: 'countersign' };

/** What an audit entry tells of its event; null where a field does not apply. */
export interface EntryDetails {
  action: string;
  resource: string;
  scope: JsonObject | null;
  decided_by: string | null;
  decision_reason: string | null;
  policy_id: string | null;
  token_id?: Id<'token'>;
  expired?: 'request' | 'token';
}

/** An audit entry to be written; the ledger gives it its place in the log. */
export interface Entry {
  id: Id<'audit'>;
  salt: Uint8Array;
  at: number;
  event: EventType;
  account: number;
  permission: Id<'perm'>;
  details: EntryDetails;
  origin: Origin;
}

const SALT_LENGTH = 16;

/** Gives an event its identifier and salt. */
export function draftEntry(runtime: Runtime, event: Omit<Entry, 'id' | 'salt'>): Entry {
  return {
    ...event,
    id: makeId('audit', event.at, runtime.random(10)),
    salt: runtime.random(SALT_LENGTH),
  };
}
