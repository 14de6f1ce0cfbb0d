import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { query } from '../../http/input';
import { preloadPage } from '../../http/list';
import { answer, ok, operation } from '../../http/operation';
import type { Page } from '../../http/page';
import { pageOf } from '../../http/response-fields';
import type { LazyOutput } from '../../lib/lazy';
import { listReceivers, ReceiverListQuery, type ReceiverRow, receiverList } from '../receiver';
import { Channel, describeChannel } from './channel';

/**
 * Lists the account's channels, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listChannels(
  context: UserContext,
  input: LazyOutput<typeof ReceiverListQuery>,
  preloaded?: ReceiverRow[],
): Promise<Page<Channel>> {
  const { data, ...rest } = await listReceivers(context, 'channel', input, preloaded);
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
  userAccess('channels:read', preloadPage(receiverList('channel'))),
  query(ReceiverListQuery),
  async (c) =>
    answer(c, await listChannels(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);
