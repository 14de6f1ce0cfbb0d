import { and, eq, sql } from 'drizzle-orm';
import { numberList } from '../db/columns';
import { deliveries, type MemberRole, members, notificationSettings } from '../db/schema';
import { ROLE_SCOPES } from '../http/roles';
import { matchesPattern } from '../lib/pattern';
import { MINUTE } from '../lib/time';
import { type Id, idBytes, smallestIdAt, withPrefix } from '../lib/typeid';
import { type Concerned, selectConcerned } from '../permissions/reviews/reviewers';
import type {
  EventOfPermission,
  FanOutContext,
  NotifiableEvents,
  PermissionOfEvent,
  PlannedNotifications,
  TargetWebhook,
} from '../webhooks/dispatch/fan-out-context';
import type { ChannelEvent } from './channel';
import { endOfQuietHours } from './settings/quiet-hours';
import { delegateAt, type StoredSettings, wants } from './settings/settings';
import { slackChannelsOf } from './slack/config';

/** How many messages one channel sends to a person within a minute. Those that follow wait, and come together. */
const MESSAGES_PER_MINUTE = 5;

/** What the people of an account chose, who is active, and how many messages each person got in this minute. */
interface People {
  settings: ReadonlyMap<Id<'member'>, StoredSettings>;
  /** The roles of those who are active. */
  roles: ReadonlyMap<Id<'member'>, MemberRole>;
  administrators: readonly Id<'member'>[];
  /** By channel and member. */
  counts: Map<string, number>;
}

/** Plans whom the channels of an account notify of events, and when: now, or after their quiet hours. */
export async function planNotifications(
  context: FanOutContext,
  account: number,
  { channels, events, disabledWebhooks }: NotifiableEvents,
): Promise<PlannedNotifications> {
  const now = context.runtime.now();
  const { people, concerned } = await loadPeople(context, account, { channels, events, disabledWebhooks });
  const messages: PlannedNotifications['messages'][number][] = [];
  const held: PlannedNotifications['held'][number][] = [];
  const disabledNotices: PlannedNotifications['disabledNotices'][number][] = [];
  const reminders = new Map<Id<'perm'>, number>();
  for (const channel of channels) {
    const { number } = channel;
    for (const about of events.filter((event) => isWanted(channel, event))) {
      if (channel.kind === 'slack') {
        // Nobody was asked about a request that a policy decided at once.
        if (about.reminder > 0 || about.permission.row.policyId !== null) continue;
        for (const slackChannel of slackChannelsFor(channel, about.permission)) {
          messages.push({ channel: number, about, member: null, slackChannel });
        }
        continue;
      }
      const notified = concerned.filter((person) => concerns(person, about));
      if (about.event === 'permission.requested' && about.reminder === 0 && notified.length > 0) {
        reminders.set(about.permission.row.id, reminderTime(about.permission.row, 1));
      }
      for (const member of recipients(people, channel, about.event, notified, now)) {
        const dueAt = dueTime(people, number, member, now);
        if (dueAt === null) messages.push({ channel: number, about, member, slackChannel: null });
        else held.push({ channel: number, about, member, dueAt });
      }
    }
    if (!channel.events.includes('webhook.disabled')) continue;
    for (const webhook of disabledWebhooks) {
      const administrators = people.administrators.map((member) => ({ member }));
      const notified =
        channel.kind === 'email' ? recipients(people, channel, 'webhook.disabled', administrators, now) : [];
      for (const member of notified) disabledNotices.push({ channel: number, webhook, member, slackChannel: null });
      for (const slackChannel of channel.kind === 'slack' ? slackChannelsFor(channel, null) : []) {
        disabledNotices.push({ channel: number, webhook, member: null, slackChannel });
      }
    }
  }
  return { messages, held, disabledNotices, reminders };
}

/** When a reminder of a request is due: at half and at nine tenths of its life. */
export function reminderTime(
  { createdAt, expiresAt }: { createdAt: number; expiresAt: number },
  reminder: 1 | 2,
): number {
  return createdAt + Math.floor((expiresAt - createdAt) * (reminder === 1 ? 0.5 : 0.9));
}

/** Whether a channel notifies people of an event of a permission. */
function isWanted({ events, actions, agentIds }: TargetWebhook, { event, permission }: EventOfPermission): boolean {
  return events.includes(event) && isInFilter(actions, agentIds, permission);
}

/** Whether a person is notified of an event of a permission. */
function concerns(
  { permission, isReviewer, isEscalated, isAgentOwner, hasVoted, member }: Concerned,
  { event, at, permission: { row } }: EventOfPermission,
): boolean {
  if (permission !== row.id) return false;
  switch (event) {
    case 'permission.requested':
      return row.status === 'pending' && isReviewer && !hasVoted;
    case 'permission.escalated':
      return row.status === 'pending' && isReviewer && isEscalated && !hasVoted;
    case 'permission.decided':
      // A decision by a policy notifies nobody: a policy may decide thousands of requests a day.
      return row.policyId === null && row.decidedBy !== member && (isReviewer || isAgentOwner);
    case 'permission.expired':
      // A request that its agent has withdrawn notifies nobody.
      return at >= row.expiresAt && (isReviewer || isAgentOwner);
  }
}

/**
 * The members whom a channel notifies of an event, each once. A member who is away is replaced by the delegate, unless the
 * delegate's role may not read what the event is about.
 */
function recipients(
  { settings, roles }: People,
  { id }: TargetWebhook,
  event: ChannelEvent,
  notified: readonly Pick<Concerned, 'member'>[],
  now: number,
): Set<Id<'member'>> {
  const found = new Set<Id<'member'>>();
  const scope = event === 'webhook.disabled' ? 'webhooks:read' : 'permissions:read';
  for (const { member } of notified) {
    const own = settings.get(member) ?? null;
    if (!wants(own, { channelId: withPrefix('chan', id), event })) continue;
    const delegate = delegateAt(own, now);
    const role = delegate && roles.get(delegate);
    found.add(delegate && role && ROLE_SCOPES[role].includes(scope) ? delegate : member);
  }
  return found;
}

/** Until when a message to a member waits; null if it does not. Counts the message. */
function dueTime({ settings, counts }: People, channel: number, member: Id<'member'>, now: number): number | null {
  const quietUntil = endOfQuietHours(settings.get(member) ?? null, now);
  if (quietUntil !== null) return quietUntil;
  const key = countKey(channel, member);
  const count = counts.get(key) ?? 0;
  counts.set(key, count + 1);
  return count < MESSAGES_PER_MINUTE ? null : (Math.floor(now / MINUTE) + 1) * MINUTE;
}

function countKey(channel: number, member: Id<'member'>): string {
  return `${channel} ${member}`;
}

/**
 * The ids of the Slack channels to which a channel posts an event.
 * @param permission the permission of the event; null for another event, which is posted where there is no filter
 */
function slackChannelsFor(channel: TargetWebhook, permission: PermissionOfEvent | null): string[] {
  return slackChannelsOf(channel)
    .filter(({ filter }) => !filter || (permission && isInFilter(filter.actions, filter.agent_ids, permission)))
    .map(({ id }) => id);
}

/** Whether a permission is for an action and of an agent that a filter lets pass. A filter without a list lets all pass. */
function isInFilter(
  actions: readonly string[] | null | undefined,
  agentIds: readonly string[] | null | undefined,
  { row }: PermissionOfEvent,
): boolean {
  return (
    (agentIds?.includes(row.agentId) ?? true) &&
    (actions?.some((pattern) => matchesPattern(pattern, row.action)) ?? true)
  );
}

/** Reads whom the events concern, what these people chose, and how many messages each got in this minute. */
async function loadPeople(
  { reader, runtime }: FanOutContext,
  account: number,
  { channels, events, disabledWebhooks }: NotifiableEvents,
): Promise<{ people: People; concerned: Concerned[] }> {
  const now = runtime.now();
  const emails = channels.filter(({ kind }) => kind === 'email').map(({ number }) => number);
  const nobody = { settings: new Map(), roles: new Map(), administrators: [], counts: new Map() };
  const hasEvents = events.length + disabledWebhooks.length > 0;
  if (emails.length === 0 || !hasEvents) return { people: nobody, concerned: [] };
  const ids = [...new Set(events.map(({ permission }) => permission.row.id))];
  const minuteStart = idBytes(smallestIdAt('dlv', now - (now % MINUTE)));
  const [concerned, active, settings, counts] = await reader.load([
    selectConcerned(reader, account, ids, now),
    reader
      .select({ id: members.id, role: members.role })
      .from(members)
      .where(and(eq(members.account, account), eq(members.status, 'active'))),
    reader
      .select({ member: notificationSettings.member, settings: notificationSettings.settings })
      .from(notificationSettings)
      .where(eq(notificationSettings.account, account)),
    reader
      .select({ webhook: deliveries.webhook, member: deliveries.member, count: sql<number>`count(*)`.as('count') })
      .from(deliveries)
      .where(
        and(
          sql`${deliveries.webhook} in ${numberList(emails)}`,
          sql`${deliveries.id} >= ${minuteStart}`,
          sql`${deliveries.member} is not null`,
        ),
      )
      .groupBy(deliveries.webhook, deliveries.member),
  ]);
  const administrators = active.filter(({ role }) => role === 'owner' || role === 'admin').map(({ id }) => id);
  const people = {
    settings: new Map(settings.map(({ member, settings }) => [member, settings as unknown as StoredSettings])),
    roles: new Map(active.map(({ id, role }) => [id, role])),
    administrators,
    counts: new Map(counts.map(({ webhook, member, count }) => [member ? countKey(webhook, member) : '', count])),
  };
  return { people, concerned };
}
