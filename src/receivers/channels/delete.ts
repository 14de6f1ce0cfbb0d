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
import { isChannel } from './channel';
import { endLinksOfChannel } from './slack/links';

/**
 * Deletes a channel. A worker that is sending by it stops when it next records a batch, and a cron
 * task erases its deliveries.
 * @throws Problem `not_found`
 */
export async function deleteChannel(
  context: UserContext,
  { id }: { id: Id<'chan'> },
): Promise<void> {
  const account = context.principal.account.number;
  const number = sql<number>`(select number from ${receivers} where ${isChannel(account, id)})`;
  await context.ledger.change({
    record: userActivity(context, 'channel.deleted', id),
    guards: [targetExists('channel', receivers, isChannel(account, id))],
    changes: (write) => [
      write.insert(erasures).values({ kind: 'receiver', account, number }),
      endLinksOfChannel(write, account, number),
      write.delete(receivers).where(isChannel(account, id)),
      closeFeed(write, account),
    ],
    answer: null,
  });
}

export const deleteChannelRoute = new Hono().delete(
  '/v1/channels/:id',
  operation({
    id: 'deleteChannel',
    tag: 'Channels',
    summary: 'Delete a channel',
    description: 'Deletes its deliveries too. It sends nothing more.',
    success: noContent(),
    pathId: 'chan',
  }),
  userAccess('channels:write'),
  noQuery(),
  async (c) => {
    await deleteChannel(c.var.context, { id: pathId(c, 'chan') });
    return answer(c, null);
  },
);
