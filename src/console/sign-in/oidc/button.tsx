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
}

/** A button that leads to the identity provider; nothing where people cannot sign in with one. */
export function OidcButton({ oidc, action, verb }: OidcButtonProps) {
  if (!oidc?.client) return null;
  return (
    <form method="post" action={action}>
      <button type="submit" class="quiet">
        {verb} with {providerName(oidc)}
      </button>
    </form>
  );
}
