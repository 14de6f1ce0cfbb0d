import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { requireRow } from '../receiver';
import { preloadWebhook, presentWebhook, Webhook } from './webhook';

export const getWebhookRoute = new Hono().get(
  '/v1/webhooks/:id',
  operation({
    id: 'getWebhook',
    tag: 'Webhooks',
    summary: 'Get a webhook',
    success: ok(Webhook),
    pathId: 'webhook',
  }),
  userAccess('webhooks:read', preloadWebhook),
  noQuery(),
  async (c) => answer(c, presentWebhook(requireRow(c.var.loaded.webhook, 'webhook'))),
);
