import type { Context as HonoContext } from 'hono';
import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../../../http/context';
import { noQuery } from '../../../http/input';
import { limitAddress } from '../../../http/rate-limit';
import { sendPage } from '../../frame/page';
import { consoleRoute } from '../../session/access';
import { readReturnPath } from '../../session/return-path';
import { setSessionCookie } from '../../session/session';
import { requireInvitation } from '../invitation';
import { providerName } from './button';
import { beginFlow, clearFlow, flowChallenge, readFlow } from './flow';
import { joinWithIdentity } from './join';
import { CALLBACK_PATH, exchangeCode, failSignIn, makeAuthorizationUrl, requireProvider } from './provider';
import { signInWithIdentity } from './sign-in';

/**
 * Sends the browser to the identity provider by a page that refreshes at once. A redirect would be blocked: it follows a
 * form, and the policy `form-action` of the pages allows forms that lead to the console only.
 */
async function sendToProvider(c: HonoContext<AppEnv>, purpose: Parameters<typeof beginFlow>[1]): Promise<Response> {
  const provider = requireProvider(c);
  // Each of these makes a request to the provider.
  await limitAddress(c);
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

/** Deletes the flow's cookie after the callback, whatever the outcome. */
const endFlow = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  clearFlow(c);
});

export const oidcRoutes = new Hono<AppEnv>()
  .post('/console/oidc/sign-in', consoleRoute, noQuery(), async (c) => {
    const { return: page } = await c.req.parseBody();
    return sendToProvider(c, { invitation: null, returnPath: readReturnPath(page) });
  })
  .post('/console/invitations/:secret/oidc', consoleRoute, noQuery(), async (c) => {
    await requireInvitation(c);
    return sendToProvider(c, { invitation: c.req.param('secret'), returnPath: '/console' });
  })
  .get(CALLBACK_PATH, consoleRoute, endFlow, async (c) => {
    requireProvider(c);
    const flow = await readFlow(c);
    if (!flow) return failSignIn(c);
    const claims = await exchangeCode(c, flow, new URL(c.req.url).searchParams);
    const challenge = flowChallenge(flow);
    const secret =
      flow.invitation === null
        ? await signInWithIdentity(c, claims, challenge)
        : await joinWithIdentity(c, await requireInvitation(c, flow.invitation), claims, challenge);
    setSessionCookie(c, secret);
    return c.redirect(flow.returnPath, 303);
  });
