import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import { erasures, receivers } from '../../db/schema';
import { userAccess } from '../../http/access';
import { targetExists, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, noContent, operation } from '../../http/operation';
import { pathId } from '../../http/path-id';
import type { Id } from '../../lib/typeid';
import { closeFeed } from '../../outbox/feed';
import { isWebhook } from './webhook';

/**
 * Deletes a webhook. A worker that is sending to it stops when it next records a batch, and a cron
 * task erases its deliveries.
 * @throws Problem `not_found`
 */
export async function deleteWebhook(
  context: UserContext,
  { id }: { id: Id<'webhook'> },
): Promise<void> {
  const account = context.principal.account.number;
  const number = sql<number>`(select number from ${receivers} where ${isWebhook(account, id)})`;
  await context.ledger.change({
    record: userActivity(context, 'webhook.deleted', id),
    guards: [targetExists('webhook', receivers, isWebhook(account, id))],
    changes: (write) => [
      write.insert(erasures).values({ kind: 'receiver', account, number }),
      write.delete(receivers).where(isWebhook(account, id)),
      closeFeed(write, account),
    ],
    answer: null,
  });
}

export const deleteWebhookRoute = new Hono().delete(
  '/v1/webhooks/:id',
  operation({
    id: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'Deletes its deliveries too. Nothing more is sent to it.',
    success: noContent(),
    pathId: 'webhook',
  }),
  userAccess('webhooks:write'),
  noQuery(),
  async (c) => {
    await deleteWebhook(c.var.context, { id: pathId(c, 'webhook') });
    return answer(c, null);
  },
);
