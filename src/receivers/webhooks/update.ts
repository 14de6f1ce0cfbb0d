import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { receivers } from '../../db/schema';
import { notFound } from '../../errors';
import { userAccess } from '../../http/access';
import { targetExists, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { atLeastOneField, body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { pathId } from '../../http/path-id';
import { type LazyOutput, lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';
import { enqueueMessage } from '../../outbox/enqueue';
import { closeFeed, openFeed } from '../../outbox/feed';
import { activationColumns } from '../activation';
import { requireAgents } from '../named-agents';
import {
  isWebhook,
  preloadAgents,
  presentWebhook,
  requireTarget,
  Webhook,
  webhookFields,
} from './webhook';

export const WebhookUpdate = lazy(() =>
  atLeastOneField(z.strictObject(webhookFields()).partial()).meta({
    id: 'WebhookUpdate',
    examples: [{ events: ['audit.created'], is_active: true }],
  }),
);

type Fields = LazyOutput<typeof WebhookUpdate>;

/**
 * Changes the given fields of a webhook. A disabled webhook gets nothing more, not even pending
 * deliveries; a webhook that is enabled gets the events from then on.
 * @param agents those of the agents in `agent_ids` that the account has
 * @throws Problem `not_found`, `invalid_request`
 */
export async function updateWebhook(
  context: UserContext,
  { id, agents, ...fields }: { id: Id<'webhook'>; agents: { id: string }[] } & Fields,
): Promise<Webhook> {
  requireTarget(context.config, fields.url);
  requireAgents(fields.agent_ids, agents);
  const { principal, config, runtime } = context;
  const account = principal.account.number;
  const now = runtime.now();
  const columns = {
    url: fields.url,
    description: fields.description === '' ? null : fields.description,
    events: fields.events,
    agentIds: fields.agent_ids,
    updatedAt: now,
    ...activationColumns(
      account,
      fields.is_active,
      fields.url === undefined ? sql`0` : sql`${receivers.url} <> ${fields.url}`,
      now,
    ),
  };
  const [[row]] = await context.ledger.change({
    record: userActivity(context, 'webhook.updated', id, { changes: Object.keys(fields) }),
    guards: [targetExists('webhook', receivers, isWebhook(account, id))],
    changes: (write) => [
      write.update(receivers).set(columns).where(isWebhook(account, id)).returning(),
      ...openFeed(write, account),
      closeFeed(write, account),
    ],
    answer: null,
  });
  if (!row) throw notFound('webhook');
  if (row.dueAt !== null && row.dueAt <= now) {
    await enqueueMessage(
      config.delivery,
      { shard: principal.shard, account, receiver: row.number },
      row,
    );
  }
  return presentWebhook(row);
}

export const updateWebhookRoute = new Hono().put(
  '/v1/webhooks/:id',
  operation({
    id: 'updateWebhook',
    tag: 'Webhooks',
    summary: 'Change a webhook',
    description:
      'Changes the given fields. A disabled webhook gets nothing more, not even pending deliveries; when it is enabled ' +
      'again, it gets the events from then on.',
    success: ok(Webhook),
    pathId: 'webhook',
  }),
  userAccess('webhooks:write', preloadAgents),
  noQuery(),
  body(WebhookUpdate),
  async (c) => {
    const input = {
      id: pathId(c, 'webhook'),
      agents: c.var.loaded.agents ?? [],
      ...c.req.valid('json'),
    };
    return answer(c, await updateWebhook(c.var.context, input));
  },
);
