import { Hono } from 'hono';
import { userAccess } from '../../../http/access';
import type { UserContext } from '../../../http/context';
import { EXAMPLE } from '../../../http/examples';
import { noQuery } from '../../../http/input';
import { answer, ok, operation } from '../../../http/operation';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { withPrefix } from '../../../lib/typeid';
import type { FoundDelivery } from '../../deliveries/delivery';
import { deliveryDetailFields, presentDetail } from '../../deliveries/detail';
import { requireRow } from '../../receiver';
import {
  ChannelDelivery,
  channelDeliveryPath,
  exampleChannelDelivery,
  preloadChannelDelivery,
  presentChannelDelivery,
} from './delivery';

/** A message by a channel with its event and its attempts. */
export const ChannelDeliveryDetail = lazy(() =>
  ChannelDelivery()
    .extend(deliveryDetailFields())
    .meta({
      id: 'ChannelDeliveryDetail',
      description: 'A message by a channel with its event and its attempts.',
      examples: [
        {
          ...exampleChannelDelivery,
          payload: {
            event: 'permission.requested',
            timestamp: EXAMPLE.time,
            data: { action: EXAMPLE.action },
          },
          attempt_history: [{ at: EXAMPLE.time, status_code: 200, error: null, duration_ms: 41 }],
        },
      ],
    }),
);

type ChannelDeliveryDetail = LazyOutput<typeof ChannelDeliveryDetail>;

/** Presents a message by a channel with its event and its attempts. */
export function getChannelDelivery(
  context: UserContext,
  { delivery }: { delivery: FoundDelivery },
): ChannelDeliveryDetail {
  return {
    ...presentChannelDelivery(withPrefix('chan', delivery.receiverId), delivery),
    ...presentDetail(context, delivery),
  };
}

export const getChannelDeliveryRoute = new Hono().get(
  '/v1/channels/:id/deliveries/:delivery_id',
  operation({
    id: 'getChannelDelivery',
    tag: 'Channels',
    summary: 'Get a message by a channel with its attempts',
    success: ok(ChannelDeliveryDetail),
    path: channelDeliveryPath,
    problems: ['not_found'],
  }),
  userAccess('channels:read', preloadChannelDelivery),
  noQuery(),
  async (c) =>
    answer(
      c,
      getChannelDelivery(c.var.context, {
        delivery: requireRow(c.var.loaded.delivery, 'delivery'),
      }),
    ),
);
