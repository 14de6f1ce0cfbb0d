import { createLocalJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import { expect, it } from 'vitest';
import { ORIGIN, type TestAgent, World } from '../../support/world';

// The OAuth client oauth4webapi (https://github.com/panva/oauth4webapi) knows nothing of this
// service.

async function makeScene() {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  const { token } = await agent.approved({ scope: { limit: 5 }, max_uses: 2 });
  const server = await discover(world);
  return { world, account, agent, token, server };
}

/** Options that send the client's requests to the world, with a bearer token. */
function options(world: World) {
  return {
    [oauth.customFetch]: async (
      url: string,
      { method, headers, body }: oauth.CustomFetchOptions<string, BodyInit | null | undefined>,
    ) => {
      const { pathname } = new URL(url);
      const raw =
        body === undefined || body === null
          ? {}
          : { raw: body instanceof URLSearchParams ? String(body) : body };
      const answer = await world.call(method, pathname, {
        headers: headers as Record<string, string>,
        ...raw,
      });
      return new Response(answer.text, { status: answer.status, headers: answer.headers });
    },
  };
}

function bearer(token: string): oauth.ClientAuth {
  return (_server, _client, _body, headers) => headers.set('Authorization', `Bearer ${token}`);
}

async function discover(world: World): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(ORIGIN);
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options(world) });
  return oauth.processDiscoveryResponse(issuer, response);
}

const client: oauth.Client = { client_id: 'any' };

async function introspect(
  world: World,
  server: oauth.AuthorizationServer,
  credential: string,
  token: string,
) {
  const response = await oauth.introspectionRequest(
    server,
    client,
    bearer(credential),
    token,
    options(world),
  );
  return oauth.processIntrospectionResponse(server, client, response);
}

it('a standard client discovers the service (RFC 8414)', async () => {
  const { server } = await makeScene();
  expect(server).toEqual({
    issuer: ORIGIN,
    authorization_endpoint: `${ORIGIN}/mcp/oauth/authorize`,
    token_endpoint: `${ORIGIN}/mcp/oauth/token`,
    registration_endpoint: `${ORIGIN}/mcp/oauth/register`,
    jwks_uri: `${ORIGIN}/.well-known/jwks.json`,
    introspection_endpoint: `${ORIGIN}/v1/tokens/introspect`,
    introspection_endpoint_auth_methods_supported: ['Bearer'],
    revocation_endpoint: `${ORIGIN}/v1/tokens/revoke`,
    response_types_supported: ['none'],
    grant_types_supported: ['urn:countersign:grant-type:permission'],
    authorization_details_types_supported: ['countersign'],
    service_documentation: `${ORIGIN}/docs/guides/mcp`,
  });
});

it('a token is introspected for its account and its agent without counting a use (RFC 7662)', async () => {
  const { world, account, agent, token, server } = await makeScene();
  const keys = createLocalJWKSet((await world.must(200, 'GET', '/.well-known/jwks.json')).body);
  const { payload } = await jwtVerify(token.value, keys, {
    currentDate: new Date(world.now),
    typ: 'at+jwt',
  });
  for (const credential of [account.token, agent.key]) {
    expect(await introspect(world, server, credential, token.value)).toEqual({
      active: true,
      token_type: 'Bearer',
      ...payload,
    });
  }
  const { body } = await account.must(200, 'POST', '/v1/tokens/introspect', {
    token: token.value,
    token_type_hint: 'x',
  });
  expect(body).toEqual({ active: true, token_type: 'Bearer', ...payload });
  expect(
    (await account.must(200, 'POST', '/v1/tokens/use', { token: token.value })).body.uses,
  ).toBe(1);
});

it('an introspection shows only that a token is inactive to callers who may not see it', async () => {
  const { world, account, agent, token, server } = await makeScene();
  const stranger = await world.account();
  const others = [stranger.token, (await stranger.agent()).key, (await account.agent()).key];
  for (const credential of others) {
    expect(await introspect(world, server, credential, token.value)).toEqual({ active: false });
  }
  for (const text of ['nonsense', `${token.value}x`, account.token]) {
    expect(await introspect(world, server, account.token, text)).toEqual({ active: false });
  }
  expect(
    (await agent.must(200, 'POST', '/v1/tokens/introspect', { token: token.value })).body.active,
  ).toBe(true);
});

it.each<[string, (scene: Awaited<ReturnType<typeof makeScene>>) => Promise<unknown>]>([
  ['used up', ({ agent, token }) => useTwice(agent, token.value)],
  [
    'revoked',
    ({ agent, token }) => agent.must(200, 'POST', '/v1/tokens/revoke', { token: token.value }),
  ],
  ['expired', async ({ world }) => world.advance(900_000)],
  [
    'of an agent that is switched off',
    ({ account, agent }) =>
      account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: false }),
  ],
  [
    'of an agent that is deleted',
    ({ account, agent }) => account.must(204, 'DELETE', `/v1/agents/${agent.id}`),
  ],
])('an introspection shows a token as inactive if it is %s', async (_, end) => {
  const scene = await makeScene();
  await end(scene);
  expect(
    await introspect(scene.world, scene.server, scene.account.token, scene.token.value),
  ).toEqual({
    active: false,
  });
});

it('a standard client can revoke known and unknown tokens (RFC 7009)', async () => {
  const { world, account, token, server } = await makeScene();
  for (const text of [token.value, token.value, 'nonsense']) {
    const response = await oauth.revocationRequest(
      server,
      client,
      bearer(account.token),
      text,
      options(world),
    );
    expect(await oauth.processRevocationResponse(response)).toBeUndefined();
  }
  expect(await account.log('&event_type=revoke')).toHaveLength(1);
  expect(await introspect(world, server, account.token, token.value)).toEqual({ active: false });
});

it.each(['/v1/tokens/introspect', '/v1/tokens/revoke'])(
  '%s refuses an invalid form',
  async (path) => {
    const { world, account, token } = await makeScene();
    const send = (raw: string, type = 'application/x-www-form-urlencoded; charset=utf-8') =>
      world.call('POST', path, { token: account.token, raw, headers: { 'Content-Type': type } });
    const twice = await send(`token=${token.value}&token=${token.value}`);
    expect([twice.status, twice.body.errors]).toEqual([
      400,
      [{ path: 'body.token', message: 'must be given once' }],
    ]);
    const unknown = await send(`token=${token.value}&toke=1`);
    expect([unknown.status, unknown.body.errors[0].path]).toEqual([400, 'body.toke']);
    expect((await send('')).body.errors[0].path).toBe('body.token');
    expect((await send('token=x', 'multipart/form-data')).status).toBe(415);
    expect((await send(`token=${'x'.repeat(1_100_000)}`)).status).toBe(413);
    expect(await account.log('&event_type=revoke')).toEqual([]);
  },
);

it('a form with 120,000 parameters is refused in linear time', async () => {
  const { world, account } = await makeScene();
  const raw = Array.from({ length: 120_000 }, (_, i) => `p${i}=`).join('&');
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const begun = performance.now();
  const { status, body } = await world.call('POST', '/v1/tokens/introspect', {
    token: account.token,
    raw,
    headers,
  });
  expect([status, body.code]).toEqual([400, 'invalid_request']);
  // Quadratic time would take half a minute.
  expect(performance.now() - begun).toBeLessThan(5_000);
});

it('a form is refused by an endpoint for which no standard requires forms', async () => {
  const { world, account, token } = await makeScene();
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const raw = `token=${token.value}`;
  expect(
    (await world.call('POST', '/v1/tokens/use', { token: account.token, raw, headers })).status,
  ).toBe(415);
});

async function useTwice(agent: TestAgent, token: string): Promise<void> {
  await agent.must(200, 'POST', '/v1/tokens/use', { token });
  await agent.must(200, 'POST', '/v1/tokens/use', { token });
}
