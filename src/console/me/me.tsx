import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { getOwnAccount } from '../../accounts/get-own';
import { MAX_PASSKEYS, type Passkey, presentPasskey, selectPasskeys } from '../../accounts/passkeys/passkey';
import { endSession } from '../../accounts/sessions/end';
import { listSessions } from '../../accounts/sessions/list';
import { createUserToken } from '../../accounts/tokens/create';
import { deleteUserToken } from '../../accounts/tokens/delete';
import { listUserTokens } from '../../accounts/tokens/list';
import { ConstraintError } from '../../db/database';
import { members, passkeys } from '../../db/schema';
import { invalidRequest, notFound, Problem } from '../../errors';
import { userActivity } from '../../http/activity';
import type { AppEnv } from '../../http/context';
import { text } from '../../http/fields';
import { body, noQuery } from '../../http/input';
import { fromBase64Url, toBase64Url } from '../../lib/bytes';
import { lazy } from '../../lib/lazy';
import { MINUTE } from '../../lib/time';
import { parseId } from '../../lib/typeid';
import { batchReads } from '../frame/batched-reader';
import { CsrfField, sendPage } from '../frame/page';
import { Time } from '../parts/time';
import { consoleAccess, consoleRoute, type SignedIn } from '../session/access';
import { useChallenge } from '../session/challenge';
import { clearSessionCookie } from '../session/session';
import { providerName } from '../sign-in/oidc/button';
import { creationOptions, passkeyName, RegistrationResponse, verifyRegistration } from '../sign-in/passkey';

/** For how many milliseconds after the sign-in a member may change the own passkeys. */
const FRESH = 10 * MINUTE;

/** The CSRF token is checked by `consoleAccess`. */
const TokenForm = lazy(() => z.object({ name: text(1, 255) }));

const PasskeyCreation = lazy(() => z.strictObject({ name: passkeyName(), response: RegistrationResponse() }));

/** @throws Problem `unauthorized` if the member signed in too long ago to change passkeys */
function requireFresh({ session, context }: SignedIn): void {
  if (session.createdAt + FRESH > context.runtime.now()) return;
  throw new Problem('unauthorized', 'Sign in again: passkeys can be changed within 10 minutes of a sign-in.', {
    headers: { 'WWW-Authenticate': 'Cookie' },
  });
}

/** What a challenge for a further passkey is for: it answers no other member. */
function purposeOf({ context }: SignedIn): string {
  return `add ${context.principal.member.id}`;
}

/**
 * Adds a passkey to the member who is signed in.
 * @throws Problem `unauthorized` more than 10 minutes after the sign-in; `invalid_request` for a passkey that is not
 *   accepted; `conflict` if the member has the passkey already, or the maximum number of them
 */
export async function addPasskey(
  signedIn: SignedIn,
  { name, response }: z.output<ReturnType<typeof PasskeyCreation>>,
): Promise<Passkey> {
  requireFresh(signedIn);
  const { context } = signedIn;
  const { principal, runtime, ledger } = context;
  const account = principal.account.number;
  const member = principal.member.id;
  const { challenge, passkey } = await verifyRegistration(context, purposeOf(signedIn), response);
  const row = { account, member, name, ...passkey, addedAt: runtime.now(), removedAt: null };
  const room = sql<number>`(
    select ${account} where (
      select count(*) from ${passkeys}
      where ${passkeys.account} = ${account} and ${eq(passkeys.member, member)} and ${isNull(passkeys.removedAt)}
    ) < ${MAX_PASSKEYS}
  )`;
  await ledger
    .change({
      record: userActivity(context, 'passkey.added', member, { account: room }),
      changes: (write) => [useChallenge(write, account, challenge), write.insert(passkeys).values(row)],
      answer: null,
    })
    .catch((error: unknown) => {
      if (!(error instanceof ConstraintError)) throw error;
      throw new Problem('conflict', `You have this passkey already, or ${MAX_PASSKEYS} of them, the maximum.`);
    });
  return presentPasskey(row);
}

/**
 * Removes a passkey of the member who is signed in.
 * @throws Problem `unauthorized` more than 10 minutes after the sign-in; `not_found`; `conflict` for the last way to sign
 *   in
 */
export async function removePasskey(signedIn: SignedIn, id: Uint8Array): Promise<void> {
  requireFresh(signedIn);
  const { context } = signedIn;
  const { principal, runtime, ledger, reader } = context;
  const account = principal.account.number;
  const member = principal.member.id;
  const found = and(
    eq(passkeys.account, account),
    eq(passkeys.id, id),
    eq(passkeys.member, member),
    isNull(passkeys.removedAt),
  );
  const hasOther = sql`exists (
    select 1 from ${passkeys} as other
    where other.account = ${account} and other.member = ${sql.param(member, passkeys.member)} and other.removed_at is null
      and other.id <> ${id}
  )`;
  const hasIdentity = sql`exists (
    select 1 from ${members} where ${eq(members.account, account)} and ${eq(members.id, member)} and ${isNotNull(members.identity)}
  )`;
  const canSignInOtherwise = context.config.oidc?.client ? or(hasOther, hasIdentity) : hasOther;
  const number = sql<number>`(
    select ${passkeys.account} from ${passkeys} where ${and(found, canSignInOtherwise)}
  )`;
  await ledger
    .change({
      record: userActivity(context, 'passkey.removed', member, { account: number }),
      changes: (write) => [write.update(passkeys).set({ removedAt: runtime.now() }).where(found)],
      answer: null,
    })
    .catch(async (error: unknown) => {
      if (!(error instanceof ConstraintError)) throw error;
      const [rows] = await reader.load([reader.select({ id: passkeys.id }).from(passkeys).where(found)]);
      if (rows.length === 0) throw notFound('passkey');
      throw new Problem('conflict', 'This is your last way to sign in. Add another passkey first.');
    });
}

export const meRoutes = new Hono<AppEnv>()
  .get('/console/me', consoleRoute, consoleAccess(null), async (c) => {
    const { session, ...signedIn } = c.var.signedIn;
    const reader = batchReads(signedIn.context.reader);
    const context = { ...signedIn.context, reader };
    const { principal } = context;
    const [me, [rows], { data: sessions }, { data: tokens }] = await Promise.all([
      getOwnAccount(context),
      reader.load([selectPasskeys(reader, principal.account.number, principal.member.id)]),
      listSessions(context, { limit: 100 }),
      listUserTokens(context, { limit: 100 }),
    ]);
    const own = rows.filter(({ removedAt }) => removedAt === null).map(presentPasskey);
    const children = (
      <>
        <p>
          You are <strong>{me.member?.name ?? me.member?.email ?? principal.member.id}</strong>, {principal.member.role}{' '}
          of <strong>{me.name ?? me.email}</strong>.
        </p>
        <section>
          <h2>Passkeys</h2>
          <ul>
            {own.map(({ id, name, added_at }) => (
              <li>
                <span>
                  {name}{' '}
                  <small>
                    added <Time at={added_at} />
                  </small>
                </span>
                <button type="button" class="quiet" data-remove={`/console/me/passkeys/${id}`}>
                  Remove
                </button>
              </li>
            ))}
          </ul>
          <label>
            Name of a further passkey
            <input name="name" maxlength={100} required />
          </label>
          <button type="button" data-passkey="make" data-action="/console/me/passkeys">
            Add a passkey
          </button>
          <p class="hint">Passkeys can be changed within 10 minutes of a sign-in.</p>
        </section>
        {context.config.oidc?.client && me.member?.sign_in.includes('oidc') && (
          <section>
            <h2>Identity provider</h2>
            <p>You can sign in with {providerName(context.config.oidc)}.</p>
          </section>
        )}
        <section>
          <h2>User tokens</h2>
          <p>With a user token a program, or you at a terminal, call the API as you, within your role.</p>
          <ul>
            {tokens.map(({ id, name, token_prefix, created_at }) => (
              <li>
                <span>
                  {name ?? 'Without a name'}{' '}
                  <small>
                    {token_prefix}… made <Time at={created_at} />
                  </small>
                </span>
                <form method="post" action={`/console/me/tokens/${id}/delete`}>
                  <CsrfField />
                  <button type="submit" class="quiet">
                    Delete
                  </button>
                </form>
              </li>
            ))}
          </ul>
          <form method="post" action="/console/me/tokens">
            <CsrfField />
            <label>
              Name of a new user token
              <input name="name" maxlength={255} required />
            </label>
            <button type="submit">Make a user token</button>
          </form>
        </section>
        <section>
          <h2>Sessions</h2>
          <ul>
            {sessions.map(({ id, ip_address, user_agent, last_seen_at }) => (
              <li>
                <span>
                  {id === session.id ? 'This session' : user_agent || 'Unknown browser'}{' '}
                  <small>
                    {ip_address} last seen <Time at={last_seen_at} />
                  </small>
                </span>
                <form method="post" action={`/console/me/sessions/${id}/end`}>
                  <CsrfField />
                  <button type="submit" class="quiet">
                    End
                  </button>
                </form>
              </li>
            ))}
          </ul>
        </section>
      </>
    );
    return sendPage(c, { title: 'My sign-in', isNarrow: true, children });
  })
  .post('/console/me/passkeys/options', consoleRoute, consoleAccess(null), noQuery(), async (c) => {
    const { signedIn } = c.var;
    requireFresh(signedIn);
    const { context } = signedIn;
    const { principal } = context;
    const reader = batchReads(context.reader);
    const [me, [rows]] = await Promise.all([
      getOwnAccount({ ...context, reader }),
      reader.load([selectPasskeys(reader, principal.account.number, principal.member.id)]),
    ]);
    const name = me.member?.email ?? principal.member.id;
    const user = {
      ...{ shard: principal.shard, account: principal.account.id, member: principal.member.id },
      ...{ name, displayName: me.member?.name ?? name, existing: rows.map(({ id }) => id) },
    };
    return c.json(await creationOptions(context, purposeOf(signedIn), user));
  })
  .post('/console/me/passkeys', consoleRoute, consoleAccess(null), noQuery(), body(PasskeyCreation), async (c) =>
    c.json(await addPasskey(c.var.signedIn, c.req.valid('json')), 201),
  )
  .delete('/console/me/passkeys/:id', consoleRoute, consoleAccess(null), noQuery(), async (c) => {
    const id = fromBase64Url(c.req.param('id'));
    if (!id || toBase64Url(id) !== c.req.param('id')) throw notFound('passkey');
    await removePasskey(c.var.signedIn, id);
    return c.body(null, 204);
  })
  .post('/console/me/tokens', consoleRoute, consoleAccess(null), async (c) => {
    const { context } = c.var.signedIn;
    const input = TokenForm().safeParse(await c.req.parseBody());
    if (!input.success) throw invalidRequest([{ path: 'body.name', message: 'must be 1 to 255 characters long' }]);
    const { token } = await createUserToken(context, { name: input.data.name });
    const children = (
      <>
        <p>Copy it now: it is shown only this once.</p>
        <p>
          <code>{token}</code>
        </p>
        <p>
          <a href="/console/me">Back</a>
        </p>
      </>
    );
    return sendPage(c, { title: 'Your new user token', isNarrow: true, children });
  })
  .post('/console/me/tokens/:id/delete', consoleRoute, consoleAccess(null), async (c) => {
    const id = parseId('utok', c.req.param('id'));
    if (!id) throw notFound('user token');
    await deleteUserToken(c.var.signedIn.context, { id });
    return c.redirect('/console/me', 303);
  })
  .post('/console/me/sessions/:id/end', consoleRoute, consoleAccess(null), async (c) => {
    const id = parseId('sess', c.req.param('id'));
    if (!id) throw notFound('session');
    await endSession(c.var.signedIn.context, { id });
    return c.redirect('/console/me', 303);
  })
  .post('/console/sign-out', consoleRoute, consoleAccess(null), async (c) => {
    const { context, session } = c.var.signedIn;
    await endSession(context, { id: session.id });
    clearSessionCookie(c);
    return c.redirect('/console/sign-in', 303);
  });
