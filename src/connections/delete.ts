import { Hono } from 'hono';
import { connections, erasures } from '../db/schema';
import { userAccess } from '../http/access';
import { targetExists, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, noContent, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import { type Id, idBytes } from '../lib/typeid';
import { isConnection } from './connection';
import { withdrawRequests } from './withdraw';

/**
 * Deletes a connection with its secret, and withdraws its pending requests. It sends nothing more.
 * A background task erases the counts of its reads.
 * @throws Problem `not_found`
 */
export async function deleteConnection(
  context: UserContext,
  { id }: { id: Id<'conn'> },
): Promise<void> {
  const account = context.principal.account.number;
  await context.ledger.change({
    record: userActivity(context, 'connection.deleted', id),
    guards: [targetExists('connection', connections, isConnection(account, id))],
    changes: (write) => [
      write
        .insert(erasures)
        .values({ kind: 'connection', account, number: account, subject: idBytes(id) }),
      withdrawRequests(write, { account, id, now: context.runtime.now() }),
      write.delete(connections).where(isConnection(account, id)),
    ],
    answer: null,
  });
}

export const deleteConnectionRoute = new Hono().delete(
  '/v1/connections/:id',
  operation({
    id: 'deleteConnection',
    tag: 'Connections',
    summary: 'Delete a connection',
    description:
      'Nothing more is sent, and its secret is gone. Requests that wait read as withdrawn from now on.',
    success: noContent(),
    pathId: 'conn',
  }),
  userAccess('connections:write'),
  noQuery(),
  async (c) => {
    await deleteConnection(c.var.context, { id: pathId(c, 'conn') });
    return answer(c, null);
  },
);
