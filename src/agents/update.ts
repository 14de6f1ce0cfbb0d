import { and, eq, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { ConstraintError } from '../db/database';
import { agents, members } from '../db/schema';
import { invalidRequest, notFound } from '../errors';
import { userAccess } from '../http/access';
import { asNotFound, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { idText } from '../http/fields';
import { atLeastOneField, body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import { lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';
import { Agent, accountOfAgentSql, agentFields, isAgentWithId, presentAgent } from './agent';

const AgentUpdate = lazy(() =>
  atLeastOneField(
    z.strictObject({
      name: agentFields().name.optional(),
      description: agentFields().description.nullish(),
      metadata: agentFields().metadata.optional(),
      is_active: z.boolean().optional(),
      owner_id: idText('member', 'must be the id of a member').optional().meta({
        description: 'The active member who is responsible for it from now on.',
      }),
    }),
  ).meta({ id: 'AgentUpdate', examples: [{ description: null, metadata: { team: 'sales' } }] }),
);

/**
 * Changes the given fields of an agent. `metadata` is replaced as a whole; a `description` of null or `""` removes it.
 * @throws Problem `not_found`; `invalid_request` for an owner who is not an active member
 */
export async function updateAgent(
  context: UserContext,
  { id, ...fields }: { id: Id<'agent'> } & z.output<ReturnType<typeof AgentUpdate>>,
): Promise<Agent> {
  const account = context.principal.account.number;
  const owner = fields.owner_id;
  const columns = {
    name: owner ? ifActiveMember(account, owner, fields.name) : fields.name,
    description: fields.description === '' ? null : fields.description,
    metadata: fields.metadata,
    isActive: fields.is_active,
    owner,
    updatedAt: context.runtime.now(),
  };
  const changed = { account: accountOfAgentSql(account, id), changes: Object.keys(fields) };
  const [[row]] = await context.ledger
    .change({
      record: userActivity(context, 'agent.updated', id, changed),
      changes: (write) => [write.update(agents).set(columns).where(isAgentWithId(account, id)).returning()],
      answer: null,
    })
    .catch((error: unknown) => {
      if (error instanceof ConstraintError && error.subject === 'agents.name') {
        throw invalidRequest([{ path: 'body.owner_id', message: 'must be the id of an active member of the account' }]);
      }
      return asNotFound('agent')(error);
    });
  if (!row) throw notFound('agent');
  return presentAgent(row);
}

/**
 * The new name of an agent, or its present one, as SQL: NULL, which the column refuses, unless the member who is to own
 * the agent is active.
 */
function ifActiveMember(account: number, owner: Id<'member'>, name: string | undefined): SQL {
  const isActive = and(eq(members.account, account), eq(members.id, owner), eq(members.status, 'active'));
  return sql`iif(exists (select 1 from ${members} where ${isActive}), ${name ?? agents.name}, null)`;
}

export const updateAgentRoute = new Hono().put(
  '/v1/agents/:id',
  operation({
    id: 'updateAgent',
    tag: 'Agents',
    summary: 'Change an agent',
    description: 'Changes the given fields. `metadata` is replaced as a whole; a `description` of null removes it.',
    success: ok(Agent),
    pathId: 'agent',
  }),
  userAccess('agents:write'),
  noQuery(),
  body(AgentUpdate),
  async (c) => answer(c, await updateAgent(c.var.context, { id: pathId(c, 'agent'), ...c.req.valid('json') })),
);
