import { and, eq, type InferSelectModel, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../db/database';
import { agents, members } from '../db/schema';
import { invalidRequest } from '../errors';
import type { RequestContext } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { idText, jsonObject, text } from '../http/fields';
import { idField, objectField, timeField } from '../http/response-fields';
import type { CallerSql } from '../identity/credentials';
import { type Guard, hasRow } from '../ledger/guard';
import { displayPrefix } from '../lib/credential';
import { type LazyOutput, lazy } from '../lib/lazy';
import { formatTime, formatTimeOrNull } from '../lib/time';
import { type Id, parseId } from '../lib/typeid';

type AgentRow = Omit<InferSelectModel<typeof agents>, 'number' | 'account'>;

export const exampleAgent = {
  id: exampleId('agent'),
  name: 'Mail assistant',
  description: 'Answers the support mailbox',
  api_key_prefix: displayPrefix(EXAMPLE.agentKey),
  metadata: { team: 'support' },
  is_active: true,
  owner_id: exampleId('member'),
  last_activity_at: EXAMPLE.time,
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

export const Agent = lazy(() =>
  z
    .object({
      id: idField('agent'),
      name: z.string(),
      description: z.string().optional().meta({ description: 'Absent if the agent has none.' }),
      api_key_prefix: z.string().meta({ description: 'The first characters of its newest key.' }),
      metadata: objectField.meta({ description: 'Free-form data.' }),
      is_active: z
        .boolean()
        .meta({ description: 'While false, its keys are refused and its tokens cannot be used.' }),
      owner_id: idField('member').nullable().meta({
        description: 'The member who is responsible for it, at first the one who registered it.',
      }),
      last_activity_at: timeField.nullable().meta({
        description: 'When it last sent a request, to the minute; null before its first.',
      }),
      created_at: timeField,
      updated_at: timeField,
    })
    .meta({
      id: 'Agent',
      description: 'A program that may request permissions.',
      examples: [exampleAgent],
    }),
);

export type Agent = LazyOutput<typeof Agent>;

/** The fields of an agent that clients may set, except `is_active`. */
export const agentFields = lazy(() => ({
  name: text(1, 255),
  description: text(0, 2_000),
  metadata: jsonObject('Free-form data, returned unchanged.', 16 * 1024),
  owner_id: idText('member', 'must be the id of a member'),
}));

export function presentAgent(row: AgentRow): Agent {
  return {
    id: row.id,
    name: row.name,
    ...(row.description !== null && { description: row.description }),
    api_key_prefix: row.keyPrefix,
    metadata: row.metadata,
    is_active: row.isActive,
    owner_id: row.owner,
    last_activity_at: formatTimeOrNull(row.lastActivityAt),
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

/** Preloads the agent in the path. */
export async function preloadAgent(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const id = parseId('agent', c.req.param('id') ?? '');
  return { agent: id && reader.select().from(agents).where(isAgentWithId(account, id)) };
}

/** The condition that finds an agent of an account. */
export function isAgentWithId(account: number | SQL<number>, id: Id<'agent'>) {
  return and(eq(agents.account, account), eq(agents.id, id));
}

/** The number of an agent of the account, as SQL; NULL if there is none. */
export function agentNumberSql(account: number, id: Id<'agent'>): SQL<number> {
  return sql<number>`(select ${agents.number} from ${agents} where ${isAgentWithId(account, id)})`;
}

/** The guard of an agent's owner, who must be an active member of the account. */
export function activeOwnerGuard(account: number, owner: Id<'member'>): Guard {
  const isActive = and(
    eq(members.account, account),
    eq(members.id, owner),
    eq(members.status, 'active'),
  );
  return {
    name: 'owner_is_active_member',
    holds: hasRow(members, isActive),
    otherwise: () =>
      invalidRequest([
        { path: 'body.owner_id', message: 'must be the id of an active member of the account' },
      ]),
  };
}
