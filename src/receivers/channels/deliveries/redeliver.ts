import { Hono } from 'hono';
import { userAccess } from '../../../http/access';
import type { UserContext } from '../../../http/context';
import { body, NoFields, noQuery } from '../../../http/input';
import { accepted, answer, operation } from '../../../http/operation';
import { withPrefix } from '../../../lib/typeid';
import type { FoundDelivery } from '../../deliveries/delivery';
import { redeliverAs } from '../../deliveries/redeliver';
import { requireRow } from '../../receiver';
import {
  ChannelDelivery,
  channelDeliveryPath,
  preloadChannelDelivery,
  presentChannelDelivery,
} from './delivery';

/**
 * Sends a message by a channel again, in a new delivery to the same recipient.
 * @throws Problem `conflict` if the channel is disabled, the permission is no longer kept, or its
 *   agent is deleted
 */
export function redeliverByChannel(
  context: UserContext,
  { delivery }: { delivery: FoundDelivery },
): Promise<ChannelDelivery> {
  const { receiverId, aboutPermission, reminder, member, slackChannel } = delivery;
  return redeliverAs(context, delivery, {
    noun: 'channel',
    present: (row) =>
      presentChannelDelivery(withPrefix('chan', receiverId), {
        ...row,
        aboutPermission,
        reminder,
        member,
        slackChannel,
      }),
  });
}

export const redeliverByChannelRoute = new Hono().post(
  '/v1/channels/:id/deliveries/:delivery_id/redeliver',
  operation({
    id: 'redeliverByChannel',
    tag: 'Channels',
    summary: 'Send a message by a channel again',
    description:
      'As a new delivery to the same recipient. A message about a request that was decided meanwhile is not sent.',
    success: accepted(ChannelDelivery),
    path: channelDeliveryPath,
    problems: ['not_found', 'conflict'],
  }),
  userAccess('channels:write', preloadChannelDelivery),
  noQuery(),
  body(NoFields),
  async (c) =>
    answer(
      c,
      await redeliverByChannel(c.var.context, {
        delivery: requireRow(c.var.loaded.delivery, 'delivery'),
      }),
    ),
);
