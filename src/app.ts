import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { TrieRouter } from 'hono/router/trie-router';
import { accountRoutes } from './accounts/routes';
import { agentRoutes } from './agents/routes';
import { auditRoutes } from './audit/routes';
import { connectionRoutes } from './connections/routes';
import { consoleRoutes } from './console/routes';
import { docsRoutes } from './docs/routes';
import type { Runtime } from './env';
import { Problem } from './errors';
import { fileRoutes } from './files/routes';
import type { AppEnv } from './http/context';
import { health } from './http/health';
import { refuseOtherMethods } from './http/method';
import { answerError, problemResponse } from './http/problem';
import { prepareRequest } from './http/request';
import { mcpRoutes } from './mcp/routes';
import { permissionRoutes } from './permissions/routes';
import { policyRoutes } from './policies/routes';
import { getReceiptRoute } from './receipts/get-receipt';
import { channelRoutes } from './receivers/channels/routes';
import { webhookRoutes } from './receivers/webhooks/routes';
import { reportRoutes } from './reports/routes';

/** Creates the whole HTTP service. */
export function createApp(runtime: Runtime) {
  // Hono's default tries another router first, which cannot tell some of our paths apart.
  const app = new Hono<AppEnv>({ router: new TrieRouter() });
  app.use(prepareRequest(runtime));
  // Tools in browsers read what is public from pages of any origin.
  for (const path of ['/openapi.json', '/.well-known/jwks.json']) {
    app.use(path, cors({ origin: '*', allowMethods: ['GET', 'HEAD'] }));
  }
  app.use(refuseOtherMethods(app));
  app.route('/', health);
  app.route('/', accountRoutes);
  app.route('/', agentRoutes);
  app.route('/', permissionRoutes);
  app.route('/', policyRoutes);
  app.route('/', auditRoutes);
  app.route('/', fileRoutes);
  app.route('/', getReceiptRoute);
  app.route('/', reportRoutes);
  app.route('/', webhookRoutes);
  app.route('/', channelRoutes);
  app.route('/', connectionRoutes);
  app.route('/', consoleRoutes);
  app.route('/', mcpRoutes);
  const docs = docsRoutes(() => app.routes);
  app.route('/', docs);
  app.notFound((c) =>
    problemResponse(new Problem('not_found', 'There is nothing at this path.'), c),
  );
  app.onError(answerError);
  return app;
}
