import { Hono } from 'hono';
import * as z from 'zod';
import { Problem } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { plainText } from '../http/fields';
import { body, noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { countField } from '../http/response-fields';
import { requireNotStopped } from '../ledger/stop';
import { type LazyOutput, lazy } from '../lib/lazy';
import { SECOND } from '../lib/time';
import { untilAborted } from '../lib/until-aborted';
import { credentialHeader } from './auth';
import { findCallFault } from './callable';
import { type ConnectionRow, preloadConnection, requireConnection } from './connection';
import { openSecret } from './secret';

const MAX_PATH_LENGTH = 2_048;
/** Seconds after which a test fails, even where calls may take longer. */
const MAX_TIMEOUT = 30;
const USER_AGENT = 'Countersign-Connections/1.0';
/** A dot segment in any encoding, an empty segment, a backslash, a blank or a fragment. */
const NOT_A_PATH = /[\s\p{Cc}#\\]|^[^?]*(\/\/|\/(\.|%2e){1,2}(\/|\?|$))/iu;

const ConnectionTest = lazy(() =>
  z
    .strictObject({
      path: plainText(MAX_PATH_LENGTH)
        .refine(
          (path) => path.startsWith('/') && !NOT_A_PATH.test(path),
          'must be a path that begins with /, without empty or dot segments',
        )
        .meta({
          pattern: '^/',
          description: 'The path below `base_url`, and a query if it has one. It is read with GET.',
          examples: ['/v1/balance'],
        }),
    })
    .meta({ id: 'ConnectionTest', examples: [{ path: '/v1/balance' }] }),
);

const ConnectionTestResult = lazy(() =>
  z
    .object({
      status: countField.meta({ description: 'The status of the answer.' }),
      duration_ms: countField.meta({ description: 'Milliseconds until the head of the answer.' }),
    })
    .meta({ id: 'ConnectionTestResult', examples: [{ status: 200, duration_ms: 83 }] }),
);

/**
 * Reads a path of the other service with the credential, and says what it answered, never with its
 * body. Follows no redirect, and asks for no permission.
 * @param now a clock that moves on during the request
 * @throws Problem `account_stopped`; `connection_refused` if the connection is switched off;
 *   `connection_failed` or `connection_timeout` if there is no answer
 */
export async function testConnection(
  context: UserContext,
  { connection, path, now }: { connection: ConnectionRow; path: string; now: () => number },
): Promise<LazyOutput<typeof ConnectionTestResult>> {
  const { principal, config, runtime } = context;
  requireNotStopped(principal.account);
  if (!connection.isActive)
    throw new Problem('connection_refused', 'The connection is switched off. Switch it on first.');
  const fault = await findCallFault(context, connection.baseUrl);
  if (fault !== null) throw new Problem('connection_failed', `${fault} Nothing was sent.`);
  const secret = await openSecret(config, principal.account.id, connection);
  const credential = credentialHeader(connection, secret);
  const headers = new Headers({ Accept: '*/*', 'User-Agent': USER_AGENT });
  if (credential) headers.set(credential.name, credential.value);
  const start = now();
  const seconds = Math.min(connection.timeout, MAX_TIMEOUT);
  const signal = runtime.timeout(seconds * SECOND);
  const url = connection.baseUrl.replace(/\/$/, '') + path;
  try {
    const sent = runtime.fetch(url, { method: 'GET', headers, redirect: 'manual', signal });
    const response = await untilAborted(signal, sent);
    const result = { status: response.status, duration_ms: now() - start };
    await response.body?.cancel();
    return result;
  } catch {
    if (signal.aborted)
      throw new Problem('connection_timeout', `There was no answer within ${seconds} seconds.`);
    throw new Problem('connection_failed', 'The other service could not be reached.');
  }
}

export const testConnectionRoute = new Hono().post(
  '/v1/connections/:id/test',
  operation({
    id: 'testConnection',
    tag: 'Connections',
    summary: 'Test a connection',
    description:
      'Reads a path of the other service with the credential, and says the status and the duration, never the body. No ' +
      'rule is asked, and no redirect is followed.',
    success: ok(ConnectionTestResult),
    pathId: 'conn',
    problems: ['account_stopped', 'connection_refused', 'connection_failed', 'connection_timeout'],
  }),
  userAccess('connections:write', preloadConnection),
  noQuery(),
  body(ConnectionTest),
  async (c) => {
    const connection = requireConnection(c.var.loaded.connection);
    const input = { connection, now: c.var.runtime.now, ...c.req.valid('json') };
    return answer(c, await testConnection(c.var.context, input));
  },
);
