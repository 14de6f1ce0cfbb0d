import type { MemberRole } from '../../db/schema';
import { ROLE_SCOPES } from '../../identity/roles';
import { MINUTE } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import type { Concerned } from '../../permissions/reviews/reviewers';
import type { ChannelEvent } from '../channels/channel';
import { endOfQuietHours } from '../channels/settings/quiet-hours';
import { delegateAt, type StoredSettings, wants, wantsEvent } from '../channels/settings/settings';
import { askedPeople, type PermissionEvent } from './permission-events';

/**
 * How many messages a person gets within a minute. Those that follow wait for the next minute, and
 * become one digest.
 */
const MESSAGES_PER_MINUTE = 5;

/** The settings of the people of an account, and who is active. */
export interface People {
  settings: ReadonlyMap<Id<'member'>, StoredSettings>;
  /** The roles of those who are active. */
  roles: ReadonlyMap<Id<'member'>, MemberRole>;
  administrators: readonly Id<'member'>[];
  /** Those who may decide. */
  deciders: readonly Id<'member'>[];
}

/** Whether a person is notified of an event of a permission. */
export function concerns(
  { permission, isReviewer, isEscalated, isAgentOwner, hasVoted, member }: Concerned,
  { event, at, permission: { row } }: PermissionEvent,
): boolean {
  if (permission !== row.id) return false;
  switch (event) {
    case 'permission.requested':
      return row.status === 'pending' && isReviewer && !hasVoted;
    case 'permission.escalated':
      return row.status === 'pending' && isReviewer && isEscalated && !hasVoted;
    case 'permission.decided':
      // A decision by a policy or a series notifies nobody: it may be one of thousands a day.
      return askedPeople(row) && row.decidedBy !== member && (isReviewer || isAgentOwner);
    case 'permission.expired':
      // A request that was withdrawn notifies nobody. One of a connection that was switched off
      // expired when it was made.
      return at >= row.expiresAt && row.expiresAt > row.createdAt && (isReviewer || isAgentOwner);
    case 'permission.outcome_missing':
      return isAgentOwner || (askedPeople(row) && isReviewer);
  }
}

/**
 * The members who are notified of an event, each once. A member who is away is replaced by the
 * delegate, unless the delegate's role may not read what the event is about.
 * @param channelId the channel of the account that notifies; null for the devices of members
 */
export function recipients(
  { settings, roles }: People,
  { channelId, event, now }: { channelId: Id<'chan'> | null; event: ChannelEvent; now: number },
  notified: readonly Pick<Concerned, 'member'>[],
): Set<Id<'member'>> {
  const found = new Set<Id<'member'>>();
  const scope = event === 'webhook.disabled' ? 'webhooks:read' : 'permissions:read';
  for (const { member } of notified) {
    const own = settings.get(member) ?? null;
    const isWanted = channelId ? wants(own, { channelId, event }) : wantsEvent(own, event);
    if (!isWanted) continue;
    const delegate = delegateAt(own, now);
    const role = delegate && roles.get(delegate);
    if (delegate && role && ROLE_SCOPES[role].includes(scope)) found.add(delegate);
    else found.add(member);
  }
  return found;
}

/**
 * Until when a message to a member waits; null if it does not. Counts the message.
 * @param sent how many messages each recipient got in this minute, by the recipient's key: mails of
 *   a member count together, and each device has its own count
 */
export function dueTime<K>(
  { settings }: People,
  member: Id<'member'>,
  { sent, key, now }: { sent: Map<K, number>; key: K; now: number },
): number | null {
  const own = settings.get(member) ?? null;
  const quietUntil = endOfQuietHours(own, now);
  if (quietUntil !== null) return quietUntil;
  const count = sent.get(key) ?? 0;
  sent.set(key, count + 1);
  if (count < MESSAGES_PER_MINUTE) return null;
  const nextMinute = (Math.floor(now / MINUTE) + 1) * MINUTE;
  return endOfQuietHours(own, nextMinute) ?? nextMinute;
}
