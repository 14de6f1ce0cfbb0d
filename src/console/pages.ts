import { Hono } from 'hono';
import { sendAsset } from '../http/asset';
import type { AppEnv } from '../http/context';
import { permissionInPath } from '../permissions/permission';
import { policyInPath } from '../permissions/policies/update';
import { answerConsoleError } from './frame/error-page';
import { denySeveral } from './inbox/deny-several';
import { showInbox } from './inbox/inbox';
import { meRoutes } from './me/me';
import { cardInPath, showCard } from './permission/card';
import { decide, decisionInForm, revoke, sendStatement, statementInForm } from './permission/decide';
import { makePolicy, requestInForm, requestInQuery, showNewPolicy } from './policies/new';
import { showPolicies } from './policies/policies';
import { changePolicy, removePolicy, showPolicy, switchPolicy } from './policies/policy';
import { simulationInQuery } from './policies/simulation';
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
  .get('/console/policies', consoleRoute, consoleAccess('policies:read', simulationInQuery), showPolicies)
  .get('/console/policies/new', consoleRoute, consoleAccess('policies:write', requestInQuery), showNewPolicy)
  .post('/console/policies/new', consoleRoute, consoleAccess('policies:write', requestInForm), makePolicy)
  .get('/console/policies/:id', consoleRoute, consoleAccess('policies:read', policyInPath), showPolicy)
  .post('/console/policies/:id', consoleRoute, consoleAccess('policies:write', policyInPath), changePolicy)
  .post('/console/policies/:id/switch', consoleRoute, consoleAccess('policies:write', policyInPath), switchPolicy)
  .post('/console/policies/:id/delete', consoleRoute, consoleAccess('policies:write'), removePolicy)
  .get('/console/assets/:file', consoleRoute, (c) => sendAsset(c, new URL(c.req.url), ASSET_HEADERS))
  .onError(answerConsoleError);
