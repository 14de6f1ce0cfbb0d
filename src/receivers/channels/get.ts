import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { Channel, describeChannel, preloadChannel, requireChannel } from './channel';

export const getChannelRoute = new Hono().get(
  '/v1/channels/:id',
  operation({
    id: 'getChannel',
    tag: 'Channels',
    summary: 'Get a channel',
    success: ok(Channel),
    pathId: 'chan',
  }),
  userAccess('channels:read', preloadChannel),
  noQuery(),
  async (c) =>
    answer(c, await describeChannel(c.var.context, requireChannel(c.var.loaded.channel))),
);
