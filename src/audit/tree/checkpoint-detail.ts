import { Hono } from 'hono';
import { userAccess } from '../../http/access';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { Checkpoint } from './checkpoint';
import { openTree, presentHead, selectTree } from './tree';

/** Gets the newest signed head of the account's log. */
export async function getCheckpoint(context: UserContext): Promise<Checkpoint> {
  const { account } = context.principal;
  const [[row]] = await context.reader.load([selectTree(context.reader, account.number)]);
  return presentHead(context, await openTree(context.config.files, account.id, row));
}

export const checkpointDetail = new Hono().get(
  '/v1/audit/checkpoint',
  operation({
    id: 'getCheckpoint',
    tag: 'Audit',
    summary: 'Get the newest signed head of the log',
    description:
      'Every entry is under a signed head within two minutes. Keep some of them: whoever holds an old head can tell, ' +
      'with a consistency proof, that the log has only grown since.',
    success: ok(Checkpoint),
  }),
  userAccess('audit:read'),
  noQuery(),
  async (c) => answer(c, await getCheckpoint(c.var.context)),
);
