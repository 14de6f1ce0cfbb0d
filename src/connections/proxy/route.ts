import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { Database } from '../../db/database';
import { notFound } from '../../errors';
import { proxyAccess } from '../../http/access';
import type { AppEnv } from '../../http/context';
import { problemOf } from '../../http/problem';
import { refusalAnswer } from './answer';
import type { CallLookup } from './earlier-calls';
import { preloadCall, preloadKnownCall } from './load-call';
import { performCall } from './perform';
import { readBodyBytes } from './read-body';
import { readCallCredential } from './read-credential';

const PATH = '/v1/connections/:id/proxy/*';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * The path and query of a URL below a path, as they were sent: the URL parser would resolve dot
 * segments.
 * @throws Problem `not_found` if the URL does not have the path as it is, because a part is encoded
 */
function targetBelow(url: string, base: string): string {
  const [address = ''] = url.split('#');
  const start = address.indexOf(base);
  if (start === -1) throw notFound('connection');
  return address.slice(start + base.length);
}

/** Hides the address from browsers, so that no page of another service is shown under it. */
const refuseNavigation = createMiddleware(async (c, next) => {
  if (c.req.header('Sec-Fetch-Mode') === 'navigate') throw notFound('connection');
  await next();
});

/**
 * The calls that agents make through connections. The address has its own forms of credentials,
 * bodies, idempotency and errors, those of the services behind it, so that their SDKs need only
 * another base URL and key.
 */
export const proxyRoute = new Hono<AppEnv>()
  .onError(async (error, c) => refusalAnswer(await problemOf(error, c), c))
  .on(METHODS, PATH, refuseNavigation, proxyAccess(readCallCredential, preloadCall), async (c) => {
    const { origin } = new URL(c.req.url);
    const base = `/v1/connections/${c.req.param('id')}/proxy`;
    const incoming = {
      request: c.req.raw,
      target: targetBelow(c.req.url, base),
      body: await readBodyBytes(c.req.raw),
      proxyBase: origin + base,
      runtime: c.var.runtime,
      database: () => c.var.database as Database,
      reopen: (lookup: CallLookup | null) =>
        c.var.reopen(lookup ? preloadKnownCall(lookup) : preloadCall),
      waitUntil: (work: Promise<unknown>) => c.executionCtx.waitUntil(work),
    };
    const { context, loaded } = c.var;
    return await performCall(incoming, { context, loaded });
  });
