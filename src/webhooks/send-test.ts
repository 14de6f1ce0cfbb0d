import { Hono } from 'hono';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { body, noQuery } from '../http/input';
import { accepted, answer, operation } from '../http/operation';
import { createDelivery } from './deliveries/create';
import { Delivery } from './deliveries/delivery';
import { writePayload } from './payload';
import { NoFields, type WebhookRow, webhookOfPath } from './webhook';

/**
 * Sends a webhook an event that tells of nothing, whatever its filters say.
 * @param row the webhook, as the authentication found it
 * @throws Problem `not_found`; `conflict` when it is switched off
 */
export async function testWebhook(context: UserContext, row: WebhookRow | undefined): Promise<Delivery> {
  if (!row) throw notFound('webhook');
  const event = 'webhook.test';
  const payload = writePayload(event, context.runtime.now(), { webhook_id: row.id });
  return createDelivery(context, row.id, { event, original: null, pos: null, agent: null, payload });
}

export const testWebhookRoute = new Hono().post(
  '/v1/webhooks/:id/test',
  operation({
    id: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a test event to a webhook',
    description: 'The event `webhook.test`, which is sent whatever the filters say.',
    success: accepted(Delivery),
    pathId: 'webhook',
    problems: ['conflict'],
  }),
  userAccess('webhooks:write', webhookOfPath),
  noQuery(),
  body(NoFields),
  async (c) => answer(c, await testWebhook(c.var.context, c.var.loaded?.[0])),
);
