import { Hono } from 'hono';
import { userAccess } from '../../../http/access';
import type { UserContext } from '../../../http/context';
import { query } from '../../../http/input';
import { answer, ok, operation } from '../../../http/operation';
import type { Page } from '../../../http/page';
import { pageOf } from '../../../http/response-fields';
import type { LazyOutput } from '../../../lib/lazy';
import { withPrefix } from '../../../lib/typeid';
import { DeliveryListQuery, listDeliveriesAs } from '../../webhooks/deliveries/list';
import type { WebhookRow } from '../../webhooks/webhook';
import { preloadChannel, requireChannel } from '../channel';
import { ChannelDelivery, presentChannelDelivery } from './delivery';

/** Lists the messages by a channel, newest first. */
export function listChannelDeliveries(
  context: UserContext,
  { channel, ...input }: { channel: WebhookRow } & LazyOutput<typeof DeliveryListQuery>,
): Promise<Page<ChannelDelivery>> {
  const id = withPrefix('chan', channel.id);
  return listDeliveriesAs(context, { webhook: channel, ...input }, (row) =>
    presentChannelDelivery(id, row),
  );
}

export const listChannelDeliveriesRoute = new Hono().get(
  '/v1/channels/:id/deliveries',
  operation({
    id: 'listChannelDeliveries',
    tag: 'Channels',
    summary: 'List the messages by a channel',
    description: 'Newest first, one for each recipient. They are kept for 30 days.',
    success: ok(pageOf(ChannelDelivery)),
    pathId: 'chan',
  }),
  userAccess('channels:read', preloadChannel),
  query(DeliveryListQuery),
  async (c) => {
    const input = { channel: requireChannel(c.var.loaded.channel), ...c.req.valid('query') };
    return answer(c, await listChannelDeliveries(c.var.context, input));
  },
);
