import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { preloadPage } from '../../http/list';
import { answer, ok, operation } from '../../http/operation';
import type { Page } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import type { LazyOutput } from '../../lib/lazy';
import { listReceivers, ReceiverListQuery, type ReceiverRow, receiverList } from '../receiver';
import { presentWebhook, Webhook } from './webhook';

/**
 * Lists the account's webhooks, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listWebhooks(
  context: UserContext,
  input: LazyOutput<typeof ReceiverListQuery>,
  preloaded?: ReceiverRow[],
): Promise<Page<Webhook>> {
  const { data, ...rest } = await listReceivers(context, 'webhook', input, preloaded);
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
  userAccess('webhooks:read', preloadPage(receiverList('webhook'))),
  query(ReceiverListQuery),
  async (c) =>
    answer(c, await listWebhooks(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);
