import type { AuthorizationServer, TokenEndpointResponse } from 'oauth4webapi';
import { openShard } from '../../db/shards';
import type { OidcClient, OidcConfig } from '../../env';
import { notFound, Problem } from '../../errors';
import type { RequestContext } from '../../http/context';
import { sha256, toBase64Url } from '../../lib/bytes';
import { logFailure } from '../../lib/log';
import { SECOND } from '../../lib/time';
import { failAuthentication } from '../credentials';
import { isRecent } from '../sessions/recent-sign-in';
import { DIRECTORY } from './directory';
import type { Claims } from './jwt';
import { findProviderKeys, verifyIdentityToken } from './keys';
import { fetchConfiguration, fetchFromProvider, providerName, readEndpoint } from './provider';

/** Time limit for all requests to the provider together, in milliseconds. */
const TIMEOUT = 10 * SECOND;

export const CALLBACK_PATH = '/console/oidc/callback';

/**
 * Claims about a person that a provider may leave out of the ID token (OpenID Connect Core 1.0
 * section 5.4).
 */
const PROFILE_CLAIMS = ['email', 'email_verified', 'name'];

/** The parameter `claims` of an authorization request (OpenID Connect Core 1.0 section 5.5). */
const ASK_FOR_AUTH_TIME = JSON.stringify({ id_token: { auth_time: { essential: true } } });

/** The errors of RFC 6749 sections 4.1.2.1 and 5.2. Other texts of the provider are not logged. */
const OAUTH_ERRORS = [
  ...[
    'access_denied',
    'invalid_client',
    'invalid_grant',
    'invalid_request',
    'invalid_scope',
    'server_error',
  ],
  ...[
    'temporarily_unavailable',
    'unauthorized_client',
    'unsupported_grant_type',
    'unsupported_response_type',
  ],
];

/** A sign-in with the identity provider that has begun (OpenID Connect Core 1.0 section 3.1). */
export interface Flow {
  state: string;
  nonce: string;
  /** The PKCE code verifier (RFC 7636). */
  verifier: string;
  /** The secret of the invitation that the person accepts; null for a sign-in. */
  invitation: string | null;
  /** How the person who joins wants to be called; null for as the invitation says. */
  memberName: string | null;
  /** The page to which the person comes after a sign-in. */
  returnPath: string;
  /**
   * Whether the provider has to authenticate the person now, although they may be signed in there.
   */
  needsRecent: boolean;
  /** In milliseconds since the epoch. */
  expiresAt: number;
}

type OidcSettings = OidcConfig & { client: OidcClient };

/**
 * The identity provider with which people sign in to the console.
 * @throws Problem `not_found` if none is configured
 */
export function requireProvider({ var: { config } }: RequestContext): OidcSettings {
  const { oidc } = config;
  if (!oidc?.client) throw notFound('identity provider');
  return { ...oidc, client: oidc.client };
}

/**
 * The address at the identity provider where a person signs in (OpenID Connect Core 1.0 section
 * 3.1.2.1).
 * @throws Problem `unavailable` if the provider does not answer
 */
export async function makeAuthorizationUrl(
  c: RequestContext,
  { state, nonce, verifier, needsRecent }: Flow,
): Promise<string> {
  const { config, runtime } = c.var;
  const { issuer, client } = requireProvider(c);
  const signal = runtime.timeout(TIMEOUT);
  const configuration = await fetchConfiguration(runtime, signal, issuer).catch((error) =>
    failProvider(c, error),
  );
  const url = new URL(requireEndpoint(c, configuration, 'authorization_endpoint'));
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: config.publicUrl + CALLBACK_PATH,
    scope: 'openid email profile',
    state,
    nonce,
    code_challenge: toBase64Url(await sha256(verifier)),
    code_challenge_method: 'S256',
    ...(needsRecent && { max_age: '0' }),
    // Without max_age, providers tell when the person signed in there only if they are asked.
    ...(!needsRecent &&
      configuration.claims_parameter_supported === true && { claims: ASK_FOR_AUTH_TIME }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/**
 * Exchanges the code that the provider sent with the person for an ID token, and verifies both
 * (OpenID Connect Core 1.0 sections 3.1.2.5 to 3.1.3.7).
 * @param parameters the query with which the person came back
 * @returns the claims about the person
 * @throws Problem `unauthorized` for an answer that is not the one to this flow, or an ID token
 *   that is not valid; `unavailable` if the provider does not answer as it should
 */
export async function exchangeCode(
  c: RequestContext,
  flow: Flow,
  parameters: URLSearchParams,
): Promise<Claims> {
  const { config, runtime } = c.var;
  const { issuer, client } = requireProvider(c);
  const oauth = await import('./oauth4webapi');
  const signal = runtime.timeout(TIMEOUT);
  const fail = (error: unknown) => failProvider(c, error);
  const server: AuthorizationServer = await fetchConfiguration(runtime, signal, issuer).catch(fail);
  const self = {
    client_id: client.id,
    // The library's clock is the service's.
    [oauth.clockSkew]: Math.floor(runtime.now() / SECOND) - Math.floor(Date.now() / SECOND),
  };
  const options = {
    signal,
    [oauth.customFetch]: (url: string, options: object) => fetchFromProvider(runtime, url, options),
    // Only an issuer on this machine may use http.
    [oauth.allowInsecureRequests]: issuer.startsWith('http:'),
  };

  let answer: URLSearchParams;
  try {
    answer = oauth.validateAuthResponse(server, self, parameters, flow.state);
  } catch (error) {
    if (!(error instanceof oauth.AuthorizationResponseError)) return failSignIn(c);
    if (error.error !== 'access_denied')
      logFailure('oidc_sign_in_failed', error, errorField(error));
    return failSignIn(c, `You were not signed in at ${providerName({ issuer })}.`);
  }

  requireEndpoint(c, server, 'token_endpoint');
  const { secret } = client;
  const makeAuthentication = acceptsBasic(server)
    ? oauth.ClientSecretBasic
    : oauth.ClientSecretPost;
  const authentication = secret === null ? oauth.None() : makeAuthentication(secret);
  const redirectUri = config.publicUrl + CALLBACK_PATH;
  const response = await oauth
    .authorizationCodeGrantRequest(
      server,
      self,
      authentication,
      answer,
      redirectUri,
      flow.verifier,
      options,
    )
    .catch((error) =>
      error instanceof oauth.OperationProcessingError ? failSignIn(c) : fail(error),
    );
  const tokens: TokenEndpointResponse = await oauth
    .processAuthorizationCodeResponse(server, self, response, {
      expectedNonce: flow.nonce,
      requireIdToken: true,
    })
    .catch((error) => {
      const isRefused = error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant';
      const isInvalid =
        error instanceof oauth.OperationProcessingError && error.code?.startsWith('OAUTH_JWT_');
      return isRefused || isInvalid ? failSignIn(c) : fail(error);
    });

  const directory = openShard(c.env, DIRECTORY, c.var.cost);
  if (!directory) throw new Error('the first shard is not bound');
  const [[keys]] = await directory.load([findProviderKeys(directory, issuer)]);
  const claims = await verifyIdentityToken(c, directory, tokens.id_token ?? '', client.id, keys);
  if (!claims) return failSignIn(c);

  if (claims.email !== undefined || server.userinfo_endpoint === undefined) return claims;
  requireEndpoint(c, server, 'userinfo_endpoint');
  const profile = await oauth
    .userInfoRequest(server, self, tokens.access_token, options)
    .then((response) => oauth.processUserInfoResponse(server, self, claims.sub, response))
    .catch(fail);
  return { ...claims, ...Object.fromEntries(PROFILE_CLAIMS.map((name) => [name, profile[name]])) };
}

/**
 * When the person proved to the provider who they are, in milliseconds since the epoch; null if the
 * provider does not say.
 * @throws Problem `unauthorized` if the flow needs a recent sign-in, and the ID token shows none
 */
export async function readAuthenticationTime(
  c: RequestContext,
  { needsRecent }: Flow,
  { auth_time: claim }: Claims,
): Promise<number | null> {
  const now = c.var.runtime.now();
  const at = typeof claim === 'number' ? Math.min(claim * SECOND, now) : null;
  if (!needsRecent || (at !== null && isRecent(at, now))) return at;
  const provider = providerName(requireProvider(c));
  const reason =
    at === null
      ? `${provider} does not say when you signed in there (\`auth_time\`), so this is not known to be a recent sign-in.`
      : `${provider} says that you signed in there more than 10 minutes ago, and did not ask you again.`;
  return failAuthentication(c, `${reason} Sign in with a passkey instead.`);
}

/**
 * Whether the token endpoint accepts the client's secret by HTTP Basic: the default, and preferred
 * by RFC 6749.
 */
function acceptsBasic({
  token_endpoint_auth_methods_supported: methods,
}: AuthorizationServer): boolean {
  return (
    !Array.isArray(methods) ||
    methods.includes('client_secret_basic') ||
    !methods.includes('client_secret_post')
  );
}

/** The log field with the error that the provider reported. */
function errorField(error: unknown): { oauth_error?: string } {
  const code = error instanceof Error && 'error' in error ? String(error.error) : '';
  return OAUTH_ERRORS.includes(code) ? { oauth_error: code } : {};
}

/**
 * Refuses a sign-in that cannot be completed.
 * @throws Problem as {@link failAuthentication}
 */
export function failSignIn(
  c: RequestContext,
  reason = 'This sign-in is over, or was not begun in this browser, or the browser did not keep its cookie.',
) {
  return failAuthentication(c, `${reason} Go back to the console and begin again.`);
}

function requireEndpoint(c: RequestContext, server: AuthorizationServer, name: string): string {
  try {
    return readEndpoint(server, name);
  } catch (error) {
    return failProvider(c, error);
  }
}

/** @throws Problem `unavailable` if the identity provider does not answer as it should; logs why */
function failProvider(c: RequestContext, error: unknown): never {
  logFailure('oidc_provider_failed', error, errorField(error));
  const detail = `${providerName(requireProvider(c))} does not answer as expected. Go back to the console and try again in a moment.`;
  throw new Problem('unavailable', detail, { headers: { 'Retry-After': '1' } });
}
