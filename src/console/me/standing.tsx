import type { OwnAccount } from '../../accounts/get-own';
import type { UserToken } from '../../accounts/tokens/user-token';
import { Code, Time, Written } from '../parts/inline';
import type { SignedIn } from '../session/access';

interface StandingProps {
  me: OwnAccount;
  signedIn: SignedIn;
  /** The caller's own tokens, among them the one with which they may have signed in. */
  tokens: UserToken[];
}

/** What somebody may do who signed in with a user token. */
export function Standing({ me, signedIn, tokens }: StandingProps) {
  const { member, token, scopes } = signedIn.context.principal;
  const used = tokens.find(({ id }) => id === token);
  return (
    <>
      {!member && (
        <p>
          You are signed in for the account{' '}
          <strong>
            <Written text={me.name ?? me.email} />
          </strong>
          , as none of its members.
        </p>
      )}
      <p>
        You signed in with the user token{' '}
        <strong>
          <Written text={used?.name ?? `${used?.token_prefix ?? token}…`} />
        </strong>
        {used?.expires_at && [', which expires on ', <Time at={used.expires_at} />]}. This session ends with the token.
      </p>
      <AllowedScopes scopes={scopes} />
      <p class="hint">
        {member
          ? 'To change your passkeys or make user tokens, sign in with a passkey or at your identity provider.'
          : 'Passkeys belong to members: to have one, and tokens of your own, ask an owner or admin for an invitation.'}
      </p>
    </>
  );
}

/** What somebody sees whose user token may not read the account. */
export function UnknownStanding({ signedIn: { context } }: { signedIn: SignedIn }) {
  return (
    <>
      <p>
        You signed in with a user token that may not read the account, so this page cannot show your passkeys, tokens
        and sessions.
      </p>
      <AllowedScopes scopes={context.principal.scopes} />
    </>
  );
}

function AllowedScopes({ scopes }: { scopes: readonly string[] }) {
  return (
    <details>
      <summary>What it allows</summary>
      <ul>
        {scopes.map((scope) => (
          <li>
            <Code text={scope} />
          </li>
        ))}
      </ul>
    </details>
  );
}
