import { and, eq, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Reader } from '../db/database';
import { prepareByAccount } from '../db/prepare-by-account';
import { connections } from '../db/schema';
import { notFound } from '../errors';
import type { RequestContext } from '../http/context';
import { EXAMPLE, exampleId } from '../http/examples';
import { idText, listOf, plainText, text, wholeNumber } from '../http/fields';
import { creatorField, idField, timeField } from '../http/response-fields';
import type { CallerSql } from '../identity/credentials';
import { type LazyOutput, lazy } from '../lib/lazy';
import { formatTime } from '../lib/time';
import { type Id, idPattern, parseId } from '../lib/typeid';
import { AuthInput, ConnectionAuth, presentAuth, secretField } from './auth';
import { forwardHeadersField } from './forward-headers';
import { ConnectionRule, exampleRules, rulesField } from './rules/rule';

/** Maximum number of connections of an account. */
export const MAX_CONNECTIONS = 100;

const MAX_URL_LENGTH = 2_048;
const MAX_AGENTS = 100;

export type ConnectionRow = typeof connections.$inferSelect;

/** The fields that a client can set. Without its slug, which never changes. */
export const connectionFields = lazy(() => ({
  name: text(1, 255),
  base_url: plainText(MAX_URL_LENGTH).meta({
    description:
      'Where calls are sent: `https`, a public host name, no credentials, no query. The path of a call is appended to ' +
      'it. It is checked again before every call.',
  }),
  auth: AuthInput(),
  secret: secretField(),
  rules: rulesField(),
  agent_ids: listOf(idText('agent', 'must be the id of an agent'), MAX_AGENTS)
    .refine((ids) => new Set(ids).size === ids.length, 'must name each agent once')
    .meta({ description: 'The agents that may call it.' }),
  forward_headers: forwardHeadersField(),
  wait: wholeNumber(0, 60).meta({
    description: 'Seconds that a call waits for a decision before it is answered.',
  }),
  timeout: wholeNumber(1, 300).meta({
    description: 'Seconds in which the other service has to answer a call.',
  }),
  repeat_after: wholeNumber(60, 86_400).meta({
    description: 'Seconds for which a refused call is refused again, if it has no idempotency key.',
  }),
  is_active: z.boolean().meta({ description: 'Nothing is sent while this is false.' }),
}));

export const exampleConnection = {
  id: exampleId('conn'),
  name: 'Stripe',
  slug: 'stripe',
  base_url: 'https://api.stripe.com',
  auth: { type: 'header' as const, header: 'Authorization', prefix: 'Bearer ' },
  rules: exampleRules,
  agent_ids: [exampleId('agent')],
  forward_headers: ['Accept', 'Content-Type'],
  wait: 25,
  timeout: 60,
  repeat_after: 600,
  is_active: true,
  created_by: exampleId('member'),
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

/** A connection as the API shows it. No answer shows its secret. */
export const Connection = lazy(() =>
  z
    .object({
      id: idField('conn'),
      name: z.string(),
      slug: z.string().meta({
        description: 'Its name in actions and addresses. It never changes.',
      }),
      base_url: z.string(),
      auth: ConnectionAuth(),
      rules: z.array(ConnectionRule()),
      agent_ids: z.array(z.string().meta({ pattern: idPattern('agent') })),
      forward_headers: z.array(z.string()).meta({
        description: 'The headers of the agent that are sent on.',
      }),
      wait: z.number().meta({ type: 'integer' }),
      timeout: z.number().meta({ type: 'integer' }),
      repeat_after: z.number().meta({ type: 'integer' }),
      is_active: z.boolean(),
      created_by: creatorField,
      created_at: timeField,
      updated_at: timeField,
    })
    .meta({
      id: 'Connection',
      description:
        'Another service to which Countersign sends what agents may do there, with a credential that no agent holds.',
      examples: [exampleConnection],
    }),
);

export type Connection = LazyOutput<typeof Connection>;

export function presentConnection(row: Omit<ConnectionRow, 'account' | 'secret'>): Connection {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    base_url: row.baseUrl,
    auth: presentAuth(row),
    rules: row.rules,
    agent_ids: row.agentIds,
    forward_headers: row.forwardHeaders,
    wait: row.wait,
    timeout: row.timeout,
    repeat_after: row.repeatAfter,
    is_active: row.isActive,
    created_by: row.createdBy,
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

/** The condition that finds the connection with this identifier, if the account has it. */
export function isConnection(account: number | SQL<number>, id: Id<'conn'> | SQL) {
  return and(eq(connections.account, account), eq(connections.id, id));
}

/** The placeholder `id` of a prepared query, for the id of a connection. */
const CONNECTION_ID = sql`${sql.param(sql.placeholder('id'), connections.id)}`;

/** Selects a connection of an account. */
export const selectConnection = prepareByAccount((select, account) =>
  select().from(connections).where(isConnection(account, CONNECTION_ID)),
);

/** Preloads the connection in the path. */
export async function preloadConnection(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const id = parseId('conn', c.req.param('id') ?? '');
  return { connection: id && reader.select().from(connections).where(isConnection(account, id)) };
}

/**
 * The connection that the preload found.
 * @throws Problem `not_found`
 */
export function requireConnection(loaded: ConnectionRow[] | undefined): ConnectionRow {
  const [row] = loaded ?? [];
  if (!row) throw notFound('connection');
  return row;
}
