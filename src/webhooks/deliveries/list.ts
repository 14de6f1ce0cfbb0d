import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agents, deliveries, type DeliveryStatus as Status, webhooks } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { makePageById, type Page, pageParameters, readCursor } from '../../http/page';
import { pageOf } from '../../http/shown';
import { later } from '../../lib/later';
import { idBytes } from '../../lib/typeid';
import { type WebhookRow, webhookOfPath } from '../webhook';
import { Delivery, DeliveryStatus, deliveryColumns, isShown, presentDelivery, statusCode } from './delivery';

const DeliveryList = later(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    status: DeliveryStatus().optional().meta({ description: 'Deliveries that are in this state.' }),
  }),
);

/** The partial indexes that find rare ones among many; what succeeded is found by the key alone. */
const INDEXES: Record<Status, SQL> = {
  pending: sql`indexed by deliveries_due`,
  succeeded: sql``,
  failed: sql`indexed by deliveries_failed`,
};

const CONDITIONS: Record<Status, SQL> = {
  pending: sql`and due_at is not null and generation = (select generation from webhooks where number = deliveries.webhook)`,
  succeeded: sql`and status = ${statusCode('succeeded')}`,
  failed: sql`and status = ${statusCode('failed')}`,
};

/**
 * Lists a webhook's deliveries, newest first.
 * @param webhook as the authentication found it
 */
export async function listDeliveries(
  { reader, principal, config }: UserContext,
  webhook: WebhookRow | undefined,
  { limit, cursor, ...filters }: z.output<ReturnType<typeof DeliveryList>>,
): Promise<Page<Delivery>> {
  if (!webhook) throw notFound('webhook');
  const binding = { list: webhook.id, owner: principal.account.id, filters };
  const before = cursor === undefined ? null : await readCursor(config.keyring, binding, cursor);
  const older = before === null ? sql`` : sql`and deliveries.id < ${idBytes(before)}`;
  const { status } = filters;
  const positions = sql`(
    select deliveries.id from deliveries ${status ? INDEXES[status] : sql``}
    where deliveries.webhook = ${webhook.number} ${status ? CONDITIONS[status] : sql``} ${older}
    order by deliveries.id desc limit ${limit + 1}
  ) as page`;
  const page = reader
    .select({ ...deliveryColumns, isShown: sql<number>`${isShown}`.as('is_shown') })
    .from(positions)
    .innerJoin(deliveries, and(eq(deliveries.webhook, webhook.number), sql`${deliveries.id} = page.id`))
    .innerJoin(webhooks, eq(webhooks.number, deliveries.webhook))
    .leftJoin(agents, eq(agents.number, deliveries.agent))
    .orderBy(desc(deliveries.id));
  const [rows] = await reader.load([page]);
  return makePageById(config.keyring, binding, rows, limit, (row) =>
    row.isShown ? presentDelivery(webhook.id, row) : null,
  );
}

export const deliveryList = new Hono().get(
  '/v1/webhooks/:id/deliveries',
  operation({
    id: 'listDeliveries',
    tag: 'Webhooks',
    summary: 'List the deliveries of a webhook',
    description: 'Newest first. They are kept for 30 days.',
    success: ok(pageOf(Delivery)),
    pathId: 'webhook',
  }),
  userAccess('webhooks:read', webhookOfPath),
  query(DeliveryList),
  async (c) => answer(c, await listDeliveries(c.var.context, c.var.loaded?.[0], c.req.valid('query'))),
);
