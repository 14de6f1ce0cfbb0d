import { Hono, type Context as HonoContext } from 'hono';
import * as z from 'zod';
import { PROBLEMS, Problem } from '../../errors';
import type { AppEnv } from '../../http/context';
import { body, noQuery, readJsonOrForm, readObject } from '../../http/input';
import { requestOptions } from '../../identity/passkeys/registration';
import { SIGN_IN_PURPOSE, signInWithPasskey } from '../../identity/passkeys/sign-in';
import { AuthenticationResponse } from '../../identity/passkeys/webauthn';
import { signInWithToken } from '../../identity/tokens/sign-in';
import { lazy } from '../../lib/lazy';
import type { Refusal } from '../frame/form';
import { sendPage } from '../frame/page';
import { HiddenFields, TextField } from '../parts/fields';
import { Form, NeedsScript } from '../parts/form';
import { readReturnPath } from '../session/return-path';
import { setSessionCookie } from '../session/session';
import { OidcButton } from './oidc/button';

const SignIn = lazy(() =>
  z.strictObject({ response: AuthenticationResponse(), return: z.string().optional() }),
);

/**
 * Redirects to the same page on the deployment's own host, as no passkey works on another; null if
 * it is that host.
 */
export function redirectToOwnHost(c: HonoContext<AppEnv>): Response | null {
  const { publicUrl } = c.var.config;
  const { origin, pathname, search } = new URL(c.req.url);
  return origin === publicUrl ? null : c.redirect(publicUrl + pathname + search);
}

/**
 * Shows the ways to sign in.
 * @param returnPath the page to show after the sign-in
 * @param isAgain whether a page asks for a recent sign-in
 * @param refusal why the user token in this request was refused
 */
function sendSignIn(
  c: HonoContext<AppEnv>,
  { returnPath, isAgain }: { returnPath: string; isAgain: boolean },
  refusal?: Refusal,
): Response {
  const children = (
    <>
      <p>
        {isAgain && 'What you are about to do needs a sign-in within the last 10 minutes. '}
        Sign in with the passkey that you made when you joined.
      </p>
      <button
        type="button"
        data-passkey="use"
        data-action="/console/sign-in"
        data-return={returnPath}
      >
        Sign in with a passkey
      </button>
      <NeedsScript />
      <OidcButton
        oidc={c.var.config.oidc}
        action="/console/oidc/sign-in"
        verb="Sign in"
        fields={{ return: returnPath, recent: isAgain ? 'true' : null }}
      />
      <details open={refusal !== undefined} data-no-passkey>
        <summary>Sign in with a user token</summary>
        <Form action="/console/sign-in/token" refusal={refusal}>
          <HiddenFields fields={{ return: returnPath, recent: isAgain ? 'true' : null }} />
          <TextField
            label="User token"
            name="token"
            type="password"
            autocomplete="off"
            required
            hint="You can then do what the token may do, until it is deleted or expires."
          />
          <button type="submit" class="quiet">
            Sign in with the token
          </button>
        </Form>
      </details>
      <p class="hint">
        No passkey yet? Ask an owner or admin of your account for an invitation, and open its link.
      </p>
    </>
  );
  return sendPage(c, { title: 'Sign in', isNarrow: true, status: refusal?.status, children });
}

/**
 * Says at the token's field why it was refused; throws other errors. The page never shows the token
 * again.
 */
function tokenRefusal(error: unknown): Refusal {
  const status = error instanceof Problem ? PROBLEMS[error.code].status : 500;
  if (!(error instanceof Problem) || (status !== 401 && status !== 403)) throw error;
  return {
    detail: 'You are not signed in.',
    status,
    faults: new Map([['token', error.detail]]),
    typed: {},
  };
}

export const signInRoutes = new Hono<AppEnv>()
  .get('/console/sign-in', (c) => {
    const returnPath = readReturnPath(c.req.query('return'));
    return (
      redirectToOwnHost(c) ??
      sendSignIn(c, { returnPath, isAgain: c.req.query('recent') === 'true' })
    );
  })
  .post('/console/sign-in/options', noQuery(), async (c) =>
    c.json(await requestOptions(c.var, SIGN_IN_PURPOSE)),
  )
  .post('/console/sign-in', noQuery(), body(SignIn), async (c) => {
    const input = c.req.valid('json');
    setSessionCookie(c, await signInWithPasskey(c, input));
    return c.json({ location: readReturnPath(input.return) }, 201);
  })
  .post('/console/sign-in/token', noQuery(), async (c) => {
    const form = await readObject(c, readJsonOrForm);
    const token = typeof form?.token === 'string' ? form.token.trim() : '';
    const returnPath = readReturnPath(form?.return);
    try {
      setSessionCookie(c, await signInWithToken(c, token));
    } catch (error) {
      if (error instanceof Problem) c.set('problem', error.code);
      return sendSignIn(c, { returnPath, isAgain: form?.recent === 'true' }, tokenRefusal(error));
    }
    return c.redirect(returnPath, 303);
  });
