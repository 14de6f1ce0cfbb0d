import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { body, NoFields, noQuery } from '../../http/input';
import { accepted, answer, operation } from '../../http/operation';
import { createDelivery } from '../deliveries/create';
import { writePayload } from '../deliveries/payload';
import { type ReceiverRow, requireRow } from '../receiver';
import { Delivery, presentDelivery } from './deliveries/delivery';
import { preloadWebhook } from './webhook';

/**
 * Sends the event `webhook.test` to a webhook, whatever its filters.
 * @throws Problem `conflict` if it is disabled
 */
export async function testWebhook(
  context: UserContext,
  { webhook }: { webhook: ReceiverRow },
): Promise<Delivery> {
  const event = 'webhook.test';
  const payload = writePayload(event, context.runtime.now(), { webhook_id: webhook.id });
  const delivery = {
    receiver: webhook.number,
    event,
    original: null,
    pos: null,
    agent: null,
    payload,
  } as const;
  return createDelivery(context, delivery, {
    noun: 'webhook',
    present: (row) => presentDelivery(webhook.id, row),
  });
}

export const testWebhookRoute = new Hono().post(
  '/v1/webhooks/:id/test',
  operation({
    id: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a test event to a webhook',
    description: 'Sends the event `webhook.test`, whatever the filters of the webhook.',
    success: accepted(Delivery),
    pathId: 'webhook',
    problems: ['conflict'],
  }),
  userAccess('webhooks:write', preloadWebhook),
  noQuery(),
  body(NoFields),
  async (c) =>
    answer(
      c,
      await testWebhook(c.var.context, { webhook: requireRow(c.var.loaded.webhook, 'webhook') }),
    ),
);
