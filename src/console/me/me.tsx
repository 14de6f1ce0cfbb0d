import { getOwnAccount, type OwnAccount } from '../../accounts/me/get';
import { listPasskeys } from '../../accounts/me/list-passkeys';
import { listSessions } from '../../accounts/me/list-sessions';
import { listUserTokens } from '../../accounts/me/list-tokens';
import { providerName } from '../../identity/oidc/provider';
import { MAX_PASSKEYS } from '../../identity/passkeys/passkey';
import { isRecentSignIn } from '../../identity/sessions/recent-sign-in';
import type { UserToken } from '../../identity/tokens/user-token';
import { listSlackLinks } from '../../receivers/channels/slack/links';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { ROLE_SUMMARIES } from '../members/roles';
import { Facts, PlainList, Section } from '../parts/blocks';
import { Code, Time, Written } from '../parts/inline';
import type { PreloadedContext, SignedIn, SignedInRequest } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { mayLinkSlackUser, SlackUsers } from '../slack/links';
import { Devices } from './devices';
import { UnprovenEmail } from './email';
import type { RefusedNotifications } from './notification-fields';
import {
  changeNotifications,
  loadNotifications,
  Notifications,
  type preloadFormNotifications,
} from './notifications';
import { Passkeys } from './passkeys';
import { Sessions } from './sessions';
import { Tokens } from './tokens';

/**
 * Shows who is signed in, with all ways of the caller to get access, and what reaches them.
 * @param refused why the change in this request was refused
 */
export async function showMe(
  c: SignedInRequest,
  refused?: RefusedNotifications,
): Promise<Response> {
  const { context, session } = c.var.signedIn;
  const { principal } = context;
  if (!principal.scopes.includes('account:read')) {
    const children = <UnknownTokenSignIn signedIn={c.var.signedIn} />;
    return sendPage(c, { title: 'My sign-in', isNarrow: true, children });
  }
  const { config } = context;
  const { member } = principal;
  const [me, passkeys, sessions, tokens, notifications, links, mayLink, names] = await Promise.all([
    getOwnAccount(context),
    listPasskeys(context, { limit: MAX_PASSKEYS }),
    listSessions(context, { limit: 100 }),
    listUserTokens(context, { limit: 100 }),
    loadNotifications(context),
    member ? listSlackLinks(context, { member }) : [],
    member !== null && mayLinkSlackUser(context),
    loadNames(context, []),
  ]);
  const provider =
    config.oidc?.client && me.member?.sign_in.includes('oidc') ? providerName(config.oidc) : null;
  const children = (
    <>
      {principal.token !== null && (
        <section class="card" aria-label="How I signed in">
          <TokenSignIn me={me} signedIn={c.var.signedIn} tokens={tokens.data} />
        </section>
      )}
      <UnprovenEmail
        me={me}
        isPerson={principal.token === null}
        canSendMail={config.mail !== null}
      />
      <Who me={me} />
      {principal.member && (
        <Passkeys
          passkeys={passkeys.data}
          isPerson={principal.token === null}
          isRecent={principal.token === null && isRecentSignIn(c.var.signedIn)}
          hasOtherSignIn={provider !== null}
        />
      )}
      {provider !== null && (
        <Section name="provider" title="Identity provider">
          <p>You can sign in with {provider}.</p>
        </Section>
      )}
      {notifications && <Notifications {...notifications} refused={refused} />}
      {notifications && (
        <Devices
          devices={notifications.devices}
          isPerson={principal.token === null}
          userAgent={c.req.header('User-Agent') ?? ''}
        />
      )}
      <SlackUsers links={links} mayLink={mayLink} />
      <Sessions sessions={sessions.data} currentId={session.id} />
      <Tokens tokens={tokens.data} principal={principal} />
    </>
  );
  return sendPage(c, {
    title: 'My sign-in',
    isNarrow: true,
    registersWorker: true,
    names,
    status: refused?.refusal.status,
    children,
  });
}

/** Changes what reaches the member. If that is refused, shows the page again and why. */
export async function saveNotifications(
  c: PreloadedContext<typeof preloadFormNotifications>,
): Promise<Response> {
  const refused = await changeNotifications(c);
  if (refused) return showMe(c, refused);
  return redirectWithFlash(c, '/console/me', 'saved');
}

function Who({ me }: { me: OwnAccount }) {
  const { member, scopes } = me;
  if (!member) return null;
  const { id, name, email, email_proven, role } = member;
  return (
    <section class="card" aria-label="Who I am">
      <Facts
        facts={[
          ['Name', name === null ? 'not given' : <Written text={name} />],
          email !== null && [
            'E-mail',
            [<Written text={email} />, !email_proven && <small> not confirmed</small>],
          ],
          ['Role', [role, ' ', <small>{ROLE_SUMMARIES[role]}</small>]],
          ['Account', <Written text={me.name ?? me.email} />],
        ]}
      />
      <p class="actions">
        {scopes.includes('account:write') && <a href={`/console/members/${id}`}>Change my name</a>}
        {!scopes.includes('account:write') && (
          <span class="soft">An owner or admin can change your name and role.</span>
        )}
        <a href="/console/members#roles">What each role may do</a>
      </p>
    </section>
  );
}

interface TokenSignInProps {
  me: OwnAccount;
  signedIn: SignedIn;
  /**
   * The caller's own tokens. One of them is the token of the sign-in, unless it is beyond the first
   * 100.
   */
  tokens: UserToken[];
}

/** Tells a caller who signed in with a user token what they may do. */
function TokenSignIn({ me, signedIn, tokens }: TokenSignInProps) {
  const { member, token, scopes } = signedIn.context.principal;
  const used = tokens.find(({ id }) => id === token);
  return (
    <>
      {!member && (
        <p>
          You are signed in with a token of the account{' '}
          <strong>
            <Written text={me.name ?? me.email} />
          </strong>
          , not as one of its members.
        </p>
      )}
      <p>
        You signed in with the user token{' '}
        <strong>
          <Written text={used?.name ?? `${used?.token_prefix ?? token}…`} />
        </strong>
        {used?.expires_at && [', which expires on ', <Time at={used.expires_at} />]}. This session
        ends with the token.
      </p>
      <AllowedScopes scopes={scopes} />
      <p class="hint">
        {member &&
          'To change your passkeys or make user tokens, sign in with a passkey or at your identity provider.'}
        {!member &&
          'Passkeys belong to members: to have one, and tokens of your own, ask an owner or admin for an invitation.'}
      </p>
    </>
  );
}

/** The page for a user token without the scope `account:read`. */
function UnknownTokenSignIn({ signedIn: { context } }: { signedIn: SignedIn }) {
  return (
    <>
      <p>
        You signed in with a user token that may not read the account, so this page cannot show your
        passkeys, tokens and sessions.
      </p>
      <AllowedScopes scopes={context.principal.scopes} />
    </>
  );
}

function AllowedScopes({ scopes }: { scopes: readonly string[] }) {
  return (
    <details>
      <summary>What it allows</summary>
      <PlainList items={scopes.map((scope) => <Code text={scope} />)} />
    </details>
  );
}
