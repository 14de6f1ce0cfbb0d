import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { agentKeys, agents, erasures } from '../db/schema';
import { revokeAgentFiles } from '../files/revoke';
import { userAccess } from '../http/access';
import { targetExists, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, noContent, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import { type Id, idBytes } from '../lib/typeid';
import { agentNumberSql, isAgentWithId } from './agent';

/**
 * Deletes an agent and its keys, and revokes the exports and reports that may contain its entries.
 *
 * Its permissions, tokens, audit entries, statistics and stored answers are invisible at once,
 * because every query of them looks up the agent's row. A background task erases them later.
 * @throws Problem `not_found`
 */
export async function deleteAgent(
  context: UserContext,
  { id }: { id: Id<'agent'> },
): Promise<void> {
  const account = context.principal.account.number;
  await context.ledger.change({
    record: userActivity(context, 'agent.deleted', id),
    guards: [targetExists('agent', agents, isAgentWithId(account, id))],
    changes: (write) => [
      write.insert(erasures).values({
        kind: 'agent',
        account,
        number: agentNumberSql(account, id),
        subject: idBytes(id),
      }),
      ...revokeAgentFiles(write, account, agentNumberSql(account, id), context.runtime.now()),
      write.delete(agentKeys).where(eq(agentKeys.agent, agentNumberSql(account, id))),
      write.delete(agents).where(isAgentWithId(account, id)),
    ],
    answer: null,
  });
}

export const deleteAgentRoute = new Hono().delete(
  '/v1/agents/:id',
  operation({
    id: 'deleteAgent',
    tag: 'Agents',
    summary: 'Delete an agent',
    description:
      'Permanent: from this moment its keys are refused, and its permissions, tokens and audit entries are gone.',
    success: noContent(),
    pathId: 'agent',
  }),
  userAccess('agents:write'),
  noQuery(),
  async (c) => {
    await deleteAgent(c.var.context, { id: pathId(c, 'agent') });
    return answer(c, null);
  },
);
