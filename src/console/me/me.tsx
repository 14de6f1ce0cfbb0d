import { getOwnAccount, type OwnAccount } from '../../accounts/get-own';
import { listPasskeys } from '../../accounts/passkeys/list';
import { listSessions } from '../../accounts/sessions/list';
import { listUserTokens } from '../../accounts/tokens/list';
import { sendPage } from '../frame/page';
import { ROLE_SUMMARIES } from '../members/roles';
import { Facts, Section } from '../parts/blocks';
import { Written } from '../parts/inline';
import type { ConsoleContext } from '../session/access';
import { providerName } from '../sign-in/oidc/button';
import { isFresh } from './fresh-sign-in';
import { Passkeys } from './passkeys';
import { Sessions } from './sessions';
import { Standing, UnknownStanding } from './standing';
import { Tokens } from './tokens';

/** Shows the member who is signed in: who it is, and everything with which the member gets access. */
export async function showMe(c: ConsoleContext): Promise<Response> {
  const { context, session } = c.var.signedIn;
  const { principal } = context;
  if (!principal.scopes.includes('account:read')) {
    const children = <UnknownStanding signedIn={c.var.signedIn} />;
    return sendPage(c, { title: 'My sign-in', isNarrow: true, children });
  }
  const { config } = context;
  const [me, passkeys, sessions, tokens] = await Promise.all([
    getOwnAccount(context),
    listPasskeys(context),
    listSessions(context, { limit: 100 }),
    listUserTokens(context, { limit: 100 }),
  ]);
  const provider = config.oidc?.client && me.member?.sign_in.includes('oidc') ? providerName(config.oidc) : null;
  const children = (
    <>
      {principal.token !== null && (
        <section class="card" aria-label="How I signed in">
          <Standing me={me} signedIn={c.var.signedIn} tokens={tokens.data} />
        </section>
      )}
      <Who me={me} />
      {principal.member && (
        <Passkeys
          passkeys={passkeys.data}
          isPerson={principal.token === null}
          isFresh={isFresh(c.var.signedIn)}
          hasOther={provider !== null}
        />
      )}
      {provider !== null && (
        <Section name="provider" title="Identity provider">
          <p>You can sign in with {provider}.</p>
        </Section>
      )}
      <Sessions sessions={sessions.data} current={session.id} />
      <Tokens tokens={tokens.data} principal={principal} />
    </>
  );
  return sendPage(c, { title: 'My sign-in', isNarrow: true, children });
}

function Who({ me }: { me: OwnAccount }) {
  const { member, scopes } = me;
  if (!member) return null;
  const { id, name, email, role } = member;
  return (
    <section class="card" aria-label="Who I am">
      <Facts
        facts={[
          ['Name', name === null ? 'not given' : <Written text={name} />],
          email !== null && ['E-mail', <Written text={email} />],
          [
            'Role',
            <>
              {role} <small>{ROLE_SUMMARIES[role]}</small>
            </>,
          ],
          ['Account', <Written text={me.name ?? me.email} />],
        ]}
      />
      <p class="actions">
        {scopes.includes('account:write') ? (
          <a href={`/console/members/${id}`}>Change my name</a>
        ) : (
          <span class="soft">An owner or admin can change your name and role.</span>
        )}
        <a href="/console/members#roles">What each role may do</a>
      </p>
    </section>
  );
}
