import type { EventType } from '../db/schema';
import type { Runtime } from '../env';
import type { Principal, UserPrincipal } from '../http/context';
import { draftEntry, type Entry, type EntryDetails, type Origin } from '../ledger/entry';
import type { PermissionRow } from './permission';

/** The part of a permission that its audit entries repeat. */
export type EntrySubject = Pick<PermissionRow, 'account' | 'agent' | 'id' | 'action' | 'resource'>;

/**
 * The same of a permission that may not have been read: then `agent` is null, as in {@link Entry}.
 */
export type ClaimedSubject = Omit<EntrySubject, 'agent'> & Pick<Entry, 'agent'>;

/**
 * The details of an entry without action and resource. `decided_by`, `decision_reason` and
 * `policy_id` default to null.
 */
export type PermissionEntryDetails = Pick<EntryDetails, 'scope'> &
  Partial<Omit<EntryDetails, 'action' | 'resource'>>;

/** The details with the digests, which the entries of a request and of its decision have. */
export function digestDetails({
  inputDigest,
  previewDigest,
}: Pick<PermissionRow, 'inputDigest' | 'previewDigest'>) {
  return { input_digest: inputDigest, preview_digest: previewDigest };
}

/**
 * Makes the audit entry of an event that happens now to a permission or its token, for the ledger
 * to append.
 */
export function draftPermissionEntry(
  { runtime, origin }: { runtime: Runtime; origin: Origin },
  { account, agent, id, action, resource }: ClaimedSubject,
  event: EventType,
  details: PermissionEntryDetails,
): Entry {
  const { scope, decided_by = null, decision_reason = null, policy_id = null, ...others } = details;
  return draftEntry(runtime, {
    event,
    at: runtime.now(),
    account,
    agent,
    permission: id,
    details: { action, resource, scope, decided_by, decision_reason, policy_id, ...others },
    origin,
  });
}

/**
 * The id under which a decision of a user is recorded: that of the member, or of the account for
 * its own tokens.
 */
export function deciderOf({ member, account }: UserPrincipal): string {
  return member?.id ?? account.id;
}

/** The id of who uses a token, and then reports the outcome: an agent, or as {@link deciderOf}. */
export function userOfToken(principal: Principal): string {
  return principal.kind === 'agent' ? principal.agent.id : deciderOf(principal);
}
