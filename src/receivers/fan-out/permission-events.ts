import { END_EVENTS, PERMISSION_EVENTS, type PermissionEventType } from '../../db/schema';
import { deciderKind } from '../../lib/decider';
import type { Id } from '../../lib/typeid';
import { loadPermissionSnapshots, type PermissionSnapshot } from '../../permissions/snapshots';
import type { DispatchContext } from '../context';
import { writePayload } from '../deliveries/payload';
import type { PendingEvents } from './pending-events';

/** An event of a permission that gets its deliveries. */
export interface PermissionEvent {
  event: PermissionEventType;
  /** Which reminder of the request this is, from 1 on; 0 for the event itself. */
  reminder: number;
  /** The position of the audit entry that it comes from; null for an event that comes from none. */
  pos: number | null;
  at: number;
  permission: PermissionSnapshot;
  payload: string;
}

/**
 * Whether people were asked about a permission. Nobody is where a policy decided it at once, or
 * where it belongs to a series that people gave before.
 */
export function askedPeople({ policyId, decidedBy }: PermissionSnapshot['row']): boolean {
  const isBySeries = decidedBy !== null && deciderKind(decidedBy) === 'series';
  return policyId === null && !isBySeries;
}

/** Maps an audit entry to the event of its permission; null for none. */
const EVENT_OF_ENTRY = {
  request: 'permission.requested',
  approve: 'permission.decided',
  deny: 'permission.decided',
  expire: 'permission.expired',
  use: null,
  revoke: null,
} as const;

/** A slice takes no further entry once it has this many deliveries. */
const MAX_DELIVERIES = 1_000;

/**
 * How many events of permissions a slice looks at: D1 takes 2 MB in one parameter, and the payloads
 * are one. Fewer where each event may have a message for every member, by every channel for e-mail
 * and on devices.
 */
const MAX_EVENTS = 20;
const MAX_EVENTS_FOR_MEMBERS = 5;

/** An event of a permission that a receiver wants, before the permission is loaded. */
type EventCandidate = Pick<PermissionEvent, 'event' | 'reminder' | 'pos' | 'at'> & {
  permission: Id<'perm'>;
};

/** As many of the pending events as are handled at once. */
interface PendingSlice {
  entries: PendingEvents['entries'];
  waiting: PendingEvents['waitingEvents'];
  /** The events of permissions among both, in the order in which they happened. */
  candidates: EventCandidate[];
}

/**
 * Takes a slice of the pending events. The events of permissions in it are a request that waits for
 * people, a decision, a request that expired or was withdrawn, an escalation, a reminder that is
 * due, or an outcome that was not reported in time. Those that no active receiver wants are left
 * out.
 */
export function takeSlice(pending: PendingEvents): PendingSlice {
  const { activeReceivers, hasDevices } = pending;
  const emailChannels = activeReceivers.filter(({ kind }) => kind === 'email').length;
  const perMember = emailChannels + (hasDevices ? 1 : 0);
  const limit = perMember > 0 ? Math.ceil(MAX_EVENTS_FOR_MEMBERS / perMember) : MAX_EVENTS;
  const wanted = new Set<string>(activeReceivers.flatMap(wantedEvents));
  if (hasDevices) for (const event of PERMISSION_EVENTS) wanted.add(event);
  const waiting = pending.waitingEvents.slice(0, limit);
  const entries = takeEntries(pending, wanted, limit);
  const candidates = [...waiting.map(candidateOfWaiting), ...entries.flatMap(candidatesOfEntry)]
    .filter(({ event }) => wanted.has(event))
    .sort((a, b) => a.at - b.at);
  return { entries, waiting, candidates };
}

function candidateOfWaiting({
  event,
  permission,
  reminders: reminder,
  createdAt: at,
}: PendingEvents['waitingEvents'][number]): EventCandidate {
  return { event, permission, reminder, at, pos: null };
}

/** The candidate of an entry; none if its agent was deleted, or if it is none of these events. */
function candidatesOfEntry({
  event: entryEvent,
  permission,
  pos,
  at,
  agentId,
}: PendingEvents['entries'][number]): EventCandidate[] {
  const event = EVENT_OF_ENTRY[entryEvent];
  return event && agentId ? [{ event, permission, pos, at, reminder: 0 }] : [];
}

/** Loads the permissions of candidates, and leaves out candidates that turn out to be no events. */
export async function loadPermissionEvents(
  { reader, runtime }: DispatchContext,
  account: { number: number; id: Id<'user'> },
  candidates: readonly EventCandidate[],
): Promise<PermissionEvent[]> {
  if (candidates.length === 0) return [];
  const ids = [...new Set(candidates.map(({ permission }) => permission))];
  const permissions = await loadPermissionSnapshots(reader, account, ids, runtime.now());
  return candidates.flatMap(({ permission: id, ...candidate }): PermissionEvent[] => {
    const permission = permissions.get(id);
    if (!permission || !isEventOf(candidate.event, permission)) return [];
    const payload = writePayload(candidate.event, candidate.at, permission.shown);
    return [{ ...candidate, permission, payload }];
  });
}

/**
 * The events that a webhook or channel wants: those that it names. A channel for Slack also wants
 * the ends of requests, because these change the messages that asked.
 */
function wantedEvents({
  kind,
  events,
}: PendingEvents['activeReceivers'][number]): readonly string[] {
  if (kind === 'slack') return [...events, ...END_EVENTS];
  return events;
}

/** Takes entries until they have the maximum number of deliveries or of events of permissions. */
function takeEntries(
  { activeReceivers, entries }: PendingEvents,
  wanted: ReadonlySet<string>,
  limit: number,
) {
  const receivers = activeReceivers.filter(({ events }) => events.includes('audit.created'));
  let deliveries = 0;
  let events = 0;
  const end = entries.findIndex(({ event: entryEvent, agentId }) => {
    const event = EVENT_OF_ENTRY[entryEvent];
    if (deliveries >= MAX_DELIVERIES) return true;
    if (event && wanted.has(event)) events += 1;
    if (agentId !== null)
      deliveries += receivers.filter(({ agentIds }) => agentIds?.includes(agentId) ?? true).length;
    return events > limit;
  });
  if (end < 0) return entries;
  return entries.slice(0, end);
}

/**
 * Whether the entry is an event of the permission. A `request` entry is none if nobody was asked,
 * because a policy or a series decided at once; an `expire` entry is none if the token expired.
 */
function isEventOf(event: PermissionEventType, { row }: PermissionSnapshot): boolean {
  if (event === 'permission.requested') return askedPeople(row);
  return event !== 'permission.expired' || row.tokenStatus === null;
}
