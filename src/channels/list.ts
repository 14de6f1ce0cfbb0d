import { and, desc, eq, lt, ne } from 'drizzle-orm';
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
import { Channel, describeChannel } from './channel';

const ChannelListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** Lists the account's channels, newest first. */
export async function listChannels(
  context: UserContext,
  input: z.output<ReturnType<typeof ChannelListQuery>>,
): Promise<Page<Channel>> {
  const { reader, principal, config } = context;
  const { account } = principal;
  const page = await openPage<Id<'webhook'>>(context, { list: 'channels', caller: account.id }, input);
  const [rows] = await reader.load([
    reader
      .select()
      .from(webhooks)
      .where(
        and(
          eq(webhooks.account, account.number),
          ne(webhooks.kind, 'webhook'),
          page.after && lt(webhooks.id, page.after),
        ),
      )
      .orderBy(desc(webhooks.id))
      .limit(page.rowLimit),
  ]);
  const { data, ...rest } = await page.make(rows, (row) => row);
  return { data: await Promise.all(data.map((row) => describeChannel(config, row))), ...rest };
}

export const listChannelsRoute = new Hono().get(
  '/v1/channels',
  operation({
    id: 'listChannels',
    tag: 'Channels',
    summary: 'List channels',
    description: 'Newest first.',
    success: ok(pageOf(Channel)),
  }),
  userAccess('channels:read'),
  query(ChannelListQuery),
  async (c) => answer(c, await listChannels(c.var.context, c.req.valid('query'))),
);
