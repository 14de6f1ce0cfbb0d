import { Hono } from 'hono';
import { userAccess } from '../../../http/access';
import type { Reader, RequestContext, UserContext } from '../../../http/context';
import { query } from '../../../http/input';
import { selectRequested } from '../../../http/list';
import { answer, ok, operation } from '../../../http/operation';
import type { Page } from '../../../http/page';
import { pageOf } from '../../../http/response-fields';
import type { CallerSql } from '../../../identity/credentials';
import type { LazyOutput } from '../../../lib/lazy';
import { parseId, withPrefix } from '../../../lib/typeid';
import {
  DeliveryListQuery,
  type DeliveryRows,
  deliveryList,
  type ListedDelivery,
  listDeliveriesAs,
} from '../../deliveries/list';
import type { ReceiverRow } from '../../receiver';
import { isChannel, preloadChannel, requireChannel } from '../channel';
import { ChannelDelivery, presentChannelDelivery } from './delivery';

/** Preloads the channel in the path, and the page of its messages. */
async function preloadDeliveries(c: RequestContext, reader: Reader, caller: CallerSql) {
  const id = parseId('chan', c.req.param('id') ?? '');
  const list = id && deliveryList((owner) => isChannel(owner, id));
  const { channel } = await preloadChannel(c, reader, caller);
  return { channel, page: list && selectRequested(c, list, reader, caller) };
}

/**
 * Lists the messages by a channel, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export function listChannelDeliveries(
  context: UserContext,
  { channel, ...input }: { channel: ReceiverRow } & LazyOutput<typeof DeliveryListQuery>,
  preloaded?: DeliveryRows,
): Promise<Page<ChannelDelivery>> {
  const id = withPrefix('chan', channel.id);
  const present = (row: ListedDelivery) => presentChannelDelivery(id, row);
  return listDeliveriesAs(context, { receiver: channel, ...input }, present, preloaded);
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
  userAccess('channels:read', preloadDeliveries),
  query(DeliveryListQuery),
  async (c) => {
    const input = { channel: requireChannel(c.var.loaded.channel), ...c.req.valid('query') };
    return answer(c, await listChannelDeliveries(c.var.context, input, c.var.loaded.page));
  },
);
