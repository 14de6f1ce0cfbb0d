import type { OidcConfig } from '../../../env';
import { providerName } from '../../../identity/oidc/provider';
import { HiddenFields } from '../../parts/fields';

interface OidcButtonProps {
  oidc: OidcConfig | null;
  /** The path that starts the sign-in with the identity provider. */
  action: string;
  /** The purpose, such as `Join`. */
  verb: string;
  /** The id of the form, for fields outside of it. */
  id?: string;
  /** Hidden fields. */
  fields?: Record<string, string | null>;
}

/** A button that opens the identity provider; nothing if the deployment has none. */
export function OidcButton({ oidc, action, verb, id, fields = {} }: OidcButtonProps) {
  if (!oidc?.client) return null;
  return (
    <form method="post" action={action} id={id}>
      <HiddenFields fields={fields} />
      <button type="submit" class="quiet">
        {verb} with {providerName(oidc)}
      </button>
    </form>
  );
}
