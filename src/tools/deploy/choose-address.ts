import { UserError } from '../user-error.ts';
import { type Configuration, givenDomain } from './configuration.ts';
import type { Found } from './found.ts';
import type { Options } from './options.ts';

/** Where the service is served. */
export interface Address {
  origin: string;
  /** The custom domain; null below workers.dev. */
  domain: string | null;
  /**
   * The name to register for the account under workers.dev; null if nothing is to be registered.
   */
  newSubdomain: string | null;
  /** The value of PUBLIC_URL to deploy; null leaves it as it is deployed. */
  publicUrl: string | null;
}

const WORKERS_DEV = '.workers.dev';

/**
 * Decides on which address the service is served: the domain that is asked for, the one in
 * wrangler.toml, the address that is deployed, or else the one below workers.dev.
 * @throws UserError if the deployed address would change without being asked to, or the account has
 *   no name under workers.dev
 */
export function chooseAddress(
  configuration: Configuration,
  { worker, subdomain }: Pick<Found, 'worker' | 'subdomain'>,
  options: Pick<Options, 'domain' | 'subdomain' | 'changesAddress'>,
): Address {
  const settings = worker?.bindings.filter(({ name }) => name === 'PUBLIC_URL') ?? [];
  const deployed = settings.find(({ type }) => type === 'plain_text')?.text ?? null;
  const isSecret = settings.some(({ type }) => type === 'secret_text');
  const kept = deployed === null ? (worker?.domains[0] ?? null) : hostOf(deployed);
  const domain =
    options.domain ?? givenDomain(configuration) ?? hostOf(configuration.vars?.PUBLIC_URL) ?? kept;
  const needsSubdomain = domain === null && subdomain === null;
  if (needsSubdomain && !options.subdomain)
    throw new UserError(
      'The account has no name under workers.dev yet. Choose one: npm run deploy -- --subdomain acme\n' +
        'Or serve on a domain of the account: npm run deploy -- --domain countersign.example.com',
    );
  const origin = domain
    ? `https://${domain}`
    : `https://${configuration.name}.${subdomain ?? options.subdomain}${WORKERS_DEV}`;
  const isOther = isSecret ? options.domain !== null : deployed !== null && deployed !== origin;
  if (isOther && !options.changesAddress)
    throw new UserError(
      `The service is deployed on ${deployed ?? 'the address in the secret PUBLIC_URL'}. On ${origin} no passkey works any ` +
        'more, and everybody\nhas to be invited again: see the guide configuration, "Change the address". To change it ' +
        'all the same, add --change-address.',
    );
  return {
    origin,
    domain,
    newSubdomain: needsSubdomain ? options.subdomain : null,
    publicUrl: isSecret && !isOther ? null : origin,
  };
}

/** The host of an address on a custom domain; null for another one. */
function hostOf(url: unknown): string | null {
  const host = typeof url === 'string' && URL.parse(url)?.hostname;
  return host && !host.endsWith(WORKERS_DEV) ? host : null;
}
