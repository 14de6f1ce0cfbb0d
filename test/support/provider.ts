import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

/** Generates a signing key. */
export async function makeKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256', kid: crypto.randomUUID() };
}

/**
 * A real identity provider that issues JWT access tokens to its clients, with the scopes that they
 * request.
 * @param keys published keys, of which the first signs
 * @returns the request handler
 */
export function makeProvider(
  issuer: string,
  audience: string,
  clients: { id: string; secret: string }[],
  keys: JWK[],
) {
  const configuration: Configuration = {
    clients: clients.map(({ id, secret }) => ({
      client_id: id,
      client_secret: secret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    jwks: { keys },
    scopes: ['agents:read', 'account:read'],
    ttl: { ClientCredentials: 3_600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        getResourceServerInfo: () => ({
          scope: 'agents:read account:read',
          audience,
          accessTokenTTL: 3_600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  };
  return new Provider(issuer, configuration).callback();
}

/**
 * A real identity provider at which people sign in to a client by any name, which is their e-mail
 * address too. It is verified, except that of people whose name begins with `unverified`.
 * @returns the request handler
 */
export function makeSignInProvider(
  issuer: string,
  client: { id: string; secret: string; redirectUri: string },
  keys: JWK[],
) {
  const configuration: Configuration = {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [client.redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    jwks: { keys },
    cookies: { keys: [crypto.randomUUID()] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: async () => ({
        sub: id,
        email: id,
        email_verified: !id.startsWith('unverified'),
        name: 'Ada',
      }),
    }),
    features: { devInteractions: { enabled: true } },
    pkce: { required: () => true },
  };
  return new Provider(issuer, configuration).callback();
}
