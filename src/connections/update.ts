import { and, eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { connections } from '../db/schema';
import { notFound, Problem } from '../errors';
import { userAccess } from '../http/access';
import { targetExists, userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import { atLeastOneField, body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { ownAgentsGuard } from '../ledger/agents-guard';
import { type Guard, hasRow } from '../ledger/guard';
import { type LazyOutput, lazy } from '../lib/lazy';
import { authColumns, presentAuth, requireSecret } from './auth';
import { requireBaseUrl } from './base-url';
import {
  Connection,
  type ConnectionRow,
  connectionFields,
  isConnection,
  preloadConnection,
  presentConnection,
  requireConnection,
} from './connection';
import { requireNotCredential } from './forward-headers';
import { encryptSecret } from './secret';
import { withdrawRequests } from './withdraw';

export const ConnectionUpdate = lazy(() =>
  atLeastOneField(z.strictObject(connectionFields()).partial()).meta({
    id: 'ConnectionUpdate',
    examples: [{ wait: 10, is_active: true }],
  }),
);

type Fields = LazyOutput<typeof ConnectionUpdate>;

/** The fields whose validity depends on what the row has in the others. */
const DEPENDENT = ['base_url', 'auth', 'secret', 'forward_headers'] as const;

/**
 * Changes the given fields of a connection. Every call that is not sent yet is checked against the
 * changed connection. One that is switched off sends nothing more, and its pending requests are
 * withdrawn.
 * @throws Problem `not_found`; `invalid_request`, also if another origin would get the old secret;
 *   `conflict` if the fields that it depends on were changed at the same time
 */
export async function updateConnection(
  context: UserContext,
  { connection, ...fields }: { connection: ConnectionRow } & Fields,
): Promise<Connection> {
  const { account, id } = connection;
  const found = isConnection(account, id);
  const { agent_ids: agentIds, is_active: isActive } = fields;
  const isDependent = DEPENDENT.some((name) => fields[name] !== undefined);
  const columns = {
    name: fields.name,
    rules: fields.rules,
    wait: fields.wait,
    timeout: fields.timeout,
    agentIds,
    forwardHeaders: fields.forward_headers,
    repeatAfter: fields.repeat_after,
    isActive,
    ...(isDependent && (await credentialColumns(context, connection, fields))),
    // Always a later time, so that a call in flight sees that its connection has changed.
    updatedAt: sql`max(${context.runtime.now()}, ${connections.updatedAt} + 1)`,
  };
  const [[row]] = await context.ledger.change({
    record: userActivity(context, 'connection.updated', id, { changes: Object.keys(fields) }),
    guards: [
      targetExists('connection', connections, found),
      ...(agentIds ? [ownAgentsGuard(account, agentIds)] : []),
      ...(isDependent ? [asReadGuard(connection)] : []),
    ],
    changes: (write) => [
      write.update(connections).set(columns).where(found).returning(),
      ...(isActive === false
        ? [withdrawRequests(write, { account, id, now: context.runtime.now() })]
        : []),
    ],
    answer: null,
  });
  if (!row) throw notFound('connection');
  return presentConnection(row);
}

/** The columns of where a changed connection leads, and with which credential. */
async function credentialColumns(context: UserContext, connection: ConnectionRow, fields: Fields) {
  const { base_url: baseUrl = connection.baseUrl, auth = presentAuth(connection) } = fields;
  if (fields.base_url !== undefined) requireBaseUrl(context.config, baseUrl);
  const authentication = authColumns(auth);
  requireNotCredential(
    fields.forward_headers ?? connection.forwardHeaders,
    authentication.authHeader,
  );
  const place = { baseUrl, ...authentication };
  const isOtherOrigin = new URL(baseUrl).origin !== new URL(connection.baseUrl).origin;
  const isOtherType = auth.type !== connection.authType;
  if (fields.secret === undefined && !isOtherOrigin && !isOtherType) return place;
  const missing = isOtherOrigin ? 'is required again for another origin' : 'is required';
  const secret = requireSecret(auth, fields.secret, missing);
  const owner = { account: context.principal.account.id, connection: connection.id, baseUrl };
  return { ...place, secret: await encryptSecret(context, owner, secret) };
}

/** The guard of a change that was checked against the stored address and credential. */
function asReadGuard({ account, id, updatedAt }: ConnectionRow): Guard {
  const isAsRead = and(isConnection(account, id), eq(connections.updatedAt, updatedAt));
  return {
    name: 'connection_is_as_read',
    holds: hasRow(connections, isAsRead),
    otherwise: () =>
      new Problem(
        'conflict',
        'The connection was changed at the same time. Read it, and send the request again.',
      ),
  };
}

export const updateConnectionRoute = new Hono().put(
  '/v1/connections/:id',
  operation({
    id: 'updateConnection',
    tag: 'Connections',
    summary: 'Change a connection',
    description:
      'Changes the given fields, but never the slug. A change of the origin of `base_url` needs the secret again. ' +
      'A connection that is switched off sends nothing more, and its pending requests are withdrawn for good.',
    success: ok(Connection),
    pathId: 'conn',
    problems: ['conflict'],
  }),
  userAccess('connections:write', preloadConnection),
  noQuery(),
  body(ConnectionUpdate),
  async (c) => {
    const connection = requireConnection(c.var.loaded.connection);
    return answer(c, await updateConnection(c.var.context, { connection, ...c.req.valid('json') }));
  },
);
