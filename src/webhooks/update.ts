import { type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { webhooks } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import { asNotFound, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { atLeastOneField, body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { lazy } from '../lib/lazy';
import { parseId } from '../lib/typeid';
import { enqueueWebhook } from '../outbox/enqueue';
import { closeFeed, newestOutcome, newestPosition, openFeed } from '../outbox/feed';
import {
  agentsOfBody,
  isWebhook,
  presentWebhook,
  requireAgents,
  requireTarget,
  Webhook,
  webhookFields,
  webhookOwner,
} from './webhook';

const WebhookUpdate = lazy(() =>
  atLeastOneField(z.strictObject(webhookFields()).partial()).meta({
    id: 'WebhookUpdate',
    examples: [{ events: ['audit.created'], is_active: true }],
  }),
);

type Input = z.output<ReturnType<typeof WebhookUpdate>>;

/**
 * Changes the fields that are named. Switched off, a webhook is sent nothing more, what waits included; switched on, it
 * begins with what happens from then on.
 * @param agents those of the agents it names that the account has
 */
export async function updateWebhook(
  context: UserContext,
  id: string,
  agents: { id: string }[] | undefined,
  input: Input,
): Promise<Webhook> {
  const webhook = parseId('webhook', id);
  if (!webhook) throw notFound('webhook');
  requireTarget(context.config, input.url);
  requireAgents(input.agent_ids, agents);
  const { principal, config, runtime } = context;
  const account = principal.account.number;
  const now = runtime.now();
  const fields = {
    url: input.url,
    description: input.description === '' ? null : input.description,
    events: input.events,
    agentIds: input.agent_ids,
    updatedAt: now,
    ...startedAnew(input, now),
    ...(input.is_active === true && switchedOn(account)),
    ...(input.is_active === false && switchedOff(now)),
  };
  const changed = { account: webhookOwner(account, webhook), changes: Object.keys(input) };
  const [[row]] = await context.ledger
    .change({
      record: userActivity(context, 'webhook.updated', webhook, changed),
      changes: (write) => [
        write.update(webhooks).set(fields).where(isWebhook(account, webhook)).returning(),
        ...openFeed(write, account),
        closeFeed(write, account),
      ],
      answer: null,
    })
    .catch(asNotFound('webhook'));
  if (!row) throw notFound('webhook');
  if (row.dueAt !== null && row.dueAt <= now) {
    await enqueueWebhook(config.webhooks, { shard: principal.shard, account, webhook: row.number }, row);
  }
  return presentWebhook(row);
}

/**
 * The state of a webhook whose URL changes, or that is switched on again: that of a new one. It goes to the queue of slow
 * webhooks until it has answered, and the worker that still sends to what it was records nothing more about it.
 */
function startedAnew({ url, is_active: isActive }: Input, now: number) {
  const isElsewhere = url === undefined ? sql`0` : sql`${webhooks.url} <> ${url}`;
  const wasOff = isActive === true ? sql`not ${webhooks.isActive}` : sql`0`;
  const ifAnew = (value: SQL | number | null, otherwise: SQL) =>
    sql`iif(${isElsewhere} or ${wasOff}, ${value}, ${otherwise})`;
  return {
    isSlow: ifAnew(1, sql`${webhooks.isSlow}`),
    failingSince: ifAnew(null, sql`${webhooks.failingSince}`),
    lease: ifAnew(null, sql`${webhooks.lease}`),
    dueAt: ifAnew(sql`iif(${webhooks.lease} is null, ${webhooks.dueAt}, ${now})`, sql`${webhooks.dueAt}`),
  };
}

/** What a webhook becomes that is switched on: it begins with what happens from now on. */
function switchedOn(account: number) {
  const ifOff = (value: SQL, otherwise: SQL) => sql<number>`iif(${webhooks.isActive}, ${otherwise}, ${value})`;
  return {
    isActive: true,
    disabledReason: null,
    startsAfter: ifOff(newestPosition(account), sql`${webhooks.startsAfter}`),
    startsAfterOutcome: ifOff(newestOutcome(account), sql`${webhooks.startsAfterOutcome}`),
  };
}

/** What a webhook becomes that is switched off: what waits for it is void. */
function switchedOff(now: number) {
  const ifOn = (value: SQL | number, otherwise: SQL) => sql`iif(${webhooks.isActive}, ${value}, ${otherwise})`;
  return {
    isActive: false,
    generation: ifOn(sql`${webhooks.generation} + 1`, sql`${webhooks.generation}`),
    hasVoid: ifOn(1, sql`${webhooks.hasVoid}`),
    dueAt: ifOn(sql`iif(${webhooks.lease} is null, ${now}, ${webhooks.dueAt})`, sql`${webhooks.dueAt}`),
  };
}

export const updateWebhookRoute = new Hono().put(
  '/v1/webhooks/:id',
  operation({
    id: 'updateWebhook',
    tag: 'Webhooks',
    summary: 'Change a webhook',
    description:
      'Changes the fields that are named. Switched off, it is sent nothing more, what waits included; switched on again, it ' +
      'begins with what happens from then on.',
    success: ok(Webhook),
    pathId: 'webhook',
  }),
  userAccess('webhooks:write', agentsOfBody),
  noQuery(),
  body(WebhookUpdate),
  async (c) => answer(c, await updateWebhook(c.var.context, c.req.param('id'), c.var.loaded, c.req.valid('json'))),
);
