import { and, asc, eq, type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../../../db/database';
import { receivers, slackLinks } from '../../../db/schema';
import { Problem } from '../../../errors';
import { targetExists, userActivity } from '../../../http/activity';
import type { MemberRef, UserContext } from '../../../http/context';
import { hasRow } from '../../../ledger/guard';
import type { RecordWriter } from '../../../ledger/ledger';
import { formatTime } from '../../../lib/time';
import { type Id, parseId, withPrefix } from '../../../lib/typeid';
import type { ReceiverRow } from '../../receiver';
import { isChannel } from '../channel';
import type { SlackUser } from './interaction';

/** A Slack user who acts as the member, by one channel. */
export interface SlackLink {
  channel_id: Id<'chan'>;
  channel_name: string;
  team: string;
  user: string;
  linked_at: string;
}

/** Lists the Slack users who are linked to a member, the first linked first. */
export async function listSlackLinks(
  { reader, principal }: UserContext,
  { member }: { member: MemberRef },
): Promise<SlackLink[]> {
  const [rows] = await reader.load([
    reader
      .select({
        channel: receivers.id,
        name: receivers.name,
        team: slackLinks.team,
        user: slackLinks.slackUser,
        linkedAt: sql<number>`${slackLinks.createdAt}`.as('linked_at'),
      })
      .from(slackLinks)
      .innerJoin(
        receivers,
        and(eq(receivers.account, slackLinks.account), eq(receivers.number, slackLinks.receiver)),
      )
      .where(
        and(eq(slackLinks.account, principal.account.number), eq(slackLinks.member, member.id)),
      )
      .orderBy(asc(slackLinks.createdAt)),
  ]);
  return rows.map(({ channel, name, team, user, linkedAt }) => ({
    channel_id: withPrefix('chan', channel),
    channel_name: name ?? '',
    team,
    user,
    linked_at: formatTime(linkedAt),
  }));
}

/** Selects the channel for which a Slack user asks to be linked; nothing for a malformed id. */
export function selectLinkedChannel(reader: Reader, account: SQL<number>, id: string) {
  const channel = parseId('chan', id);
  return (
    channel &&
    reader
      .select()
      .from(receivers)
      .where(and(isChannel(account, channel), eq(receivers.kind, 'slack')))
  );
}

/**
 * Links a Slack user to the calling member: what the Slack user decides by this channel, the member
 * decides. A link of the same Slack user to another member ends.
 * @param channel as its secrets were when the Slack user was looked up
 * @throws Problem `conflict` if the channel was deleted meanwhile, or has other secrets
 */
export async function linkSlackUser(
  context: UserContext,
  { channel, user, member }: { channel: ReceiverRow; user: SlackUser; member: MemberRef },
): Promise<void> {
  const account = context.principal.account.number;
  const id = withPrefix('chan', channel.id);
  const isUnchanged = and(isChannel(account, id), eq(receivers.secret, channel.secret));
  const link = { member: member.id, createdAt: context.runtime.now() };
  const key = { account, receiver: channel.number, team: user.teamId, slackUser: user.id };
  await context.ledger.change({
    record: userActivity(context, 'slack_user.linked', id),
    guards: [
      {
        name: 'channel_was_as_read',
        holds: hasRow(receivers, isUnchanged),
        otherwise: () =>
          new Problem(
            'conflict',
            'The channel was changed meanwhile. Press the button in Slack again.',
          ),
      },
    ],
    changes: (write) => [
      write
        .insert(slackLinks)
        .values({ ...key, ...link })
        .onConflictDoUpdate({
          target: [slackLinks.account, slackLinks.receiver, slackLinks.team, slackLinks.slackUser],
          set: link,
        }),
    ],
    answer: null,
  });
}

/**
 * Ends the link of a Slack user to the calling member.
 * @throws Problem `not_found` if there is none
 */
export async function unlinkSlackUser(
  context: UserContext,
  { channel, user, member }: { channel: Id<'chan'>; user: SlackUser; member: MemberRef },
): Promise<void> {
  const account = context.principal.account.number;
  const isOwn = and(
    eq(slackLinks.account, account),
    sql`${slackLinks.receiver} = (select number from ${receivers} where ${isChannel(account, channel)})`,
    eq(slackLinks.team, user.teamId),
    eq(slackLinks.slackUser, user.id),
    eq(slackLinks.member, member.id),
  );
  await context.ledger.change({
    record: userActivity(context, 'slack_user.unlinked', channel),
    guards: [targetExists('linked Slack user', slackLinks, isOwn)],
    changes: (write) => [write.delete(slackLinks).where(isOwn)],
    answer: null,
  });
}

/** Makes the statement that ends the links of all Slack users of a channel. */
export function endLinksOfChannel(
  write: RecordWriter,
  account: number,
  channel: number | SQL<number>,
) {
  return write
    .delete(slackLinks)
    .where(and(eq(slackLinks.account, account), eq(slackLinks.receiver, channel)));
}
