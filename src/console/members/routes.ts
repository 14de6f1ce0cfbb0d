import { Hono } from 'hono';
import type { AppEnv, Scope } from '../../http/context';
import { consoleAccess } from '../session/access';
import { changeMember, changeStatus, remove } from './change';
import { invite, inviteAgain, showInvite } from './invitation';
import { showMember } from './member';
import { showMembers } from './members';
import { preloadReviewer } from './reviewing';

const WRITE_MEMBERS: Scope[] = ['account:read', 'account:write'];
/** For changes of who has access, and of what they may do. */
const RECENT = { needsRecentSignIn: true };

/** The pages of members. */
export const memberRoutes = new Hono<AppEnv>()
  .get('/console/members', consoleAccess('account:read'), showMembers)
  .get('/console/members/new', consoleAccess(WRITE_MEMBERS), showInvite)
  .post('/console/members', consoleAccess(WRITE_MEMBERS, undefined, RECENT), invite)
  .get('/console/members/:id', consoleAccess('account:read', preloadReviewer), showMember)
  .post('/console/members/:id', consoleAccess(WRITE_MEMBERS, preloadReviewer, RECENT), changeMember)
  .post(
    '/console/members/:id/status',
    consoleAccess(WRITE_MEMBERS, preloadReviewer, RECENT),
    changeStatus,
  )
  .post(
    '/console/members/:id/remove',
    consoleAccess(WRITE_MEMBERS, preloadReviewer, RECENT),
    remove,
  )
  .post(
    '/console/members/:id/invitation',
    consoleAccess(WRITE_MEMBERS, preloadReviewer, RECENT),
    inviteAgain,
  );
