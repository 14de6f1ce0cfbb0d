import { Hono } from 'hono';
import { createAccountRoute } from './create';
import { createAccountTokenRoute } from './create-token';
import { deleteAccountRoute } from './delete';
import { exchangePairingCodeRoute } from './exchange-pairing-code';
import { getAccountRoute } from './get';
import { inviteOwnerRoute } from './invite-owner';
import { listAccountsRoute } from './list';
import { createUserTokenRoute } from './me/create-token';
import { deleteUserTokenRoute } from './me/delete-token';
import { endSessionRoute } from './me/end-session';
import { getOwnAccountRoute } from './me/get';
import { listPasskeysRoute } from './me/list-passkeys';
import { listSessionsRoute } from './me/list-sessions';
import { listUserTokensRoute } from './me/list-tokens';
import { resumeAccountRoute } from './me/resume';
import { stopAccountRoute } from './me/stop';
import { getMemberRoute } from './members/get';
import { inviteMemberRoute } from './members/invite';
import { listMembersRoute } from './members/list';
import { removeMemberRoute } from './members/remove';
import { renewInvitationRoute } from './members/renew-invitation';
import { updateMemberRoute } from './members/update';
import { updateAccountRoute } from './update';

/**
 * The operator's endpoints, `/v1/admin`, the caller's own, `/v1/me`, those of the members,
 * `/v1/members`, and pairing.
 */
export const accountRoutes = new Hono()
  .route('/', createAccountRoute)
  .route('/', listAccountsRoute)
  .route('/', getAccountRoute)
  .route('/', updateAccountRoute)
  .route('/', deleteAccountRoute)
  .route('/', createAccountTokenRoute)
  .route('/', inviteOwnerRoute)
  .route('/', getOwnAccountRoute)
  .route('/', stopAccountRoute)
  .route('/', resumeAccountRoute)
  .route('/', createUserTokenRoute)
  .route('/', listUserTokensRoute)
  .route('/', deleteUserTokenRoute)
  .route('/', exchangePairingCodeRoute)
  .route('/', listSessionsRoute)
  .route('/', endSessionRoute)
  .route('/', listPasskeysRoute)
  .route('/', inviteMemberRoute)
  .route('/', listMembersRoute)
  .route('/', getMemberRoute)
  .route('/', updateMemberRoute)
  .route('/', removeMemberRoute)
  .route('/', renewInvitationRoute);
