import type { EventType } from '../db/schema';
import type { Runtime } from '../env';
import { draftEntry, type Entry, type EntryDetails, type Origin } from '../ledger/entry';
import type { PermissionRow } from './permission';

/** What an event says beyond the permission's action and resource; what is left out is null. */
export type EventDetails = Pick<EntryDetails, 'scope'> & Partial<Omit<EntryDetails, 'action' | 'resource'>>;

/** Drafts the audit entry of an event on a permission. */
export function draftPermissionEntry(
  { runtime, origin }: { runtime: Runtime; origin: Origin },
  { account, id, action, resource }: Pick<PermissionRow, 'account' | 'id' | 'action' | 'resource'>,
  event: EventType,
  at: number,
  details: EventDetails,
): Entry {
  const { scope, decided_by = null, decision_reason = null, policy_id = null, ...token } = details;
  return draftEntry(runtime, {
    event,
    at,
    account,
    permission: id,
    details: { action, resource, scope, decided_by, decision_reason, policy_id, ...token },
    origin,
  });
}
