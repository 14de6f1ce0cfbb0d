import { Hono } from 'hono';
import { erasures, webhooks } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import { asNotFound, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, noContent, operation } from '../http/operation';
import { parseId } from '../lib/typeid';
import { closeFeed } from '../outbox/feed';
import { isWebhook, webhookNumber, webhookOwner } from './webhook';

/** Deletes a webhook. Nothing is sent to it any more; the sweep erases its deliveries. */
export async function deleteWebhook(context: UserContext, id: string): Promise<void> {
  const webhook = parseId('webhook', id);
  if (!webhook) throw notFound('webhook');
  const account = context.principal.account.number;
  await context.ledger
    .change({
      record: userActivity(context, 'webhook.deleted', webhook, { account: webhookOwner(account, webhook) }),
      changes: (write) => [
        write.insert(erasures).values({ kind: 'webhook', number: webhookNumber(account, webhook) }),
        write.delete(webhooks).where(isWebhook(account, webhook)),
        closeFeed(write, account),
      ],
      answer: null,
    })
    .catch(asNotFound('webhook'));
}

export const deleteWebhookRoute = new Hono().delete(
  '/v1/webhooks/:id',
  operation({
    id: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'With its deliveries. Nothing is sent to it any more.',
    success: noContent(),
    pathId: 'webhook',
  }),
  userAccess('webhooks:write'),
  noQuery(),
  async (c) => {
    await deleteWebhook(c.var.context, c.req.param('id'));
    return answer(c, null);
  },
);
