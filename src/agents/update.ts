import { Hono } from 'hono';
import * as z from 'zod';
import { agents } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import { asNotFound, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { atLeastOneField, body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { lazy } from '../lib/lazy';
import { parseId } from '../lib/typeid';
import { Agent, agentFields, agentOwner, isAgent, presentAgent } from './agent';

const AgentUpdate = lazy(() =>
  atLeastOneField(
    z.strictObject({
      name: agentFields().name.optional(),
      description: agentFields().description.nullish(),
      metadata: agentFields().metadata.optional(),
      is_active: z.boolean().optional(),
    }),
  ).meta({ id: 'AgentUpdate', examples: [{ description: null, metadata: { team: 'sales' } }] }),
);

/** Changes the fields that are named; `metadata` is replaced whole, `description: null` clears it. */
export async function updateAgent(
  context: UserContext,
  id: string,
  input: z.output<ReturnType<typeof AgentUpdate>>,
): Promise<Agent> {
  const agent = parseId('agent', id);
  if (!agent) throw notFound('agent');
  const account = context.principal.account.number;
  const fields = {
    name: input.name,
    description: input.description === '' ? null : input.description,
    metadata: input.metadata,
    isActive: input.is_active,
    updatedAt: context.runtime.now(),
  };
  const changed = { account: agentOwner(account, agent), changes: Object.keys(input) };
  const [[row]] = await context.ledger
    .change({
      record: userActivity(context, 'agent.updated', agent, changed),
      changes: (write) => [write.update(agents).set(fields).where(isAgent(account, agent)).returning()],
      answer: null,
    })
    .catch(asNotFound('agent'));
  if (!row) throw notFound('agent');
  return presentAgent(row);
}

export const updateAgentRoute = new Hono().put(
  '/v1/agents/:id',
  operation({
    id: 'updateAgent',
    tag: 'Agents',
    summary: 'Change an agent',
    description: 'Changes the fields that are named. `metadata` is replaced whole; a `description` of null clears it.',
    success: ok(Agent),
    pathId: 'agent',
  }),
  userAccess('agents:write'),
  noQuery(),
  body(AgentUpdate),
  async (c) => answer(c, await updateAgent(c.var.context, c.req.param('id'), c.req.valid('json'))),
);
