import { and, eq, isNotNull, sql } from 'drizzle-orm';
import { aliased, idList, numberList } from '../../db/columns';
import { deliveries, members, notificationSettings, type ReceiverKind } from '../../db/schema';
import { OPERATOR } from '../../http/activity';
import { ROLE_SCOPES } from '../../identity/roles';
import { MINUTE } from '../../lib/time';
import { type Id, idBytes, parseId, smallestIdAt } from '../../lib/typeid';
import { type Concerned, selectConcerned } from '../../permissions/reviews/reviewers';
import type { StoredSettings } from '../channels/settings/settings';
import type { DispatchContext } from '../context';
import type { NotifiableEvents } from './plan';
import type { People } from './plan-people';

/**
 * Reads whom the events concern, what these people chose, how many messages each got in this
 * minute, and where Slack has messages about the permissions.
 */
export async function loadSituation(
  { reader, runtime }: DispatchContext,
  account: number,
  { channels, hasDevices, events, disabledWebhooks, accountEvents }: NotifiableEvents,
): Promise<Situation> {
  const now = runtime.now();
  const numbersOf = (kind: ReceiverKind) =>
    channels.filter((each) => each.kind === kind).map(({ number }) => number);
  const emails = numbersOf('email');
  const nobody = {
    settings: new Map(),
    roles: new Map(),
    administrators: [],
    deciders: [],
  };
  const isNothing = events.length + disabledWebhooks.length + accountEvents.length === 0;
  if ((channels.length === 0 && !hasDevices) || isNothing)
    return { people: nobody, concerned: [], posts: [], mails: new Map(), names: new Map() };
  const ids = [...new Set(events.map(({ permission }) => permission.row.id))];
  const minuteStart = idBytes(smallestIdAt('dlv', now - (now % MINUTE)));
  const actors = accountEvents.flatMap(({ by }) => parseId('member', by) ?? []);
  const [concerned, active, settings, counts, posts, named] = await reader.load([
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
      .select({ member: deliveries.member, count: sql<number>`count(*)`.as('count') })
      .from(deliveries)
      .where(
        and(
          sql`${deliveries.receiver} in ${numberList(emails)}`,
          sql`${deliveries.id} >= ${minuteStart}`,
          sql`${deliveries.member} is not null`,
        ),
      )
      .groupBy(deliveries.member),
    reader
      .select({
        channel: aliased(deliveries.receiver, 'channel'),
        permission: sql<Id<'perm'>>`${deliveries.permission}`
          .mapWith(deliveries.permission)
          .as('permission'),
        slackChannel: sql<string>`${deliveries.slackChannel}`.as('slack_channel'),
      })
      .from(deliveries)
      .where(
        and(
          sql`${deliveries.permission} in ${idList(ids)}`,
          sql`${deliveries.receiver} in ${numberList(numbersOf('slack'))}`,
          isNotNull(deliveries.slackChannel),
        ),
      ),
    reader
      .select({ id: members.id, name: members.name, email: members.email })
      .from(members)
      .where(and(eq(members.account, account), sql`${members.id} in ${idList(actors)}`)),
  ]);
  const administrators = active
    .filter(({ role }) => role === 'owner' || role === 'admin')
    .map(({ id }) => id);
  const deciders = active
    .filter(({ role }) => ROLE_SCOPES[role].includes('permissions:decide'))
    .map(({ id }) => id);
  const people = {
    settings: new Map(
      settings.map(({ member, settings }) => [member, settings as unknown as StoredSettings]),
    ),
    roles: new Map(active.map(({ id, role }) => [id, role])),
    administrators,
    deciders,
  };
  const mails = new Map(
    counts.flatMap(({ member, count }) => (member ? [[member, count] as const] : [])),
  );
  const names = new Map(named.map(({ id, name, email }) => [id as string, name ?? email ?? id]));
  return { people, concerned, posts, mails, names };
}

/** The facts from which a plan is made. */
export interface Situation {
  people: People;
  /** How people stand to the permissions of the events. */
  concerned: readonly Concerned[];
  /** Which Slack channels have a message about which permission, by the number of the channel. */
  posts: readonly { channel: number; permission: Id<'perm'>; slackChannel: string }[];
  /** How many mails each person got in this minute. */
  mails: Map<Id<'member'>, number>;
  /** The names of the members who stopped or resumed the account, by their ids. */
  names: ReadonlyMap<string, string>;
}

/** How messages name who stopped or resumed the account. */
export function nameOfActor(by: string, names: Situation['names']): string {
  if (by === OPERATOR) return 'the operator of the service';
  if (parseId('user', by)) return 'a token of the account';
  return names.get(by) ?? by;
}
