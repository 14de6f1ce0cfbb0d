import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { webhooks } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { makePageById, type Page, pageParameters, readCursor } from '../http/page';
import { pageOf } from '../http/response-fields';
import { lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';
import { presentWebhook, Webhook } from './webhook';

const WebhookList = lazy(() => z.strictObject(pageParameters(20, 100)));

/** Lists the account's webhooks, newest first. */
export async function listWebhooks(
  { reader, principal, config }: UserContext,
  { limit, cursor }: z.output<ReturnType<typeof WebhookList>>,
): Promise<Page<Webhook>> {
  const binding = { list: 'webhooks', owner: principal.account.id, filters: {} };
  const before = cursor === undefined ? null : await readCursor(config.keyring, binding, cursor);
  const older = before ? lt(webhooks.id, before as Id<'webhook'>) : undefined;
  const page = reader
    .select()
    .from(webhooks)
    .where(and(eq(webhooks.account, principal.account.number), older))
    .orderBy(desc(webhooks.id))
    .limit(limit + 1);
  const [rows] = await reader.load([page]);
  return makePageById(config.keyring, binding, rows, limit, presentWebhook);
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
  query(WebhookList),
  async (c) => answer(c, await listWebhooks(c.var.context, c.req.valid('query'))),
);
