import { Hono } from 'hono';
import { invalidRequest } from '../../errors';
import type { AppEnv } from '../../http/context';
import { query } from '../../http/input';
import { PAIRED_TOKEN_LIFETIME, pairedScopes } from '../../identity/pairing/paired-token';
import { makePairingCode } from '../../identity/pairing/pairing-code';
import { isRecentSignIn } from '../../identity/sessions/recent-sign-in';
import { requirePerson } from '../../identity/sessions/require-person';
import { formatTime } from '../../lib/time';
import { readForm } from '../frame/form';
import { sendPage } from '../frame/page';
import { usePage } from '../frame/page-context';
import { SCOPE_WORDS } from '../me/tokens';
import { Facts } from '../parts/blocks';
import { Form } from '../parts/form';
import { Code, Time, Written } from '../parts/inline';
import { SignInAgain } from '../parts/sign-in-again';
import { type ConsoleContext, consoleAccess, type SignedIn } from '../session/access';
import { formTarget, PairingRequest } from './request';

const PATH = '/console/pair';

/**
 * The page that confirms a pairing. Invalid query parameters are refused before anybody has to sign
 * in.
 */
export const pairRoutes = new Hono<AppEnv>()
  .get(PATH, query(PairingRequest), consoleAccess(null), (c) =>
    showPairing(c, c.req.valid('query')),
  )
  .post(PATH, query(PairingRequest), consoleAccess(null), (c) =>
    decidePairing(c, c.req.valid('query')),
  );

/**
 * Asks the member who is signed in whether a program on the same computer may have a user token.
 * @throws Problem `person_required` for a session of a user token: it would give the program more
 *   than it has itself
 */
export function showPairing(c: ConsoleContext, request: PairingRequest): Response {
  requirePerson(c.var.signedIn.context.principal);
  return sendPairing(c, request);
}

/**
 * Sends the browser back to the program: with a code if the member confirms, or with the error of
 * RFC 6749 section 4.1.2.1. A member who confirms, but signed in too long ago, gets the page again.
 * @throws Problem `person_required`; `invalid_request` for another decision
 */
export async function decidePairing(c: ConsoleContext, request: PairingRequest): Promise<Response> {
  const { signedIn, config, runtime } = c.var;
  const { id: member } = requirePerson(signedIn.context.principal);
  const decision = (await readForm(c)).text('decision');
  if (decision === 'deny') return sendBack(c, request, { error: 'access_denied' });
  if (decision !== 'confirm')
    throw invalidRequest([{ path: 'body.decision', message: 'must be confirm or deny' }]);
  if (!isRecentSignIn(signedIn)) return sendPairing(c, request, 403);
  const { shard, account } = signedIn.context.principal;
  const code = await makePairingCode(config.keyring, runtime, {
    shard,
    account: account.number,
    member,
    session: signedIn.session.id,
    name: request.name ?? null,
    redirectUri: request.redirect_uri,
    challenge: request.code_challenge,
  });
  return sendBack(c, request, { code });
}

function sendBack(
  c: ConsoleContext,
  { redirect_uri, state }: PairingRequest,
  answer: Record<string, string>,
): Response {
  return c.redirect(`${redirect_uri}?${new URLSearchParams({ ...answer, state })}`, 303);
}

function sendPairing(c: ConsoleContext, request: PairingRequest, status = 200): Response {
  const { signedIn } = c.var;
  const { pathname, search } = new URL(c.req.url);
  const page = pathname + search;
  const canConfirm = isRecentSignIn(signedIn);
  const children = (
    <>
      <p class="notice waiting">
        Confirm only if you yourself just ran <code>countersign login</code> on this computer. If a
        website or another person led you here, deny.
      </p>
      <section class="card" aria-label="What you confirm">
        <Terms request={request} signedIn={signedIn} />
      </section>
      <SignInAgain page={page} purpose="To confirm" />
      <Form action={page}>
        <div class="actions">
          {canConfirm && (
            <button type="submit" name="decision" value="confirm">
              Confirm
            </button>
          )}
          <button type="submit" name="decision" value="deny" class="quiet">
            Deny
          </button>
        </div>
      </Form>
    </>
  );
  const title = 'Let a program act as you?';
  return sendPage(c, { title, isNarrow: true, status, children, formTarget: formTarget(request) });
}

/** The rights that the program gets. */
function Terms({
  request: { name, redirect_uri },
  signedIn,
}: {
  request: PairingRequest;
  signedIn: SignedIn;
}) {
  const { member } = signedIn.context.principal;
  return (
    <>
      <p>
        A program on this computer asks for a user token of yours. Whatever it does with the token
        is recorded as done by you.
      </p>
      <Facts
        facts={[
          [
            'Program',
            <>
              {name === undefined ? 'without a name' : <Written text={name} />}
              {name !== undefined && <small>The program chose this name itself.</small>}
            </>,
          ],
          ['Waits at', <Code text={new URL(redirect_uri).origin} />],
          [
            'Acts as',
            [
              <bdi>{signedIn.names.caller}</bdi>,
              ', ',
              member?.role,
              ' of ',
              <bdi>{signedIn.names.account}</bdi>,
            ],
          ],
          [
            'Until',
            <>
              <Time at={formatTime(usePage().now + PAIRED_TOKEN_LIFETIME)} />
              <small>
                That is in 30 days. You can delete the token earlier, in{' '}
                <a href="/console/me">My sign-in</a>.
              </small>
            </>,
          ],
        ]}
      />
      <h2>What it may do</h2>
      <ul class="scope-choices">
        {member && pairedScopes(member.role).map((scope) => <li>{SCOPE_WORDS[scope]}</li>)}
      </ul>
      <p class="hint">
        It can neither change members nor make user tokens. It still needs your passkey for
        decisions that must be signed.
      </p>
    </>
  );
}
