import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

/** Generates a signing key. */
export async function makeKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256', kid: crypto.randomUUID() };
}

/**
 * A real identity provider that issues JWT access tokens to its clients, with the scopes that they request.
 * @param keys published keys, of which the first signs
 * @returns the request handler
 */
export function makeProvider(issuer: string, audience: string, clients: { id: string; secret: string }[], keys: JWK[]) {
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
