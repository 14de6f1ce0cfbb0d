import { and, eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { sessions } from '../../db/schema';
import { userAccess } from '../../http/access';
import { targetExists, userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { listCaller } from '../../http/list';
import { answer, noContent, operation } from '../../http/operation';
import { pathId } from '../../http/path-id';
import { ownSessions } from '../../identity/sessions/session';
import type { Id } from '../../lib/typeid';

/**
 * Ends at once one of the console sessions that `GET /v1/me/sessions` lists for the caller.
 * @throws Problem `not_found`
 */
export async function endSession(
  context: UserContext,
  { id }: { id: Id<'session'> },
): Promise<void> {
  const found = and(ownSessions(listCaller(context)), eq(sessions.id, id));
  await context.ledger.change({
    record: userActivity(context, 'session.ended', id),
    guards: [targetExists('session', sessions, found)],
    changes: (write) => [write.delete(sessions).where(found)],
    answer: null,
  });
}

export const endSessionRoute = new Hono().delete(
  '/v1/me/sessions/:id',
  operation({
    id: 'endSession',
    tag: 'Account',
    summary: 'End one of your sessions',
    description: 'The session of the console ends at once.',
    success: noContent(),
    pathId: 'session',
  }),
  userAccess('account:read'),
  noQuery(),
  async (c) => {
    await endSession(c.var.context, { id: pathId(c, 'session') });
    return answer(c, null);
  },
);
