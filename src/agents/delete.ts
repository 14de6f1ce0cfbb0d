import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { agentKeys, agents, erasures } from '../db/schema';
import { notFound } from '../errors';
import { revokeAgentFiles } from '../files/revoke';
import { userAccess } from '../http/access';
import { asNotFound, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, noContent, operation } from '../http/operation';
import { idBytes, parseId } from '../lib/typeid';
import { agentNumber, agentOwner, isAgent } from './agent';

/**
 * Deletes an agent. Its keys and its row go at once, and with the row everything that is only shown by way of it:
 * permissions, tokens, audit entries, statistics, stored answers. The sweep then erases these. Exports that may hold its
 * entries go with it.
 */
export async function deleteAgent(context: UserContext, id: string): Promise<void> {
  const agent = parseId('agent', id);
  if (!agent) throw notFound('agent');
  const account = context.principal.account.number;
  await context.ledger
    .change({
      record: userActivity(context, 'agent.deleted', agent, { account: agentOwner(account, agent) }),
      changes: (write) => [
        write.insert(erasures).values({ kind: 'agent', number: agentNumber(account, agent), subject: idBytes(agent) }),
        ...revokeAgentFiles(write, account, agentNumber(account, agent), context.runtime.now()),
        write.delete(agentKeys).where(eq(agentKeys.agent, agentNumber(account, agent))),
        write.delete(agents).where(isAgent(account, agent)),
      ],
      answer: null,
    })
    .catch(asNotFound('agent'));
}

export const deleteAgentRoute = new Hono().delete(
  '/v1/agents/:id',
  operation({
    id: 'deleteAgent',
    tag: 'Agents',
    summary: 'Delete an agent',
    description:
      'For good: from this moment its keys are refused, and its permissions, tokens and audit entries are gone.',
    success: noContent(),
    pathId: 'agent',
  }),
  userAccess('agents:write'),
  noQuery(),
  async (c) => {
    await deleteAgent(c.var.context, c.req.param('id'));
    return answer(c, null);
  },
);
