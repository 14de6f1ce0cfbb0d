import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agents } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { queryBoolean } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';
import { Agent, presentAgent } from './agent';

const AgentListQuery = lazy(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    active: queryBoolean
      .optional()
      .meta({ description: 'Only active agents (`true`) or inactive ones (`false`).' }),
  }),
);

/** Lists the account's agents, newest first. */
export async function listAgents(
  context: UserContext,
  input: LazyOutput<typeof AgentListQuery>,
): Promise<Page<Agent>> {
  const { reader, principal } = context;
  const { account } = principal;
  const page = await openPage<Id<'agent'>>(context, { list: 'agents', caller: account.id }, input);
  const [rows] = await reader.load([
    reader
      .select()
      .from(agents)
      .where(
        and(
          eq(agents.account, account.number),
          input.active === undefined ? undefined : eq(agents.isActive, input.active),
          page.after && lt(agents.id, page.after),
        ),
      )
      .orderBy(desc(agents.id))
      .limit(page.rowLimit),
  ]);
  return page.make(rows, presentAgent);
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
  query(AgentListQuery),
  async (c) => answer(c, await listAgents(c.var.context, c.req.valid('query'))),
);
