import { Hono } from 'hono';
import { memberInPath } from '../accounts/members/member';
import { entryInPath } from '../audit/get';
import { sendAsset } from '../http/asset';
import type { AppEnv } from '../http/context';
import { permissionInPath } from '../permissions/permission';
import { exportEntries, showAudit } from './audit/audit';
import { showEntry } from './audit/entry';
import { sendEntry, sendMember, sendProof } from './audit/proofs';
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
  .get('/console/audit', consoleRoute, consoleAccess('audit:read'), showAudit)
  .post('/console/audit/export', consoleRoute, consoleAccess('audit:export'), exportEntries)
  .get('/console/audit/members/:id', consoleRoute, consoleAccess('audit:read', memberInPath), sendMember)
  .get('/console/audit/:id', consoleRoute, consoleAccess('audit:read', entryInPath), showEntry)
  .get('/console/audit/:id/entry', consoleRoute, consoleAccess('audit:read', entryInPath), sendEntry)
  .get('/console/audit/:id/proof', consoleRoute, consoleAccess('audit:read'), sendProof)
  .get('/console/assets/:file', consoleRoute, (c) => sendAsset(c, new URL(c.req.url), ASSET_HEADERS))
  .onError(answerConsoleError);
