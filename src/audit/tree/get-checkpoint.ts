import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { getSignedHead } from './answer-from-tree';
import { Checkpoint, presentHead } from './checkpoint';
import { selectTree } from './open-tree';

/** Returns the newest signed head of the account's log. */
async function getCheckpoint(context: UserContext): Promise<Checkpoint> {
  const { account } = context.principal;
  const [[row]] = await context.reader.load([selectTree(context.reader, account.number)]);
  return presentHead(await getSignedHead(context, row));
}

export const getCheckpointRoute = new Hono().get(
  '/v1/audit/checkpoint',
  operation({
    id: 'getCheckpoint',
    tag: 'Audit',
    summary: 'Get the newest signed head of the log',
    description:
      'Every entry is under a signed head within two minutes. Keep some of them: anyone who has an old head can check, ' +
      'with a consistency proof, that the log has only grown since. If the log in the database contradicts its signed ' +
      'heads, this is the last one that was signed.',
    success: ok(Checkpoint),
    problems: ['log_refused'],
  }),
  userAccess('audit:read'),
  noQuery(),
  async (c) => answer(c, await getCheckpoint(c.var.context)),
);
