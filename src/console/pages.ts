import { Hono } from 'hono';
import { agentInPath } from '../agents/agent';
import { sendAsset } from '../http/asset';
import type { AppEnv } from '../http/context';
import { permissionInPath } from '../permissions/permission';
import { showAgent } from './agents/agent';
import { showAgents } from './agents/agent-list';
import { editAgent, removeAgent, switchAgent } from './agents/change';
import { registerAgent, showRegistration } from './agents/register';
import { rotateKey } from './agents/rotate-key';
import { answerConsoleError } from './frame/error-page';
import { denySeveral } from './inbox/deny-several';
import { showInbox } from './inbox/inbox';
import { meRoutes } from './me/me';
import { cardInPath, showCard } from './permission/card';
import { decide, decisionInForm, revoke, sendStatement, statementInForm } from './permission/decide';
import { consoleAccess, consoleRoute } from './session/access';
import { invitationRoutes } from './sign-in/invitation';
import { oidcRoutes } from './sign-in/oidc/routes';
import { signInRoutes } from './sign-in/sign-in';

export { answerConsoleError };

const ASSET_HEADERS = { 'Cache-Control': 'no-cache' };

/** Every page of the console, with the scope that it needs. */
export const pages = new Hono<AppEnv>()
  .route('/', signInRoutes)
  .route('/', invitationRoutes)
  .route('/', oidcRoutes)
  .route('/', meRoutes)
  .get('/console', consoleRoute, consoleAccess('permissions:read'), showInbox)
  .post('/console/deny', consoleRoute, consoleAccess('permissions:decide'), denySeveral)
  .get('/console/permissions/:id', consoleRoute, consoleAccess('permissions:read', cardInPath), showCard)
  .post('/console/permissions/:id/decide', consoleRoute, consoleAccess('permissions:decide', decisionInForm), decide)
  .post(
    '/console/permissions/:id/statement',
    consoleRoute,
    consoleAccess('permissions:decide', statementInForm),
    sendStatement,
  )
  .post('/console/permissions/:id/revoke', consoleRoute, consoleAccess('permissions:decide', permissionInPath), revoke)
  .get('/console/agents', consoleRoute, consoleAccess('agents:read'), showAgents)
  .post('/console/agents', consoleRoute, consoleAccess('agents:write'), registerAgent)
  .get('/console/agents/new', consoleRoute, consoleAccess('agents:write'), showRegistration)
  .get('/console/agents/:id', consoleRoute, consoleAccess('agents:read', agentInPath), showAgent)
  .post('/console/agents/:id', consoleRoute, consoleAccess('agents:write', agentInPath), editAgent)
  .post('/console/agents/:id/switch', consoleRoute, consoleAccess('agents:write'), switchAgent)
  .post('/console/agents/:id/rotate-key', consoleRoute, consoleAccess('agents:write', agentInPath), rotateKey)
  .post('/console/agents/:id/delete', consoleRoute, consoleAccess('agents:write', agentInPath), removeAgent)
  .get('/console/assets/:file', consoleRoute, (c) => sendAsset(c, new URL(c.req.url), ASSET_HEADERS))
  .onError(answerConsoleError);
