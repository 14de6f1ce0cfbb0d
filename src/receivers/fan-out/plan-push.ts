import { and, eq, type SQL, sql } from 'drizzle-orm';
import { idList } from '../../db/columns';
import type { Reader } from '../../db/database';
import { deliveries, receivers } from '../../db/schema';
import { MINUTE } from '../../lib/time';
import { type Id, idBytes, smallestIdAt } from '../../lib/typeid';
import type { DispatchContext } from '../context';
import type { NotifiableEvents, NotificationPlan } from './plan';
import { concerns, dueTime, recipients } from './plan-people';
import { reminderTime } from './reminder-time';
import { nameOfActor, type Situation } from './situation';

type Members = ReadonlySet<Id<'member'>>;

/**
 * Plans the push messages about events: for each event the devices that get one, and when. Reads
 * only the members' devices.
 */
export async function planPush(
  { reader, runtime }: Pick<DispatchContext, 'reader' | 'runtime'>,
  account: number,
  plan: NotificationPlan,
  { events, disabledWebhooks, accountEvents }: NotifiableEvents,
  { people, concerned, names }: Situation,
): Promise<void> {
  const now = runtime.now();
  const ofEvents = events.map((source) => {
    const { event } = source;
    const notified = concerned.filter((person) => concerns(person, source));
    return { source, to: recipients(people, { channelId: null, event, now }, notified) };
  });
  const administrators = people.administrators.map((member) => ({ member }));
  const disabled = { channelId: null, event: 'webhook.disabled' as const, now };
  const ofWebhooks =
    disabledWebhooks.length > 0 ? recipients(people, disabled, administrators) : [];
  const ofAccount = accountEvents.length > 0 ? people.deciders : [];
  const everybody = new Set([
    ...ofEvents.flatMap(({ to }) => [...to]),
    ...ofWebhooks,
    ...ofAccount,
  ]);
  if (everybody.size === 0) return;
  const devices = await loadDevices(reader, account, everybody, now);
  const sent = new Map(devices.map(({ number, sent }) => [number, sent]));
  const byMember = Map.groupBy(devices, ({ member }) => member);
  const devicesOf = (members: Members | readonly Id<'member'>[]) =>
    [...members].flatMap((member) => byMember.get(member) ?? []);

  for (const { source, to } of ofEvents) {
    const { event, permission, reminder } = source;
    const { row } = permission;
    const notified = devicesOf(to);
    if (event === 'permission.requested' && reminder === 0 && notified.length > 0)
      plan.reminders.set(row.id, reminderTime(row, 1));
    for (const { number, member } of notified) {
      // A delegate may have decided.
      if (event === 'permission.decided' && row.decidedBy === member) continue;
      const dueAt = dueTime(people, member, { sent, key: number, now });
      if (dueAt === null)
        plan.messages.push({ channel: number, source, member, slackChannel: null });
      else plan.held.push({ channel: number, source, member, dueAt });
    }
  }
  for (const webhook of disabledWebhooks) {
    for (const { number, member } of devicesOf(new Set(ofWebhooks)))
      plan.disabledNotices.push({ channel: number, webhook, member, slackChannel: null });
  }
  for (const source of accountEvents) {
    const byName = nameOfActor(source.by, names);
    for (const { number, member } of devicesOf(ofAccount))
      plan.accountNotices.push({ channel: number, source, byName, member, slackChannel: null });
  }
  plan.devices.push(...devices);
}

/** Loads the devices of members, with the number of messages that each got in this minute. */
async function loadDevices(reader: Reader, account: number, members: Members, now: number) {
  const minuteStart = idBytes(smallestIdAt('dlv', now - (now % MINUTE)));
  const sent: SQL<number> = sql`(
    select count(*) from ${deliveries} as sent
    where sent.receiver = ${receivers.number} and sent.id >= ${minuteStart}
  )`;
  const [rows] = await reader.load([
    reader
      .select({
        number: receivers.number,
        isSlow: receivers.isSlow,
        member: receivers.member,
        sent: sent.as('sent'),
      })
      .from(receivers)
      .where(
        and(
          eq(receivers.account, account),
          sql`${receivers.member} in ${idList([...members])}`,
          eq(receivers.isActive, true),
        ),
      ),
  ]);
  return rows.flatMap(({ member, ...device }) => (member === null ? [] : [{ ...device, member }]));
}
