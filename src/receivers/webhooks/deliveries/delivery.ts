import * as z from 'zod';
import type { Reader } from '../../../db/database';
import type { RequestContext } from '../../../http/context';
import { EXAMPLE, exampleId } from '../../../http/examples';
import { idField } from '../../../http/response-fields';
import type { CallerSql } from '../../../identity/credentials';
import { type LazyOutput, lazy } from '../../../lib/lazy';
import { parseId } from '../../../lib/typeid';
import {
  deliveryFields,
  findDelivery,
  presentProgress,
  type ShownDelivery,
} from '../../deliveries/delivery';
import { isWebhook } from '../webhook';

export const exampleDelivery = {
  id: exampleId('dlv'),
  webhook_id: exampleId('webhook'),
  event: 'audit.created',
  status: 'pending',
  attempts: 1,
  next_attempt_at: EXAMPLE.laterTime,
  last_status_code: 503,
  last_error: 'The answer was 503.',
  created_at: EXAMPLE.time,
  completed_at: null,
};

/** A delivery as the API shows it in lists. */
export const Delivery = lazy(() =>
  z.object({ id: idField('dlv'), webhook_id: idField('webhook'), ...deliveryFields() }).meta({
    id: 'Delivery',
    description: 'One event on its way to one webhook.',
    examples: [exampleDelivery],
  }),
);

export type Delivery = LazyOutput<typeof Delivery>;

/** Preloads the delivery in the path. */
export async function preloadDelivery(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const webhook = parseId('webhook', c.req.param('id') ?? '');
  const id = parseId('dlv', c.req.param('delivery_id') ?? '');
  return { delivery: webhook && id && findDelivery(reader, isWebhook(account, webhook), id) };
}

/** Presents a delivery to a webhook. */
export function presentDelivery(webhook: Delivery['webhook_id'], row: ShownDelivery): Delivery {
  return { id: row.id, webhook_id: webhook, ...presentProgress(row) };
}
