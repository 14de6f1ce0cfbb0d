import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { connections } from '../db/schema';
import { Problem } from '../errors';
import { userAccess } from '../http/access';
import { creatorOf, userActivity } from '../http/activity';
import { newId, type UserContext } from '../http/context';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import { ownAgentsGuard } from '../ledger/agents-guard';
import type { Guard } from '../ledger/guard';
import { type LazyOutput, lazy } from '../lib/lazy';
import { authColumns, requireSecret } from './auth';
import { requireBaseUrl } from './base-url';
import {
  Connection,
  connectionFields,
  exampleConnection,
  MAX_CONNECTIONS,
  presentConnection,
} from './connection';
import { DEFAULT_FORWARD_HEADERS, requireNotCredential } from './forward-headers';
import { encryptSecret } from './secret';
import { freeSlugGuard, slugField, slugOf } from './slug';

export const ConnectionCreation = lazy(() => {
  const fields = connectionFields();
  return z
    .strictObject({
      ...fields,
      slug: slugField().optional(),
      auth: fields.auth.default({ type: 'none' }),
      secret: fields.secret.optional(),
      rules: fields.rules.default([]),
      forward_headers: fields.forward_headers.default(DEFAULT_FORWARD_HEADERS),
      wait: fields.wait.default(25),
      timeout: fields.timeout.default(60),
      repeat_after: fields.repeat_after.default(600),
      is_active: fields.is_active.default(true),
    })
    .meta({
      id: 'ConnectionCreation',
      examples: [
        {
          name: exampleConnection.name,
          base_url: exampleConnection.base_url,
          auth: exampleConnection.auth,
          secret: 'sk_test_26PHem9AhJZvU623DfE1x4sd',
          rules: exampleConnection.rules,
          agent_ids: exampleConnection.agent_ids,
        },
      ],
    });
});

/**
 * Creates a connection. From the answer on its agents can call it.
 * @throws Problem `invalid_request`; `conflict` if the account has the maximum number of
 *   connections or another one with the slug
 */
export async function createConnection(
  context: UserContext,
  input: LazyOutput<typeof ConnectionCreation>,
): Promise<Connection> {
  const { principal, runtime, config, ledger } = context;
  const { name, auth, rules, wait, timeout } = input;
  const { slug = slugOf(name), base_url: baseUrl, agent_ids: agentIds } = input;
  requireBaseUrl(config, baseUrl);
  const secret = requireSecret(auth, input.secret);
  const authentication = authColumns(auth);
  requireNotCredential(input.forward_headers, authentication.authHeader);
  const account = principal.account.number;
  const id = newId(runtime, 'conn');
  const now = runtime.now();
  const row = {
    id,
    name,
    slug,
    baseUrl,
    ...authentication,
    rules,
    agentIds,
    forwardHeaders: input.forward_headers,
    wait,
    timeout,
    repeatAfter: input.repeat_after,
    isActive: input.is_active,
    createdBy: creatorOf(principal),
    createdAt: now,
    updatedAt: now,
  };
  const owner = { account: principal.account.id, connection: id, baseUrl };
  const encrypted = await encryptSecret(context, owner, secret);
  const connection = presentConnection(row);
  await ledger.change({
    record: userActivity(context, 'connection.created', id),
    guards: [
      belowLimitGuard(account),
      freeSlugGuard(account, slug),
      ownAgentsGuard(account, agentIds),
    ],
    changes: (write) => [write.insert(connections).values({ ...row, account, secret: encrypted })],
    answer: { value: connection, subject: principal.account.id },
  });
  return connection;
}

function belowLimitGuard(account: number): Guard {
  return {
    name: 'connections_below_limit',
    holds: sql`(
      select count(*) from ${connections} where ${connections.account} = ${account}
    ) < ${MAX_CONNECTIONS}`,
    otherwise: () =>
      new Problem(
        'conflict',
        `The account has ${MAX_CONNECTIONS} connections, the maximum. Delete one first.`,
      ),
  };
}

export const createConnectionRoute = new Hono().post(
  '/v1/connections',
  operation({
    id: 'createConnection',
    tag: 'Connections',
    summary: 'Create a connection',
    description:
      'Keeps a credential, and lets agents call the other service without holding it. The first rule that matches a ' +
      'call says whether it is sent, needs a permission, or is refused.',
    success: created(Connection),
    problems: ['conflict'],
  }),
  userAccess('connections:write'),
  noQuery(),
  body(ConnectionCreation),
  async (c) => answer(c, await createConnection(c.var.context, c.req.valid('json'))),
);
