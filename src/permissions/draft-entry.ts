import type { EventType } from '../db/schema';
import type { Runtime } from '../env';
import { draftEntry, type Entry, type EntryDetails, type Origin } from '../ledger/entry';
import type { PermissionRow } from './permission';

/** The part of a permission that its audit entries repeat. */
export type EntrySubject = Pick<PermissionRow, 'account' | 'id' | 'action' | 'resource'>;

/** The details beyond action and resource. A nullable field left out becomes null, an optional one stays out. */
export type PermissionEntryDetails = Pick<EntryDetails, 'scope'> & Partial<Omit<EntryDetails, 'action' | 'resource'>>;

/** Drafts the audit entry of an event on a permission or its token, at the present time. */
export function draftPermissionEntry(
  { runtime, origin }: { runtime: Runtime; origin: Origin },
  { account, id, action, resource }: EntrySubject,
  event: EventType,
  details: PermissionEntryDetails,
): Entry {
  const { scope, decided_by = null, decision_reason = null, policy_id = null, ...token } = details;
  return draftEntry(runtime, {
    event,
    at: runtime.now(),
    account,
    permission: id,
    details: { action, resource, scope, decided_by, decision_reason, policy_id, ...token },
    origin,
  });
}
