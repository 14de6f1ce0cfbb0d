import { Hono } from 'hono';
import { agents } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import type { Id } from '../lib/typeid';
import { Agent, isAgentWithId, presentAgent } from './agent';

/**
 * Returns an agent of the account.
 * @throws Problem `not_found`
 */
export async function getAgent(
  { reader, principal }: UserContext,
  { id }: { id: Id<'agent'> },
): Promise<Agent> {
  const [[row]] = await reader.load([
    reader.select().from(agents).where(isAgentWithId(principal.account.number, id)),
  ]);
  if (!row) throw notFound('agent');
  return presentAgent(row);
}

export const getAgentRoute = new Hono().get(
  '/v1/agents/:id',
  operation({
    id: 'getAgent',
    tag: 'Agents',
    summary: 'Get an agent',
    success: ok(Agent),
    pathId: 'agent',
  }),
  userAccess('agents:read'),
  noQuery(),
  async (c) => answer(c, await getAgent(c.var.context, { id: pathId(c, 'agent') })),
);
