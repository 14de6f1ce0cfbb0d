import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import type { TestProject } from 'vitest/node';
import { AUDIENCE, CLIENT } from './identity-client';

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of an identity provider that runs beside the tests. `POST <issuer>/rotate` gives it new keys. */
    issuer: string;
  }
}

/** Runs a real identity provider on loopback for as long as the tests run. */
export default async function setup(project: TestProject) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let answer = await makeProvider(issuer);
  server.on('request', async (request, response) => {
    if (request.url !== '/rotate') return void answer(request, response);
    answer = await makeProvider(issuer);
    response.end();
  });
  project.provide('issuer', issuer);
  return () => {
    server.close();
    server.closeAllConnections();
  };
}

/** A provider with keys of its own that gives a client JWT access tokens, with the scopes that it asks for. */
async function makeProvider(issuer: string) {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256', kid: crypto.randomUUID() };
  const configuration: Configuration = {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    jwks: { keys: [key] },
    scopes: ['agents:read', 'account:read'],
    ttl: { ClientCredentials: 3_600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: () => ({
          scope: 'agents:read account:read',
          audience: AUDIENCE,
          accessTokenTTL: 3_600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  };
  return new Provider(issuer, configuration).callback();
}
