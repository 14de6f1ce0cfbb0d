import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../../../http/access';
import type { UserContext } from '../../../http/context';
import { EXAMPLE } from '../../../http/examples';
import { noQuery } from '../../../http/input';
import { answer, ok, operation } from '../../../http/operation';
import { idField } from '../../../http/response-fields';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import type { FoundDelivery } from '../../deliveries/delivery';
import { deliveryDetailFields, presentDetail } from '../../deliveries/detail';
import { requireRow } from '../../receiver';
import { Delivery, exampleDelivery, preloadDelivery, presentDelivery } from './delivery';

/** A delivery with its payload and its attempts. */
export const DeliveryDetail = lazy(() =>
  Delivery()
    .extend(deliveryDetailFields())
    .meta({
      id: 'DeliveryDetail',
      description: 'A delivery with its payload and its attempts.',
      examples: [
        {
          ...exampleDelivery,
          payload: {
            event: 'audit.created',
            timestamp: EXAMPLE.time,
            data: { event_type: 'request' },
          },
          attempt_history: [
            { at: EXAMPLE.time, status_code: 503, error: 'The answer was 503.', duration_ms: 41 },
          ],
        },
      ],
    }),
);

export type DeliveryDetail = LazyOutput<typeof DeliveryDetail>;

/** The parameters in the path of a delivery. */
export const deliveryPath = lazy(() =>
  z.object({ id: idField('webhook'), delivery_id: idField('dlv') }),
);

/** Presents a delivery with its payload and its attempts. */
export function getDelivery(
  context: UserContext,
  { delivery }: { delivery: FoundDelivery },
): DeliveryDetail {
  return { ...presentDelivery(delivery.receiverId, delivery), ...presentDetail(context, delivery) };
}

export const getDeliveryRoute = new Hono().get(
  '/v1/webhooks/:id/deliveries/:delivery_id',
  operation({
    id: 'getDelivery',
    tag: 'Webhooks',
    summary: 'Get a delivery with its attempts',
    success: ok(DeliveryDetail),
    path: deliveryPath,
    problems: ['not_found'],
  }),
  userAccess('webhooks:read', preloadDelivery),
  noQuery(),
  async (c) =>
    answer(
      c,
      getDelivery(c.var.context, { delivery: requireRow(c.var.loaded.delivery, 'delivery') }),
    ),
);
