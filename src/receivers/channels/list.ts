import { Hono } from 'hono';
import * as z from 'zod';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { type Page, pageParameters } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { listReceivers } from '../webhooks/receivers';
import { Channel, describeChannel } from './channel';

const ChannelListQuery = lazy(() => z.strictObject(pageParameters(20, 100)));

/** Lists the account's channels, newest first. */
export async function listChannels(
  context: UserContext,
  input: LazyOutput<typeof ChannelListQuery>,
): Promise<Page<Channel>> {
  const { data, ...rest } = await listReceivers(context, 'channel', input);
  return { data: await Promise.all(data.map((row) => describeChannel(context, row))), ...rest };
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
