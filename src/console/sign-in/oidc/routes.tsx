import { Hono, type Context as HonoContext } from 'hono';
import { createMiddleware } from 'hono/factory';
import { requireInvitation } from '../../../accounts/members/accept-invitation';
import { joinWithIdentity } from '../../../accounts/members/join-with-identity';
import { memberFields } from '../../../accounts/members/member';
import { invalidRequest } from '../../../errors';
import type { AppEnv } from '../../../http/context';
import { noQuery } from '../../../http/input';
import { limitNetwork } from '../../../http/rate-limit';
import {
  CALLBACK_PATH,
  exchangeCode,
  type Flow,
  failSignIn,
  makeAuthorizationUrl,
  readAuthenticationTime,
  requireProvider,
} from '../../../identity/oidc/authorization-code';
import type { Claims } from '../../../identity/oidc/jwt';
import { providerName } from '../../../identity/oidc/provider';
import { signInWithIdentity } from '../../../identity/oidc/sign-in';
import type { Proof } from '../../../identity/sessions/begin';
import { sendPage } from '../../frame/page';
import { setFlash } from '../../session/flash';
import { readReturnPath } from '../../session/return-path';
import { setSessionCookie } from '../../session/session';
import { beginFlow, clearFlow, flowChallenge, readFlow } from './flow';

/**
 * Sends the browser to the identity provider by a page that refreshes at once. A redirect would be
 * blocked: it follows a form, and the policy `form-action` of the pages allows forms that lead to
 * the console only.
 */
async function sendToProvider(
  c: HonoContext<AppEnv>,
  purpose: Parameters<typeof beginFlow>[1],
): Promise<Response> {
  const provider = requireProvider(c);
  // Each of these makes a request to the provider.
  await limitNetwork(c);
  const url = await makeAuthorizationUrl(c, await beginFlow(c, purpose));
  const children = (
    <p>
      <a href={url}>Continue to {providerName(provider)}</a>
    </p>
  );
  c.header('Refresh', `0; url=${url}`);
  const page = sendPage(c, { title: 'One moment', isNarrow: true, children });
  return c.newResponse(page.body, page);
}

/**
 * Reads how a person who joins wants to be called; null for as the invitation says.
 * @throws Problem `invalid_request`
 */
async function readMemberName(c: HonoContext<AppEnv>): Promise<string | null> {
  const { member_name: typed } = await c.req.parseBody();
  if (typeof typed !== 'string' || typed.trim() === '') return null;
  const name = memberFields().name.safeParse(typed);
  if (name.success) return name.data;
  const message = name.error.issues[0]?.message ?? 'must be a name';
  throw invalidRequest([{ path: 'body.member_name', message }]);
}

/**
 * Signs the person in, or lets them join.
 * @returns the secret of the session's cookie
 */
async function completeFlow(
  c: HonoContext<AppEnv>,
  { invitation, memberName }: Flow,
  claims: Claims,
  proof: Proof,
): Promise<string> {
  if (invitation === null) return signInWithIdentity(c, claims, proof);
  const name = memberName ?? undefined;
  return joinWithIdentity(c, await requireInvitation(c, invitation), claims, { ...proof, name });
}

/** Deletes the flow's cookie after the callback, whatever the outcome. */
const endFlow = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  clearFlow(c);
});

export const oidcRoutes = new Hono<AppEnv>()
  .post('/console/oidc/sign-in', noQuery(), async (c) => {
    const { return: page, recent } = await c.req.parseBody();
    const needsRecent = recent === 'true';
    return sendToProvider(c, {
      invitation: null,
      memberName: null,
      returnPath: readReturnPath(page),
      needsRecent,
    });
  })
  .post('/console/invitations/:secret/oidc', noQuery(), async (c) => {
    const invitation = c.req.param('secret');
    await requireInvitation(c, invitation);
    return sendToProvider(c, {
      invitation,
      memberName: await readMemberName(c),
      returnPath: '/console',
      needsRecent: false,
    });
  })
  .get(CALLBACK_PATH, endFlow, async (c) => {
    requireProvider(c);
    const flow = await readFlow(c);
    if (!flow) return failSignIn(c);
    const claims = await exchangeCode(c, flow, new URL(c.req.url).searchParams);
    const authenticatedAt = await readAuthenticationTime(c, flow, claims);
    const proof = { challenge: flowChallenge(flow), authenticatedAt };
    setSessionCookie(c, await completeFlow(c, flow, claims, proof));
    if (flow.invitation !== null) setFlash(c, flow.returnPath, 'joined_with_provider');
    return c.redirect(flow.returnPath, 303);
  });
