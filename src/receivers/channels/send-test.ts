import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { body, NoFields, noQuery } from '../../http/input';
import { accepted, answer, operation } from '../../http/operation';
import { withPrefix } from '../../lib/typeid';
import { createDelivery } from '../deliveries/create';
import type { ShownDelivery } from '../deliveries/delivery';
import { writePayload } from '../deliveries/payload';
import type { ReceiverRow } from '../receiver';
import { preloadChannel, requireChannel } from './channel';
import { ChannelDelivery, presentChannelDelivery } from './deliveries/delivery';
import { slackChannelsOf } from './slack/config';

/**
 * Sends a test message by a channel, whatever its events and filter: an e-mail to the member who
 * asks, or a message to each of its Slack channels. The e-mail fails if the caller is no member or
 * has no confirmed address.
 * @returns the delivery, which for Slack is that to the first Slack channel
 * @throws Problem `conflict` if it is disabled
 */
export async function testChannel(
  context: UserContext,
  { channel }: { channel: ReceiverRow },
): Promise<ChannelDelivery> {
  const event = 'webhook.test';
  const id = withPrefix('chan', channel.id);
  const payload = writePayload(event, context.runtime.now(), { channel_id: id });
  const [slackChannel = null, ...further] = slackChannelsOf(channel).map((each) => each.id);
  const member = channel.kind === 'email' ? (context.principal.member?.id ?? null) : null;
  const recipient = { member, slackChannel };
  const delivery = {
    receiver: channel.number,
    event,
    original: null,
    pos: null,
    agent: null,
    payload,
    ...recipient,
  } as const;
  const presenter = {
    noun: 'channel' as const,
    present: (row: ShownDelivery) =>
      presentChannelDelivery(id, { ...row, aboutPermission: null, reminder: null, ...recipient }),
  };
  return createDelivery(context, delivery, presenter, further);
}

export const testChannelRoute = new Hono().post(
  '/v1/channels/:id/test',
  operation({
    id: 'testChannel',
    tag: 'Channels',
    summary: 'Send a test message by a channel',
    description:
      'By e-mail to the member who asks, or to each of its Slack channels: then the answer is the delivery to the first of ' +
      'them. A test by e-mail fails, and `last_error` of its delivery says why, if a token of the account asks, or a member ' +
      'who has not confirmed the e-mail address.',
    success: accepted(ChannelDelivery),
    pathId: 'chan',
    problems: ['conflict'],
  }),
  userAccess('channels:write', preloadChannel),
  noQuery(),
  body(NoFields),
  async (c) =>
    answer(c, await testChannel(c.var.context, { channel: requireChannel(c.var.loaded.channel) })),
);
