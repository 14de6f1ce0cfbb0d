import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { webhooks } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';
import { presentWebhook, Webhook } from './webhook';

const WebhookListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** Lists the account's webhooks, newest first. */
export async function listWebhooks(
  context: UserContext,
  input: z.output<ReturnType<typeof WebhookListQuery>>,
): Promise<Page<Webhook>> {
  const { reader, principal } = context;
  const { account } = principal;
  const page = await openPage<Id<'webhook'>>(context, { list: 'webhooks', caller: account.id }, input);
  const [rows] = await reader.load([
    reader
      .select()
      .from(webhooks)
      .where(
        and(
          eq(webhooks.account, account.number),
          eq(webhooks.kind, 'webhook'),
          page.after && lt(webhooks.id, page.after),
        ),
      )
      .orderBy(desc(webhooks.id))
      .limit(page.rowLimit),
  ]);
  return page.make(rows, presentWebhook);
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
