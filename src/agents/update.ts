import { Hono } from 'hono';
import { z } from 'zod';
import { agents } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { body, noQuery, notEmpty } from '../http/input';
import { parseId } from '../lib/typeid';
import { type Agent, agentFields, isAgent, presentAgent } from './agent';

const AgentUpdate = notEmpty(
  z.strictObject({
    name: agentFields.name.optional(),
    description: agentFields.description.nullish(),
    metadata: agentFields.metadata.optional(),
    is_active: z.boolean().optional(),
  }),
);

/** Changes the fields that are named; `metadata` is replaced whole, `description: null` clears it. */
export async function updateAgent(
  { ledger, principal, runtime }: UserContext,
  id: string,
  input: z.output<typeof AgentUpdate>,
): Promise<Agent> {
  const agent = parseId('agent', id);
  if (!agent) throw notFound('agent');
  const changes = {
    name: input.name,
    description: input.description === '' ? null : input.description,
    metadata: input.metadata,
    isActive: input.is_active,
    updatedAt: runtime.now(),
  };
  const [[row]] = await ledger.change((write) => [
    write.update(agents).set(changes).where(isAgent(principal.account.number, agent)).returning(),
  ]);
  if (!row) throw notFound('agent');
  return presentAgent(row);
}

export const agentUpdate = new Hono().put(
  '/v1/agents/:id',
  userAccess('agents:write'),
  noQuery(),
  body(AgentUpdate),
  async (c) => c.json(await updateAgent(c.var.context, c.req.param('id'), c.req.valid('json'))),
);
