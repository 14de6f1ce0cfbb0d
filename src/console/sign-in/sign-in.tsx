import { and, eq, isNull, sql } from 'drizzle-orm';
import { Hono, type Context as HonoContext } from 'hono';
import * as z from 'zod';
import { aliased } from '../../db/columns';
import type { Database } from '../../db/database';
import { accounts, members, movedAccounts, passkeys } from '../../db/schema';
import { listShards, openShard } from '../../db/shards';
import { PROBLEMS, Problem } from '../../errors';
import { makeActivityRecord } from '../../http/activity';
import type { AppEnv, RequestContext } from '../../http/context';
import { body, noQuery, readJsonOrForm, readObject } from '../../http/input';
import { rowMac } from '../../http/row-mac';
import {
  accountColumns,
  activeAccount,
  activeMember,
  failAuthentication,
  memberColumns,
} from '../../identity/credentials';
import { passkeyContent } from '../../identity/passkeys/passkey-mac';
import {
  decodeUserHandle,
  findChallenge,
  requestOptions,
  type UserHandle,
} from '../../identity/passkeys/registration';
import { AuthenticationResponse, verifyAuthentication } from '../../identity/passkeys/webauthn';
import { beginSession, commitSignIn, SignInRefused } from '../../identity/sessions/begin';
import { signInWithToken } from '../../identity/tokens/sign-in';
import { fromBase64Url } from '../../lib/bytes';
import { lazy } from '../../lib/lazy';
import type { Refusal } from '../frame/form';
import { sendPage } from '../frame/page';
import { Form, HiddenFields, TextField } from '../parts/form';
import { readReturnPath } from '../session/return-path';
import { setSessionCookie } from '../session/session';
import { OidcButton } from './oidc/button';

const PURPOSE = 'sign in';

const SignIn = lazy(() =>
  z.strictObject({ response: AuthenticationResponse(), return: z.string().optional() }),
);

/**
 * Signs a member in with a passkey: stores a session and returns the secret of its cookie.
 * @throws Problem `unauthorized` for a response that does not come from a passkey of an active
 *   member, or whose counter went back and may not, or that was sent before; `account_inactive`,
 *   also for a suspended member
 */
export async function signIn(
  c: RequestContext,
  { response }: Pick<z.output<ReturnType<typeof SignIn>>, 'response'>,
): Promise<string> {
  const { config, runtime } = c.var;
  const refuse = () =>
    failAuthentication(c, 'This passkey cannot sign in here. It may belong to a removed member.');
  // The challenge and the user handle are checked without the database, so that made-up responses
  // cost little.
  const challenge = await findChallenge(config, runtime, PURPOSE, response.response.clientDataJSON);
  const handle = decodeUserHandle(fromBase64Url(response.response.userHandle ?? ''));
  const id = fromBase64Url(response.id);
  if (!challenge || !handle || !id) return refuse();
  const found = await findPasskey(c, handle, id);
  if (!found) return refuse();
  const { database, shard, row } = found;
  const passkey = { ...row, member: handle.member };
  const use = await verifyAuthentication(config, challenge.bytes, response, passkey);
  if (!use) return refuse();
  const account = activeAccount(row);
  const member = activeMember(row);
  if (!member) return refuse();
  const isPasskey = and(eq(passkeys.account, account.number), eq(passkeys.id, id));
  const isAllowed = sql`exists (
    select 1 from ${members} join ${passkeys} on ${isPasskey}
    where ${members.account} = ${account.number} and ${eq(members.id, member.id)} and ${eq(members.status, 'active')}
      and ${isNull(passkeys.removedAt)}
  )`;
  const refuseSignIn = (error: unknown) => {
    if (error instanceof SignInRefused) return refuse();
    throw error;
  };
  const actions = use.wentBack ? (['passkey.counter_went_back'] as const) : [];
  if (use.isRefused) {
    const record = { account: account.number, actor: member.id, target: member.id, changes: [] };
    await commitSignIn(c, { database, shard }, challenge, {
      record: makeActivityRecord(c.var, { ...record, action: 'passkey.counter_went_back' }),
      isAllowed,
      changes: () => [],
    }).catch(refuseSignIn);
    return failAuthentication(c, COPIED_PASSKEY);
  }
  // Renews the MAC, so that a passkey in use outlives the root secret with which it was stored.
  const mac = await rowMac(config.keyring, passkeyContent(passkey));
  return beginSession(c, {
    ...{ database, shard, account: account.number, member: member.id, isAllowed },
    proof: { challenge, authenticatedAt: null },
    actions,
    changes: (write) => [
      write.update(passkeys).set({ counter: use.counter, mac }).where(isPasskey),
    ],
  }).catch(refuseSignIn);
}

const COPIED_PASSKEY =
  'The signature counter of this passkey went back, as it does after a passkey was copied, so it cannot sign in. Use ' +
  'another passkey, or ask an owner or admin to remove you and to invite you again.';

/**
 * Finds a passkey of a member on the shard that its user handle names, or on the shard to which the
 * account was moved; null if there is none, or it was removed.
 */
async function findPasskey(
  c: RequestContext,
  { shard: home, account, member }: UserHandle,
  id: Uint8Array,
) {
  let shard = home;
  for (const _ of listShards(c.env)) {
    const database = openShard(c.env, shard, c.var.cost);
    if (!database) return null;
    const [[row], [moved]] = await database.load([
      selectPasskey(database, { account, member, id }),
      database
        .select({ shard: movedAccounts.shard })
        .from(movedAccounts)
        .where(eq(movedAccounts.id, account)),
    ]);
    if (row) return { database, shard, row };
    if (!moved) return null;
    shard = moved.shard;
  }
  return null;
}

function selectPasskey(
  database: Database,
  { account, member, id }: Pick<UserHandle, 'account' | 'member'> & { id: Uint8Array },
) {
  return database
    .select({
      ...accountColumns,
      ...memberColumns,
      id: aliased(passkeys.id, 'passkey_id'),
      publicKey: passkeys.publicKey,
      counter: passkeys.counter,
      firstCounter: passkeys.firstCounter,
      addedAt: passkeys.addedAt,
      mac: passkeys.mac,
    })
    .from(accounts)
    .innerJoin(members, and(eq(members.account, accounts.number), eq(members.id, member)))
    .innerJoin(
      passkeys,
      and(
        eq(passkeys.account, accounts.number),
        eq(passkeys.id, id),
        eq(passkeys.member, member),
        isNull(passkeys.removedAt),
      ),
    )
    .where(eq(accounts.id, account));
}

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
      <OidcButton
        oidc={c.var.config.oidc}
        action="/console/oidc/sign-in"
        verb="Sign in"
        fields={{ return: returnPath, recent: isAgain ? 'true' : null }}
      />
      <details open={refusal !== undefined}>
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
    c.json(await requestOptions(c.var, PURPOSE)),
  )
  .post('/console/sign-in', noQuery(), body(SignIn), async (c) => {
    const input = c.req.valid('json');
    setSessionCookie(c, await signIn(c, input));
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
