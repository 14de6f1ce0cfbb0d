import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import { invalidRequest, Problem } from '../errors';
import type { AppEnv } from '../http/context';
import type { McpEnv } from './call-tool';
import { mcpOAuthRoutes } from './oauth';

/**
 * The code of the server is loaded with the first request for it, so that it does not lengthen the
 * Worker's start.
 */
const endpoint = () => import('./endpoint');

/**
 * Names the route in the log, and refuses two headers: an `Origin` of another web page, and any
 * `Idempotency-Key`.
 */
const prepareMcp = createMiddleware<AppEnv>(async (c, next) => {
  c.set('route', routePath(c));
  // Only browsers send an Origin. A web page could reach this server if it points its own host name
  // here (DNS rebinding).
  const origin = c.req.header('Origin');
  if (origin !== undefined && origin !== c.var.config.publicUrl) {
    throw new Problem('wrong_credential', 'Web pages of another origin cannot use the MCP server.');
  }
  // Clients send the same headers with every message, so the key would be the same for different
  // requests.
  if (c.req.header('Idempotency-Key') !== undefined) {
    throw invalidRequest([
      {
        path: 'header.Idempotency-Key',
        message:
          'is not accepted by the MCP server: give request_permission an `external_id` instead',
      },
    ]);
  }
  await next();
});

const authenticate = createMiddleware<McpEnv>(async (c, next) =>
  (await endpoint()).mcpAccess(c, next),
);

const answer = createMiddleware<McpEnv>(async (c) => (await endpoint()).answerMessage(c));

/**
 * The MCP server for agents and for assistants of people, `/mcp`: Streamable HTTP without sessions.
 */
export const mcpRoutes = new Hono<AppEnv>()
  .post('/mcp', prepareMcp, authenticate, answer)
  .post('/mcp/', prepareMcp, authenticate, answer)
  .route('/', mcpOAuthRoutes);
