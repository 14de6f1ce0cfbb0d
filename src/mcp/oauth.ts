import { Hono, type Context as HonoContext } from 'hono';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import { Problem } from '../errors';
import type { AppEnv } from '../http/context';
import { problemResponse } from '../http/problem';

/** The section of the guide that says how a client gets its key. */
const GUIDE = '/docs/guides/mcp#a-client-that-asks-you-to-sign-in';

const nameRoute = createMiddleware<AppEnv>(async (c, next) => {
  c.set('route', routePath(c));
  await next();
});

/**
 * The OAuth endpoints that the metadata of the authorization server names (RFC 8414). A client
 * whose key `/mcp` refuses looks for a sign-in there. There is none, so each of them says what to
 * do about the key.
 */
export const mcpOAuthRoutes = new Hono<AppEnv>()
  .get('/mcp/oauth/authorize', nameRoute, (c) => c.redirect(GUIDE))
  .post('/mcp/oauth/register', nameRoute, (c) => refuse(c, 'invalid_client_metadata'))
  .post('/mcp/oauth/token', nameRoute, (c) => refuse(c, 'unsupported_grant_type'));

/**
 * Answers a problem that is an OAuth error as well.
 * @param error a code of RFC 7591 section 3.2.2 or RFC 6749 section 5.2
 */
function refuse(c: HonoContext<AppEnv>, error: string): Response {
  const detail =
    'Countersign has no OAuth sign-in. Give the client an agent key or a user token, which it sends as ' +
    '`Authorization: Bearer <key>`. If it sent one, that key is malformed, unknown, expired or revoked. ' +
    `${c.var.config.publicUrl}${GUIDE} shows how.`;
  return problemResponse(
    new Problem('invalid_request', detail, { members: { error, error_description: detail } }),
    c,
  );
}
