import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { type Page, pageParameters } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { listReceivers } from './receivers';
import { presentWebhook, Webhook } from './webhook';

const WebhookListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** Lists the account's webhooks, newest first. */
export async function listWebhooks(
  context: UserContext,
  input: LazyOutput<typeof WebhookListQuery>,
): Promise<Page<Webhook>> {
  const { data, ...rest } = await listReceivers(context, 'webhook', input);
  return { data: data.map(presentWebhook), ...rest };
}

export const listWebhooksRoute = new Hono().get(
  '/v1/webhooks',
  operation({
    id: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List webhooks',
    description: 'Newest first.',
    success: ok(pageOf(Webhook)),
  }),
  userAccess('webhooks:read'),
  query(WebhookListQuery),
  async (c) => answer(c, await listWebhooks(c.var.context, c.req.valid('query'))),
);
