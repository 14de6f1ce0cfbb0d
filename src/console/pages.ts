import { Hono } from 'hono';
import { memberInPath } from '../accounts/members/member';
import { sendAsset } from '../http/asset';
import type { AppEnv } from '../http/context';
import { permissionInPath } from '../permissions/permission';
import { showActivity } from './activity/activity';
import { answerConsoleError } from './frame/error-page';
import { denySeveral } from './inbox/deny-several';
import { showInbox } from './inbox/inbox';
import { showMe } from './me/me';
import { makeToken, showNewToken } from './me/new-token';
import { passkeyRoutes } from './me/passkey-routes';
import { endOwnSession, signOut } from './me/sessions';
import { deleteOwnToken } from './me/tokens';
import { changeMember, changeStatus, remove } from './members/change';
import { invite, inviteAgain, showInvite } from './members/invitation';
import { showMember } from './members/member';
import { showMembers } from './members/members';
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
  .route('/', passkeyRoutes)
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
  .get('/console/members', consoleRoute, consoleAccess('account:read'), showMembers)
  .get('/console/members/new', consoleRoute, consoleAccess('account:write'), showInvite)
  .post('/console/members', consoleRoute, consoleAccess('account:write'), invite)
  .get('/console/members/:id', consoleRoute, consoleAccess('account:read', memberInPath), showMember)
  .post('/console/members/:id', consoleRoute, consoleAccess('account:write', memberInPath), changeMember)
  .post('/console/members/:id/status', consoleRoute, consoleAccess('account:write', memberInPath), changeStatus)
  .post('/console/members/:id/remove', consoleRoute, consoleAccess('account:write', memberInPath), remove)
  .post('/console/members/:id/invitation', consoleRoute, consoleAccess('account:write', memberInPath), inviteAgain)
  .get('/console/activity', consoleRoute, consoleAccess('audit:read'), showActivity)
  .get('/console/me', consoleRoute, consoleAccess(null), showMe)
  .get('/console/me/tokens/new', consoleRoute, consoleAccess(null), showNewToken)
  .post('/console/me/tokens', consoleRoute, consoleAccess(null), makeToken)
  .post('/console/me/tokens/:id/delete', consoleRoute, consoleAccess(null), deleteOwnToken)
  .post('/console/me/sessions/:id/end', consoleRoute, consoleAccess(null), endOwnSession)
  .post('/console/sign-out', consoleRoute, consoleAccess(null), signOut)
  .get('/console/assets/:file', consoleRoute, (c) => sendAsset(c, new URL(c.req.url), ASSET_HEADERS))
  .onError(answerConsoleError);
