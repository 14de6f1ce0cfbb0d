import {
  auth,
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { ORIGIN, World } from '../support/world';

const SENTENCE = /no OAuth sign-in.* agent key or a user token.*Authorization: Bearer/;
const ADVICE = expect.stringMatching(SENTENCE);

/** Sends the requests of the official client to a world, and remembers them. */
function recorder(world: World) {
  const requests: string[] = [];
  const send = async (
    url: string | URL | Request,
    { method = 'GET', headers, body }: RequestInit = {},
  ) => {
    const { pathname } = new URL(url as URL);
    requests.push(`${method} ${pathname}`);
    const sent = Object.fromEntries(new Headers(headers));
    const answer = await world.call(method, pathname, {
      headers: sent,
      ...(body ? { raw: body instanceof URLSearchParams ? String(body) : (body as string) } : {}),
    });
    return new Response(answer.text, { status: answer.status, headers: answer.headers });
  };
  return { requests, send };
}

/** A client that would sign in with OAuth. It has no registration of an earlier time. */
function provider(fields: Partial<OAuthClientProvider> = {}): OAuthClientProvider {
  return {
    redirectUrl: 'http://127.0.0.1:3334/callback',
    clientMetadata: { redirect_uris: ['http://127.0.0.1:3334/callback'], client_name: 'test' },
    clientInformation: () => undefined,
    saveClientInformation: () => {},
    tokens: () => undefined,
    saveTokens: () => {},
    redirectToAuthorization: () => {},
    saveCodeVerifier: () => {},
    codeVerifier: () => 'verifier',
    ...fields,
  };
}

it('the official client, which looks for a sign-in when its key is refused, says what to do about the key', async () => {
  const { requests, send } = recorder(new World());
  const transport = new StreamableHTTPClientTransport(new URL(`${ORIGIN}/mcp`), {
    authProvider: provider(),
    requestInit: { headers: { Authorization: 'Bearer csa_wrong' } },
    fetch: send,
  });
  const connecting = new Client({ name: 'test', version: '1' }).connect(transport);
  await expect(connecting).rejects.toThrow(SENTENCE);
  expect(requests.at(-1)).toBe('POST /mcp/oauth/register');
});

it('the official client with an id of its own says it where it asks for a token', async () => {
  const { requests, send } = recorder(new World());
  const own = {
    clientInformation: () => ({ client_id: 'mine', client_secret: 'secret' }),
    redirectUrl: undefined,
  };
  const options = { serverUrl: `${ORIGIN}/mcp`, fetchFn: send };
  const asking = auth(
    provider({
      ...own,
      prepareTokenRequest: () => new URLSearchParams({ grant_type: 'client_credentials' }),
    }),
    options,
  );
  await expect(asking).rejects.toThrow(SENTENCE);
  expect(requests.at(-1)).toBe('POST /mcp/oauth/token');
});

it('a browser that is sent to the sign-in is shown the guide, at the section about keys', async () => {
  const world = new World();
  const { headers } = await world.must(
    302,
    'GET',
    '/mcp/oauth/authorize?response_type=code&client_id=x',
  );
  const { pathname, hash } = new URL(headers.get('Location') ?? '', ORIGIN);
  expect((await world.must(200, 'GET', pathname)).text).toContain(`id="${hash.slice(1)}"`);
});

it.each([
  ['register', 'invalid_client_metadata'],
  ['token', 'unsupported_grant_type'],
])('/mcp/oauth/%s answers an OAuth error that is a problem as well', async (name, error) => {
  const world = new World();
  for (const raw of ['', '{', 'grant_type=authorization_code&code=x']) {
    const answer = await world.call('POST', `/mcp/oauth/${name}`, { raw });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      code: 'invalid_request',
      detail: ADVICE,
      error,
      error_description: ADVICE,
    });
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    expect(answer.cost.trips).toBe(0);
  }
  expect((await world.call('GET', `/mcp/oauth/${name}`)).status).toBe(405);
});

it('names no sign-in of its own for a protected resource', async () => {
  const world = new World();
  for (const path of [
    'oauth-protected-resource',
    'oauth-protected-resource/mcp',
    'openid-configuration',
  ]) {
    expect([path, (await world.call('GET', `/.well-known/${path}`)).status]).toEqual([path, 404]);
  }
});
