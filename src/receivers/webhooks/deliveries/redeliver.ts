import { Hono } from 'hono';
import { userAccess } from '../../../http/access';
import type { UserContext } from '../../../http/context';
import { body, NoFields, noQuery } from '../../../http/input';
import { accepted, answer, operation } from '../../../http/operation';
import type { FoundDelivery } from '../../deliveries/delivery';
import { redeliverAs } from '../../deliveries/redeliver';
import { requireRow } from '../../receiver';
import { Delivery, preloadDelivery, presentDelivery } from './delivery';
import { deliveryPath } from './get';

/**
 * Sends the event of a delivery again, in a new delivery with the same `webhook-id`, by which
 * the server recognizes it.
 * @throws Problem `conflict` if the webhook is disabled, the audit entry or the permission is no
 *   longer kept, or its agent is deleted
 */
export async function redeliver(
  context: UserContext,
  { delivery }: { delivery: FoundDelivery },
): Promise<Delivery> {
  return redeliverAs(context, delivery, {
    noun: 'webhook',
    present: (row) => presentDelivery(delivery.receiverId, row),
  });
}

export const redeliverRoute = new Hono().post(
  '/v1/webhooks/:id/deliveries/:delivery_id/redeliver',
  operation({
    id: 'redeliver',
    tag: 'Webhooks',
    summary: 'Send a delivery again',
    description: 'As a new delivery with the same `webhook-id`.',
    success: accepted(Delivery),
    path: deliveryPath,
    problems: ['not_found', 'conflict'],
  }),
  userAccess('webhooks:write', preloadDelivery),
  noQuery(),
  body(NoFields),
  async (c) =>
    answer(
      c,
      await redeliver(c.var.context, {
        delivery: requireRow(c.var.loaded.delivery, 'delivery'),
      }),
    ),
);
