import { matchesPattern } from '../../lib/pattern';
import { withPrefix } from '../../lib/typeid';
import type { PermissionSnapshot } from '../../permissions/snapshots';
import { isEnd } from '../channels/channel';
import { slackChannelsOf } from '../channels/slack/config';
import type { DispatchContext } from '../context';
import { askedPeople, type PermissionEvent } from './permission-events';
import type { ActiveReceiver, NotifiableEvents, NotificationPlan } from './plan';
import { concerns, dueTime, recipients } from './plan-people';
import { planPush } from './plan-push';
import { reminderTime } from './reminder-time';
import { loadSituation, nameOfActor, type Situation } from './situation';

/**
 * Plans whom the channels of an account and the devices of its members notify of events, and when:
 * now, or after their quiet hours.
 */
export async function planNotifications(
  context: DispatchContext,
  account: number,
  notifiable: NotifiableEvents,
): Promise<NotificationPlan> {
  const now = context.runtime.now();
  const situation = await loadSituation(context, account, notifiable);
  const plan: NotificationPlan = {
    messages: [],
    held: [],
    disabledNotices: [],
    accountNotices: [],
    reminders: new Map(),
    devices: [],
  };
  for (const channel of notifiable.channels) {
    planAccountNotices(plan, channel, notifiable, situation);
    if (channel.kind === 'slack') planSlack(plan, channel, notifiable, situation);
    else planEmail(plan, channel, notifiable, situation, now);
  }
  if (notifiable.hasDevices) await planPush(context, account, plan, notifiable, situation);
  return plan;
}

/**
 * Plans the messages about stops and resumes of the account: to everybody who may decide, whatever
 * they chose, and to every Slack channel, whatever its filter.
 */
function planAccountNotices(
  plan: NotificationPlan,
  channel: ActiveReceiver,
  { accountEvents }: NotifiableEvents,
  { people, names }: Situation,
): void {
  for (const source of accountEvents.filter(({ event }) => channel.events.includes(event))) {
    const notice = { channel: channel.number, source, byName: nameOfActor(source.by, names) };
    if (channel.kind === 'slack') {
      for (const { id } of slackChannelsOf(channel))
        plan.accountNotices.push({ ...notice, member: null, slackChannel: id });
      continue;
    }
    for (const member of people.deciders)
      plan.accountNotices.push({ ...notice, member, slackChannel: null });
  }
}

function planSlack(
  plan: NotificationPlan,
  channel: ActiveReceiver,
  { events, disabledWebhooks }: NotifiableEvents,
  { posts }: Situation,
): void {
  const { number } = channel;
  for (const source of events) {
    for (const slackChannel of slackChannelsOfEvent(channel, source, posts)) {
      plan.messages.push({ channel: number, source, member: null, slackChannel });
    }
  }
  if (!channel.events.includes('webhook.disabled')) return;
  for (const webhook of disabledWebhooks) {
    for (const slackChannel of slackChannelsFor(channel, null)) {
      plan.disabledNotices.push({ channel: number, webhook, member: null, slackChannel });
    }
  }
}

function planEmail(
  plan: NotificationPlan,
  channel: ActiveReceiver,
  { events, disabledWebhooks }: NotifiableEvents,
  { people, concerned, mails }: Situation,
  now: number,
): void {
  const { number } = channel;
  const channelId = withPrefix('chan', channel.id);
  for (const source of events.filter((each) => isWanted(channel, each))) {
    const { event, permission, reminder } = source;
    if (event === 'permission.requested' && reminder === 0) {
      plan.reminders.set(permission.row.id, reminderTime(permission.row, 1));
    }
    const notified = concerned.filter((person) => concerns(person, source));
    for (const member of recipients(people, { channelId, event, now }, notified)) {
      // A delegate may have decided.
      if (event === 'permission.decided' && permission.row.decidedBy === member) continue;
      const dueAt = dueTime(people, member, { sent: mails, key: member, now });
      if (dueAt === null)
        plan.messages.push({ channel: number, source, member, slackChannel: null });
      else plan.held.push({ channel: number, source, member, dueAt });
    }
  }
  if (!channel.events.includes('webhook.disabled')) return;
  const administrators = people.administrators.map((member) => ({ member }));
  for (const webhook of disabledWebhooks) {
    const to = { channelId, event: 'webhook.disabled' as const, now };
    for (const member of recipients(people, to, administrators)) {
      plan.disabledNotices.push({ channel: number, webhook, member, slackChannel: null });
    }
  }
}

/** Whether a channel notifies people of an event of a permission. */
function isWanted(
  { events, actions, agentIds }: ActiveReceiver,
  { event, permission }: PermissionEvent,
): boolean {
  return events.includes(event) && isInFilter(actions, agentIds, permission);
}

/**
 * The ids of the Slack channels that get an event of a permission: those that the channel names,
 * and for an end those that have a message about the permission, even if the channel no longer
 * names them.
 */
function slackChannelsOfEvent(
  channel: ActiveReceiver,
  source: PermissionEvent,
  posts: Situation['posts'],
): ReadonlySet<string> {
  const { event, permission, reminder } = source;
  const found = new Set<string>();
  if (isEnd(event)) {
    for (const post of posts) {
      const isAbout = post.channel === channel.number && post.permission === permission.row.id;
      if (isAbout) found.add(post.slackChannel);
    }
  }
  const isOfPeople = askedPeople(permission.row) || event === 'permission.outcome_missing';
  const isNew = isWanted(channel, source) && reminder === 0 && isOfPeople;
  if (isNew) {
    for (const slackChannel of slackChannelsFor(channel, permission)) found.add(slackChannel);
  }
  return found;
}

/**
 * The ids of the Slack channels to which a channel posts an event.
 * @param permission the permission of the event; null for another event, which is posted where
 *   there is no filter
 */
function slackChannelsFor(
  channel: ActiveReceiver,
  permission: PermissionSnapshot | null,
): string[] {
  return slackChannelsOf(channel)
    .filter(
      ({ filter }) =>
        !filter || (permission && isInFilter(filter.actions, filter.agent_ids, permission)),
    )
    .map(({ id }) => id);
}

/**
 * Whether a permission is for an action and of an agent that a filter lets pass. A filter without a
 * list lets all pass.
 */
function isInFilter(
  actions: readonly string[] | null | undefined,
  agentIds: readonly string[] | null | undefined,
  { row }: PermissionSnapshot,
): boolean {
  return (
    (agentIds?.includes(row.agentId) ?? true) &&
    (actions?.some((pattern) => matchesPattern(pattern, row.action)) ?? true)
  );
}
