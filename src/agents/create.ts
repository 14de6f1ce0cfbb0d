import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agentKeys, agents } from '../db/schema';
import { Problem } from '../errors';
import { userAccess } from '../http/access';
import { userActivity } from '../http/activity';
import { newId, type UserContext } from '../http/context';
import { EXAMPLE } from '../http/examples';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import { agentKeyField, makeAgentKey } from '../identity/agent-key';
import type { Guard } from '../ledger/guard';
import { type LazyOutput, lazy } from '../lib/lazy';
import {
  Agent,
  activeOwnerGuard,
  agentFields,
  agentNumberSql,
  exampleAgent,
  presentAgent,
} from './agent';

/** Maximum number of agents of an account. */
export const MAX_AGENTS = 10_000;

export const AgentCreation = lazy(() =>
  z
    .strictObject({
      name: agentFields().name,
      description: agentFields().description.optional(),
      metadata: agentFields().metadata.default({}),
      owner_id: agentFields().owner_id.optional().meta({
        description:
          'The active member who is responsible for it; by default the one who registers it.',
      }),
    })
    .meta({
      id: 'AgentCreation',
      examples: [
        {
          name: exampleAgent.name,
          description: exampleAgent.description,
          metadata: exampleAgent.metadata,
        },
      ],
    }),
);

const { last_activity_at: _, ...exampleNewAgent } = exampleAgent;
const exampleCreatedAgent = { ...exampleNewAgent, api_key: EXAMPLE.agentKey };

export const CreatedAgent = lazy(() =>
  Agent()
    .omit({ last_activity_at: true })
    .extend({ api_key: agentKeyField() })
    .meta({
      id: 'CreatedAgent',
      description: 'A new agent, with its key.',
      examples: [exampleCreatedAgent],
    }),
);

export type CreatedAgent = LazyOutput<typeof CreatedAgent>;

/**
 * Creates an agent, and returns it with its first key.
 * @throws Problem `conflict` if the account has the maximum number of agents; `invalid_request` for
 *   an owner who is not an active member
 */
export async function createAgent(
  context: UserContext,
  input: LazyOutput<typeof AgentCreation>,
): Promise<CreatedAgent> {
  const { account, member } = context.principal;
  const { key, prefix, hash } = await makeAgentKey(context);
  const now = context.runtime.now();
  const row = {
    id: newId(context.runtime, 'agent'),
    name: input.name,
    description: input.description || null,
    keyPrefix: prefix,
    metadata: input.metadata,
    isActive: true,
    owner: input.owner_id ?? member?.id ?? null,
    lastActivityAt: null,
    createdAt: now,
    updatedAt: now,
  };
  const { last_activity_at: _, ...agent } = presentAgent(row);
  const created = { ...agent, api_key: key };
  await context.ledger.change({
    record: userActivity(context, 'agent.created', row.id),
    guards: [
      ...(input.owner_id ? [activeOwnerGuard(account.number, input.owner_id)] : []),
      agentLimitGuard(account.number),
    ],
    changes: (write) => [
      write.insert(agents).values({ ...row, account: account.number }),
      write
        .insert(agentKeys)
        .values({ hash, agent: agentNumberSql(account.number, row.id), createdAt: now }),
    ],
    answer: { value: created, subject: row.id },
  });
  return created;
}

function agentLimitGuard(account: number): Guard {
  return {
    name: 'agents_below_limit',
    holds: sql`not exists (
      select 1 from ${agents} where ${agents.account} = ${account} limit 1 offset ${MAX_AGENTS - 1}
    )`,
    otherwise: () =>
      new Problem(
        'conflict',
        `The account has ${MAX_AGENTS} agents, the maximum. Delete one first.`,
      ),
  };
}

export const createAgentRoute = new Hono().post(
  '/v1/agents',
  operation({
    id: 'createAgent',
    tag: 'Agents',
    summary: 'Register an agent',
    success: created(CreatedAgent),
    problems: ['conflict'],
  }),
  userAccess('agents:write'),
  noQuery(),
  body(AgentCreation),
  async (c) => answer(c, await createAgent(c.var.context, c.req.valid('json'))),
);
