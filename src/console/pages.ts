import { Hono } from 'hono';
import { preloadMember } from '../accounts/members/member';
import { preloadAgent } from '../agents/agent';
import { preloadEntry } from '../audit/get';
import { Problem } from '../errors';
import type { AppEnv, Scope } from '../http/context';
import { preloadPermissionWithContents } from '../permissions/contents';
import { preloadPermission } from '../permissions/find-permission';
import { preloadCard } from '../permissions/preload-card';
import { preloadPolicy } from '../policies/update';
import { preloadReceipt } from '../receipts/get-receipt';
import { preloadChannel } from '../receivers/channels/channel';
import { preloadDelivery } from '../receivers/webhooks/deliveries/delivery';
import { preloadWebhook } from '../receivers/webhooks/webhook';
import { showActivity } from './activity/activity';
import { showAgent } from './agents/agent';
import { showAgents } from './agents/agent-list';
import { editAgent, removeAgent, rotateKey, switchAgent } from './agents/change';
import { sendArrival } from './agents/first-request';
import { registerAgent, showRegistration } from './agents/register';
import { sendConsoleAsset } from './assets';
import { exportEntries, showAudit } from './audit/audit';
import { showEntry } from './audit/entry';
import { preloadZone } from './audit/load';
import { sendContents, sendEntry, sendMemberJson, sendProof } from './audit/verify';
import { removeChannel, sendChannelTest, showChannel, switchChannel } from './channels/channel';
import {
  addChannel,
  editChannel,
  preloadFormChannel,
  showChannelForm,
  showNewChannel,
} from './channels/channel-form';
import { showChannels } from './channels/channels';
import {
  preloadDeliveryWithChannel,
  sendMessageAgain,
  showChannelDelivery,
} from './channels/delivery';
import { connectionPages } from './connections/routes';
import { showExports } from './files/exports';
import { showNewExport, startExport } from './files/new-export';
import { showNewReport, startReport } from './files/new-report';
import { showReports } from './files/reports';
import { answerConsoleError } from './frame/error-page';
import { answerPageError } from './frame/outdated-page';
import { denySeveral, showTypedDenial } from './inbox/deny-several';
import { showInbox } from './inbox/inbox';
import { sendWaiting } from './inbox/send-waiting';
import { emailRoutes } from './me/email';
import { saveNotifications, showMe } from './me/me';
import { preloadFormNotifications } from './me/notifications';
import { passkeyRoutes } from './me/passkey-routes';
import { pushRoutes } from './me/push-routes';
import { endOwnSession, signOut } from './me/sessions';
import { deleteOwnToken, makeToken, showNewToken } from './me/tokens';
import { memberRoutes } from './members/routes';
import { pairRoutes } from './pair/pair';
import { showCard, showTypedCard } from './permission/card';
import {
  decide,
  preloadFormDecision,
  preloadFormStatement,
  revoke,
  sendStatement,
} from './permission/decide';
import { sendState } from './permission/live-state';
import { skip } from './permission/next-request';
import { sendReceipt } from './permission/receipt';
import { sendSentence } from './policies/live-sentence';
import { makePolicy, preloadSourceRequest, showNewPolicy } from './policies/new';
import { showPolicies } from './policies/policies';
import { changePolicy, removePolicy, showPolicy, switchPolicy } from './policies/policy';
import { preloadSimulation } from './policies/simulation';
import { preloadFormAgents } from './receivers/fields';
import { endLiveSeries } from './series/end';
import { consoleAccess, consoleRoute } from './session/access';
import { sendCsrfToken } from './session/csrf-token';
import { invitationRoutes } from './sign-in/invitation';
import { oidcRoutes } from './sign-in/oidc/routes';
import { signInRoutes } from './sign-in/sign-in';
import { linkRoutes } from './slack/link';
import { unlinkRoutes } from './slack/links';
import { resume, showStop, stop } from './stop/stop';
import { sendAgain, showDelivery } from './webhooks/delivery';
import {
  removeWebhook,
  rotateWebhookSecret,
  sendTest,
  showWebhook,
  switchWebhook,
} from './webhooks/webhook';
import {
  addWebhook,
  editWebhook,
  preloadFormWebhook,
  showNewWebhook,
  showWebhookForm,
} from './webhooks/webhook-form';
import { showWebhooks } from './webhooks/webhooks';

/** For forms that are sent to be shown, such as one that was kept when a session ended. */
const SHOWS_ONLY = { showsOnly: true };

/**
 * For changes that outlive the session: credentials, invitations, who may do what, the secrets of
 * receivers, and the end of a stop.
 */
const RECENT = { needsRecentSignIn: true };

// A change needs the scope to read as well: the answer to a refused change is the page that shows
// the object.
const DECIDE: Scope[] = ['permissions:read', 'permissions:decide'];
const WRITE_AGENTS: Scope[] = ['agents:read', 'agents:write'];
const WRITE_POLICIES: Scope[] = ['policies:read', 'policies:write'];
const WRITE_WEBHOOKS: Scope[] = ['webhooks:read', 'webhooks:write'];
const WRITE_CHANNELS: Scope[] = ['channels:read', 'channels:write'];

/** Every page of the console, with the scopes that it needs. */
export const pages = new Hono<AppEnv>()
  .use('/console/*', consoleRoute)
  .route('/', signInRoutes)
  .route('/', invitationRoutes)
  .route('/', oidcRoutes)
  .route('/', passkeyRoutes)
  .route('/', pushRoutes)
  .route('/', emailRoutes)
  .route('/', pairRoutes)
  .route('/', linkRoutes)
  .route('/', unlinkRoutes)
  .route('/', connectionPages)
  .route('/', memberRoutes)
  .get('/console', consoleAccess(null), showInbox)
  .post('/console', consoleAccess(DECIDE, undefined, SHOWS_ONLY), showTypedDenial)
  .get('/console/waiting', consoleAccess(null, undefined, { countsForScripts: true }), sendWaiting)
  .post('/console/deny', consoleAccess(DECIDE), denySeveral)
  .get('/console/permissions/:id', consoleAccess('permissions:read', preloadCard), showCard)
  .post('/console/permissions/:id', consoleAccess(DECIDE, preloadCard, SHOWS_ONLY), showTypedCard)
  .get(
    '/console/permissions/:id/state',
    consoleAccess('permissions:read', preloadPermission),
    sendState,
  )
  .post('/console/permissions/:id/decide', consoleAccess(DECIDE, preloadFormDecision), decide)
  .post(
    '/console/permissions/:id/statement',
    consoleAccess(DECIDE, preloadFormStatement),
    sendStatement,
  )
  .get(
    '/console/permissions/:id/contents',
    consoleAccess('permissions:read', preloadPermissionWithContents),
    sendContents,
  )
  .get(
    '/console/permissions/:id/receipt',
    consoleAccess(['permissions:read', 'audit:read'], preloadReceipt),
    sendReceipt,
  )
  .post('/console/permissions/:id/skip', consoleAccess(DECIDE, preloadPermission), skip)
  .post('/console/permissions/:id/revoke', consoleAccess(DECIDE, preloadPermission), revoke)
  .post('/console/permissions/:id/series/end', consoleAccess(DECIDE), endLiveSeries)
  .get('/console/agents', consoleAccess('agents:read'), showAgents)
  .post('/console/agents', consoleAccess(WRITE_AGENTS), registerAgent)
  .get('/console/agents/new', consoleAccess(WRITE_AGENTS), showRegistration)
  .get('/console/agents/:id', consoleAccess('agents:read', preloadAgent), showAgent)
  .get(
    '/console/agents/:id/first-request',
    consoleAccess(['agents:read', 'permissions:read'], preloadAgent),
    sendArrival,
  )
  .post('/console/agents/:id', consoleAccess(WRITE_AGENTS, preloadAgent), editAgent)
  .post('/console/agents/:id/switch', consoleAccess(WRITE_AGENTS, preloadAgent), switchAgent)
  .post('/console/agents/:id/rotate-key', consoleAccess(WRITE_AGENTS, preloadAgent), rotateKey)
  .post('/console/agents/:id/delete', consoleAccess(WRITE_AGENTS, preloadAgent), removeAgent)
  .get('/console/exports', consoleAccess('audit:export'), showExports)
  .get('/console/exports/new', consoleAccess('audit:export'), showNewExport)
  .post('/console/exports', consoleAccess('audit:export'), startExport)
  .get('/console/reports', consoleAccess('audit:export'), showReports)
  .get('/console/reports/new', consoleAccess('audit:export'), showNewReport)
  .post('/console/reports', consoleAccess('audit:export'), startReport)
  .get('/console/webhooks', consoleAccess('webhooks:read'), showWebhooks)
  .get('/console/webhooks/new', consoleAccess(WRITE_WEBHOOKS), showNewWebhook)
  .post('/console/webhooks', consoleAccess(WRITE_WEBHOOKS, preloadFormAgents, RECENT), addWebhook)
  .get('/console/webhooks/:id', consoleAccess('webhooks:read', preloadWebhook), (c) =>
    showWebhook(c),
  )
  .get('/console/webhooks/:id/edit', consoleAccess(WRITE_WEBHOOKS, preloadWebhook), showWebhookForm)
  .post(
    '/console/webhooks/:id/edit',
    consoleAccess(WRITE_WEBHOOKS, preloadFormWebhook),
    editWebhook,
  )
  .post(
    '/console/webhooks/:id/switch',
    consoleAccess(WRITE_WEBHOOKS, preloadWebhook),
    switchWebhook,
  )
  .post(
    '/console/webhooks/:id/rotate-secret',
    consoleAccess(WRITE_WEBHOOKS, preloadWebhook, RECENT),
    rotateWebhookSecret,
  )
  .post('/console/webhooks/:id/delete', consoleAccess(WRITE_WEBHOOKS), removeWebhook)
  .post('/console/webhooks/:id/test', consoleAccess(WRITE_WEBHOOKS, preloadWebhook), sendTest)
  .get(
    '/console/webhooks/:id/deliveries/:delivery_id',
    consoleAccess('webhooks:read', preloadDelivery),
    (c) => showDelivery(c),
  )
  .post(
    '/console/webhooks/:id/deliveries/:delivery_id/redeliver',
    consoleAccess(WRITE_WEBHOOKS, preloadDelivery),
    sendAgain,
  )
  .get('/console/channels', consoleAccess('channels:read'), showChannels)
  .get('/console/channels/new', consoleAccess(WRITE_CHANNELS), showNewChannel)
  .post('/console/channels', consoleAccess(WRITE_CHANNELS, preloadFormAgents, RECENT), addChannel)
  .get('/console/channels/:id', consoleAccess('channels:read', preloadChannel), (c) =>
    showChannel(c),
  )
  .get('/console/channels/:id/edit', consoleAccess(WRITE_CHANNELS, preloadChannel), showChannelForm)
  .post(
    '/console/channels/:id/edit',
    consoleAccess(WRITE_CHANNELS, preloadFormChannel, RECENT),
    editChannel,
  )
  .post(
    '/console/channels/:id/switch',
    consoleAccess(WRITE_CHANNELS, preloadChannel),
    switchChannel,
  )
  .post('/console/channels/:id/delete', consoleAccess(WRITE_CHANNELS), removeChannel)
  .post(
    '/console/channels/:id/test',
    consoleAccess(WRITE_CHANNELS, preloadChannel),
    sendChannelTest,
  )
  .get(
    '/console/channels/:id/deliveries/:delivery_id',
    consoleAccess('channels:read', preloadDeliveryWithChannel),
    (c) => showChannelDelivery(c),
  )
  .post(
    '/console/channels/:id/deliveries/:delivery_id/redeliver',
    consoleAccess(WRITE_CHANNELS, preloadDeliveryWithChannel),
    sendMessageAgain,
  )
  .get('/console/activity', consoleAccess('audit:read'), showActivity)
  .get('/console/me', consoleAccess(null), (c) => showMe(c))
  .post(
    '/console/me/notifications',
    consoleAccess('account:read', preloadFormNotifications),
    saveNotifications,
  )
  .get('/console/me/tokens/new', consoleAccess(null), showNewToken)
  .post('/console/me/tokens', consoleAccess(null, undefined, RECENT), makeToken)
  .post('/console/me/tokens/:id/delete', consoleAccess(null), deleteOwnToken)
  .post('/console/me/sessions/:id/end', consoleAccess(null), endOwnSession)
  .get('/console/csrf-token', consoleAccess(null), sendCsrfToken)
  .get('/console/stop', consoleAccess(null), showStop)
  .post('/console/stop', consoleAccess(null), stop)
  .post('/console/resume', consoleAccess('account:write', undefined, RECENT), resume)
  .post('/console/sign-out', consoleAccess(null), signOut)
  .get('/console/policies', consoleAccess('policies:read', preloadSimulation), showPolicies)
  .get('/console/policies/new', consoleAccess(WRITE_POLICIES, preloadSourceRequest), showNewPolicy)
  .post('/console/policies/new', consoleAccess(WRITE_POLICIES, preloadSourceRequest), makePolicy)
  .post(
    '/console/policies/sentence',
    consoleAccess(WRITE_POLICIES, undefined, SHOWS_ONLY),
    sendSentence,
  )
  .get('/console/policies/:id', consoleAccess('policies:read', preloadPolicy), showPolicy)
  .post('/console/policies/:id', consoleAccess(WRITE_POLICIES, preloadPolicy), changePolicy)
  .post('/console/policies/:id/switch', consoleAccess(WRITE_POLICIES, preloadPolicy), switchPolicy)
  .post('/console/policies/:id/delete', consoleAccess(WRITE_POLICIES), removePolicy)
  .get('/console/audit', consoleAccess('audit:read', preloadZone), showAudit)
  .post(
    '/console/audit/export',
    consoleAccess(['audit:read', 'audit:export'], preloadZone),
    exportEntries,
  )
  .get(
    '/console/audit/members/:id',
    consoleAccess(['audit:read', 'account:read'], preloadMember),
    sendMemberJson,
  )
  .get('/console/audit/:id', consoleAccess('audit:read', preloadEntry), showEntry)
  .get('/console/audit/:id/entry', consoleAccess('audit:read', preloadEntry), sendEntry)
  .get('/console/audit/:id/proof', consoleAccess('audit:read'), sendProof)
  .get('/console/assets/:file', sendConsoleAsset)
  .all('/console/*', (c) =>
    answerConsoleError(new Problem('not_found', 'There is no page at this address.'), c),
  )
  .onError(answerPageError);
