import type { OidcConfig } from '../../../env';

/** The name of the identity provider for people: its host. */
export function providerName({ issuer }: Pick<OidcConfig, 'issuer'>): string {
  return new URL(issuer).host;
}

interface OidcButtonProps {
  oidc: OidcConfig | null;
  /** The path that starts the sign-in with the identity provider. */
  action: string;
  /** What it is for, such as `Join`. */
  verb: string;
  /** The page to show after the sign-in; by default the inbox. */
  returnPath?: string;
}

/** A button that opens the identity provider; nothing if the deployment has none. */
export function OidcButton({ oidc, action, verb, returnPath }: OidcButtonProps) {
  if (!oidc?.client) return null;
  return (
    <form method="post" action={action}>
      {returnPath !== undefined && <input type="hidden" name="return" value={returnPath} />}
      <button type="submit" class="quiet">
        {verb} with {providerName(oidc)}
      </button>
    </form>
  );
}
