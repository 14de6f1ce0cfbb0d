import { Hono } from 'hono';
import { series } from '../../db/schema';
import { userAccess } from '../../http/access';
import { targetExists, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, noContent, operation } from '../../http/operation';
import { pathId } from '../../http/path-id';
import type { Id } from '../../lib/typeid';
import { isLiveSeriesOf } from './series';

/**
 * Ends the live series that the approval of a permission gave. It approves nothing from then on.
 * @throws Problem `not_found` if there is none
 */
export async function endSeries(context: UserContext, { id }: { id: Id<'perm'> }): Promise<void> {
  const { principal, runtime, ledger } = context;
  const now = runtime.now();
  const found = isLiveSeriesOf(principal.account.number, id, now);
  await ledger.change({
    record: userActivity(context, 'series.ended', id),
    guards: [targetExists('live series', series, found)],
    changes: (write) => [write.update(series).set({ liveUntil: 0, endedAt: now }).where(found)],
    answer: null,
  });
}

export const endSeriesRoute = new Hono().delete(
  '/v1/permissions/:id/series',
  operation({
    id: 'endSeries',
    tag: 'Permissions',
    summary: 'End a series',
    description:
      'The series that the approval of this permission gave approves nothing from then on. What it has approved stays ' +
      'approved.',
    success: noContent(),
    pathId: 'perm',
  }),
  userAccess('permissions:decide'),
  noQuery(),
  async (c) => {
    await endSeries(c.var.context, { id: pathId(c, 'perm', 'permission') });
    return answer(c, null);
  },
);
