import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agents } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { queryBoolean } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { makePageById, type Page, pageParameters, readCursor } from '../http/page';
import { pageOf } from '../http/response-fields';
import { lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';
import { Agent, presentAgent } from './agent';

const AgentList = lazy(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    active: queryBoolean.optional().meta({ description: 'Agents that are switched on alone, or off.' }),
  }),
);

/** Lists the account's agents, newest first, without their keys. */
export async function listAgents(
  { reader, principal, config }: UserContext,
  { limit, cursor, active }: z.output<ReturnType<typeof AgentList>>,
): Promise<Page<Agent>> {
  const binding = { list: 'agents', owner: principal.account.id, filters: { active } };
  const before = cursor === undefined ? null : await readCursor(config.keyring, binding, cursor);
  const page = reader
    .select()
    .from(agents)
    .where(
      and(
        eq(agents.account, principal.account.number),
        active === undefined ? undefined : eq(agents.isActive, active),
        before ? lt(agents.id, before as Id<'agent'>) : undefined,
      ),
    )
    .orderBy(desc(agents.id))
    .limit(limit + 1);
  const [rows] = await reader.load([page]);
  return makePageById(config.keyring, binding, rows, limit, presentAgent);
}

export const listAgentsRoute = new Hono().get(
  '/v1/agents',
  operation({
    id: 'listAgents',
    tag: 'Agents',
    summary: 'List agents',
    description: 'Newest first, without their keys.',
    success: ok(pageOf(Agent)),
  }),
  userAccess('agents:read'),
  query(AgentList),
  async (c) => answer(c, await listAgents(c.var.context, c.req.valid('query'))),
);
