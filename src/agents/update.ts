import { Hono } from 'hono';
import * as z from 'zod';
import { agents } from '../db/schema';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import { targetExists, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { atLeastOneField, body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import type { RecordWriter } from '../ledger/ledger';
import { checkSeries, endSeriesOfOwner } from '../ledger/series-checks';
import { type LazyOutput, lazy } from '../lib/lazy';
import type { Id } from '../lib/typeid';
import { Agent, activeOwnerGuard, agentFields, isAgentWithId, presentAgent } from './agent';

export const AgentUpdate = lazy(() =>
  atLeastOneField(
    z.strictObject({
      name: agentFields().name.optional(),
      description: agentFields().description.nullish(),
      metadata: agentFields().metadata.optional(),
      is_active: z.boolean().optional(),
      owner_id: agentFields()
        .owner_id.optional()
        .meta({ description: 'The active member who is responsible for it from now on.' }),
    }),
  ).meta({ id: 'AgentUpdate', examples: [{ description: null, metadata: { team: 'sales' } }] }),
);

/**
 * Changes the given fields of an agent. `metadata` is replaced as a whole; a `description` of null
 * or `""` removes it.
 * @throws Problem `not_found`; `invalid_request` for an owner who is not an active member
 */
export async function updateAgent(
  context: UserContext,
  { id, ...fields }: { id: Id<'agent'> } & LazyOutput<typeof AgentUpdate>,
): Promise<Agent> {
  const account = context.principal.account.number;
  const owner = fields.owner_id;
  const now = context.runtime.now();
  const columns = {
    name: fields.name,
    description: fields.description === '' ? null : fields.description,
    metadata: fields.metadata,
    isActive: fields.is_active,
    owner,
    updatedAt: now,
  };
  const found = isAgentWithId(account, id);
  const change = {
    record: userActivity(context, 'agent.updated', id, { changes: Object.keys(fields) }),
    guards: [
      targetExists('agent', agents, found),
      ...(owner ? [activeOwnerGuard(account, owner)] : []),
    ],
    answer: null,
  };
  const update = (write: RecordWriter) =>
    write.update(agents).set(columns).where(found).returning();
  let rows: (typeof agents.$inferSelect)[];
  if (owner) {
    [, , rows] = await context.ledger.change({
      ...change,
      changes: (write) => [
        endSeriesOfOwner(write, { account, agent: found, owner, now }),
        checkSeries(write, account, now),
        update(write),
      ],
    });
  } else {
    [rows] = await context.ledger.change({ ...change, changes: (write) => [update(write)] });
  }
  const [row] = rows;
  if (!row) throw notFound('agent');
  return presentAgent(row);
}

export const updateAgentRoute = new Hono().put(
  '/v1/agents/:id',
  operation({
    id: 'updateAgent',
    tag: 'Agents',
    summary: 'Change an agent',
    description:
      'Changes the given fields. `metadata` is replaced as a whole; a `description` of null removes it.',
    success: ok(Agent),
    pathId: 'agent',
  }),
  userAccess('agents:write'),
  noQuery(),
  body(AgentUpdate),
  async (c) =>
    answer(c, await updateAgent(c.var.context, { id: pathId(c, 'agent'), ...c.req.valid('json') })),
);
