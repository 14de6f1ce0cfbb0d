import { Hono } from 'hono';
import * as z from 'zod';
import { getOwnAccount } from '../../accounts/get-own';
import { listPasskeys } from '../../accounts/passkeys/list';
import { endSession } from '../../accounts/sessions/end';
import { listSessions } from '../../accounts/sessions/list';
import { createUserToken } from '../../accounts/tokens/create';
import { deleteUserToken } from '../../accounts/tokens/delete';
import { listUserTokens } from '../../accounts/tokens/list';
import { invalidRequest, notFound } from '../../errors';
import type { AppEnv } from '../../http/context';
import { text } from '../../http/fields';
import { body, noQuery } from '../../http/input';
import { fromBase64Url, toBase64Url } from '../../lib/bytes';
import { lazy } from '../../lib/lazy';
import { parseId } from '../../lib/typeid';
import { batchReads } from '../frame/batched-reader';
import { CsrfField, sendPage } from '../frame/page';
import { Time } from '../parts/time';
import { consoleAccess, consoleRoute, requirePerson, requireScope } from '../session/access';
import { clearSessionCookie } from '../session/session';
import { providerName } from '../sign-in/oidc/button';
import { addPasskey, furtherPasskeyOptions, PasskeyCreation, removePasskey } from './passkeys';
import { Standing, UnknownStanding } from './standing';

/** The CSRF token is checked by `consoleAccess`. */
const TokenForm = lazy(() => z.object({ name: text(1, 255) }));

export const meRoutes = new Hono<AppEnv>()
  .get('/console/me', consoleRoute, consoleAccess(null), async (c) => {
    const { signedIn } = c.var;
    const { session } = signedIn;
    const { principal } = signedIn.context;
    if (!principal.scopes.includes('account:read')) {
      return sendPage(c, { title: 'My sign-in', isNarrow: true, children: <UnknownStanding signedIn={signedIn} /> });
    }
    const context = { ...signedIn.context, reader: batchReads(signedIn.context.reader) };
    const [me, { data: own }, { data: sessions }, { data: tokens }] = await Promise.all([
      getOwnAccount(context),
      listPasskeys(context),
      listSessions(context, { limit: 100 }),
      listUserTokens(context, { limit: 100 }),
    ]);
    const isPerson = principal.token === null;
    const mayDelete = isPerson || principal.scopes.includes('account:write');
    const children = (
      <>
        <Standing {...{ me, signedIn, tokens }} />
        {principal.member && (
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
                  {isPerson && (
                    <button type="button" class="quiet" data-remove={`/console/me/passkeys/${id}`}>
                      Remove
                    </button>
                  )}
                </li>
              ))}
            </ul>
            {isPerson && (
              <>
                <label>
                  Name of a further passkey
                  <input name="name" maxlength={100} required />
                </label>
                <button type="button" data-passkey="make" data-action="/console/me/passkeys">
                  Add a passkey
                </button>
                <p class="hint">Passkeys can be changed within 10 minutes of a sign-in.</p>
              </>
            )}
          </section>
        )}
        {context.config.oidc?.client && me.member?.sign_in.includes('oidc') && (
          <section>
            <h2>Identity provider</h2>
            <p>You can sign in with {providerName(context.config.oidc)}.</p>
          </section>
        )}
        <section>
          <h2>User tokens</h2>
          <p>
            {principal.member
              ? 'With a user token a program, or you at a terminal, call the API as you, within your role.'
              : 'With one of these tokens of the account a program calls the API as none of the members.'}
          </p>
          <ul>
            {tokens.map(({ id, name, token_prefix, created_at }) => (
              <li>
                <span>
                  {name ?? 'Without a name'}{' '}
                  <small>
                    {token_prefix}… made <Time at={created_at} />
                  </small>
                </span>
                {mayDelete && (
                  <form method="post" action={`/console/me/tokens/${id}/delete`}>
                    <CsrfField />
                    <button type="submit" class="quiet">
                      Delete
                    </button>
                  </form>
                )}
              </li>
            ))}
          </ul>
          {isPerson && (
            <form method="post" action="/console/me/tokens">
              <CsrfField />
              <label>
                Name of a new user token
                <input name="name" maxlength={255} required />
              </label>
              <button type="submit">Make a user token</button>
            </form>
          )}
        </section>
        <section>
          <h2>Sessions</h2>
          <ul>
            {sessions.map(({ id, token_id, ip_address, user_agent, last_seen_at }) => (
              <li>
                <span>
                  {id === session.id ? 'This session' : user_agent || 'Unknown browser'}{' '}
                  <small>
                    {ip_address} last seen <Time at={last_seen_at} />
                    {token_id !== null && ', by user token'}
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
  .post('/console/me/passkeys/options', consoleRoute, consoleAccess(null), noQuery(), async (c) =>
    c.json(await furtherPasskeyOptions(c.var.signedIn)),
  )
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
    requirePerson(c.var.signedIn);
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
    const { context } = c.var.signedIn;
    if (context.principal.token !== null) requireScope(context.principal, 'account:write');
    const id = parseId('utok', c.req.param('id'));
    if (!id) throw notFound('user token');
    await deleteUserToken(context, { id });
    return c.redirect('/console/me', 303);
  })
  .post('/console/me/sessions/:id/end', consoleRoute, consoleAccess(null), async (c) => {
    const { context } = c.var.signedIn;
    requireScope(context.principal, 'account:read');
    const id = parseId('sess', c.req.param('id'));
    if (!id) throw notFound('session');
    await endSession(context, { id });
    return c.redirect('/console/me', 303);
  })
  .post('/console/sign-out', consoleRoute, consoleAccess(null), async (c) => {
    const { context, session } = c.var.signedIn;
    await endSession(context, { id: session.id });
    clearSessionCookie(c);
    return c.redirect('/console/sign-in', 303);
  });
