import { eq } from 'drizzle-orm';
import { Hono } from 'hono';
import { ConstraintError } from '../db/database';
import { agentKeys, agents, erasures } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { parseId } from '../lib/typeid';
import { agentNumber, isAgent } from './agent';

/**
 * Deletes an agent. Its keys and its row go at once, and with the row everything that is only shown by way of it:
 * permissions, tokens, audit entries, statistics. The sweep then erases these.
 */
export async function deleteAgent({ ledger, principal }: UserContext, id: string): Promise<void> {
  const agent = parseId('agent', id);
  if (!agent) throw notFound('agent');
  const account = principal.account.number;
  try {
    await ledger.change((write) => [
      write.insert(erasures).values({ kind: 'agent', number: agentNumber(account, agent) }),
      write.delete(agentKeys).where(eq(agentKeys.agent, agentNumber(account, agent))),
      write.delete(agents).where(isAgent(account, agent)),
    ]);
  } catch (error) {
    throw error instanceof ConstraintError ? notFound('agent') : error;
  }
}

export const agentDeletion = new Hono().delete('/v1/agents/:id', userAccess('agents:write'), noQuery(), async (c) => {
  await deleteAgent(c.var.context, c.req.param('id'));
  return c.body(null, 204);
});
