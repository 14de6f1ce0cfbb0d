import { and, desc, eq, lt } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agents } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { queryBoolean } from '../http/fields';
import { query } from '../http/input';
import { defineList, loadPage, preloadPage, type RowsOf } from '../http/list';
import { answer, ok, operation } from '../http/operation';
import { openPage, type Page, pageParameters } from '../http/page';
import { pageOf } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { type Id, parseId } from '../lib/typeid';
import { Agent, presentAgent } from './agent';

const AgentListQuery = lazy(() =>
  z.strictObject({
    ...pageParameters(20, 100),
    active: queryBoolean
      .optional()
      .meta({ description: 'Only active agents (`true`) or inactive ones (`false`).' }),
  }),
);

const agentList = defineList({
  parameters: AgentListQuery,
  readPosition: (text: string) => parseId('agent', text),
  select: (reader, { account }, { active }, { after, rowLimit }) =>
    reader
      .select()
      .from(agents)
      .where(
        and(
          eq(agents.account, account),
          active === undefined ? undefined : eq(agents.isActive, active),
          after && lt(agents.id, after),
        ),
      )
      .orderBy(desc(agents.id))
      .limit(rowLimit),
});

/**
 * Lists the account's agents, newest first.
 * @param preloaded the rows of the page, if they were preloaded
 */
export async function listAgents(
  context: UserContext,
  input: LazyOutput<typeof AgentListQuery>,
  preloaded?: RowsOf<typeof agentList>,
): Promise<Page<Agent>> {
  const { account } = context.principal;
  const page = await openPage<Id<'agent'>>(context, { list: 'agents', caller: account.id }, input);
  const rows = preloaded ?? (await loadPage(agentList, context, input, page));
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
  userAccess('agents:read', preloadPage(agentList)),
  query(AgentListQuery),
  async (c) => answer(c, await listAgents(c.var.context, c.req.valid('query'), c.var.loaded.page)),
);
