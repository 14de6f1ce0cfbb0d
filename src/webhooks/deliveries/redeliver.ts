import { Hono } from 'hono';
import { notFound, Problem } from '../../errors';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { accepted, answer, operation } from '../../http/operation';
import { NoFields } from '../webhook';
import { createDelivery } from './create';
import { Delivery, deliveryOfPath, type FoundDelivery, payloadOf } from './delivery';
import { deliveryPath } from './get';

/**
 * Sends what a delivery sent once more: a delivery of its own, with the same `webhook-id`, so that a receiver knows it.
 * @param row the delivery, as the authentication found it
 * @throws Problem `not_found`; `conflict` when the webhook is off, or the entry is not kept any more
 */
export async function redeliver(context: UserContext, row: FoundDelivery | undefined): Promise<Delivery> {
  if (!row) throw notFound('delivery');
  if (payloadOf(row, context.principal.account, context.runtime.now()) === null) {
    throw new Problem('conflict', 'The audit entry that the delivery tells of is not kept any more.');
  }
  const { event, pos, agent, payload } = row;
  const original = row.original ?? row.id;
  return createDelivery(context, row.webhookId, { event, original, pos, agent, payload });
}

export const redeliverRoute = new Hono().post(
  '/v1/webhooks/:id/deliveries/:delivery_id/redeliver',
  operation({
    id: 'redeliver',
    tag: 'Webhooks',
    summary: 'Send a delivery once more',
    description: 'As a new delivery with the same `webhook-id`.',
    success: accepted(Delivery),
    path: deliveryPath,
    problems: ['not_found', 'conflict'],
  }),
  userAccess('webhooks:write', deliveryOfPath),
  noQuery(),
  body(NoFields),
  async (c) => answer(c, await redeliver(c.var.context, c.var.loaded?.[0])),
);
