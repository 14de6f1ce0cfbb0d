import { Hono } from 'hono';
import type { Reader } from '../../../db/database';
import { userAccess } from '../../../http/access';
import type { RequestContext, UserContext } from '../../../http/context';
import { query } from '../../../http/input';
import { selectRequested } from '../../../http/list';
import { answer, ok, operation } from '../../../http/operation';
import type { Page } from '../../../http/page';
import { pageOf } from '../../../http/response-fields';
import type { CallerSql } from '../../../identity/credentials';
import { parseId } from '../../../lib/typeid';
import {
  DeliveryListQuery,
  type DeliveryRows,
  deliveryList,
  type ListedDelivery,
  type ListInput,
  listDeliveriesAs,
} from '../../deliveries/list';
import { requireRow } from '../../receiver';
import { isWebhook, preloadWebhook } from '../webhook';
import { Delivery, presentDelivery } from './delivery';

/** Preloads the webhook in the path, and the page of its deliveries. */
async function preloadDeliveries(c: RequestContext, reader: Reader, caller: CallerSql) {
  const id = parseId('webhook', c.req.param('id') ?? '');
  const list = id && deliveryList((owner) => isWebhook(owner, id));
  const { webhook } = await preloadWebhook(c, reader, caller);
  return { webhook, page: list && selectRequested(c, list, reader, caller) };
}

/**
 * Lists a webhook's deliveries, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export function listDeliveries(
  context: UserContext,
  input: ListInput,
  preloaded?: DeliveryRows,
): Promise<Page<Delivery>> {
  const present = (row: ListedDelivery) => presentDelivery(input.receiver.id, row);
  return listDeliveriesAs(context, input, present, preloaded);
}

export const listDeliveriesRoute = new Hono().get(
  '/v1/webhooks/:id/deliveries',
  operation({
    id: 'listDeliveries',
    tag: 'Webhooks',
    summary: 'List the deliveries of a webhook',
    description: 'Newest first. They are kept for 30 days.',
    success: ok(pageOf(Delivery)),
    pathId: 'webhook',
  }),
  userAccess('webhooks:read', preloadDeliveries),
  query(DeliveryListQuery),
  async (c) => {
    const input = {
      receiver: requireRow(c.var.loaded.webhook, 'webhook'),
      ...c.req.valid('query'),
    };
    return answer(c, await listDeliveries(c.var.context, input, c.var.loaded.page));
  },
);
