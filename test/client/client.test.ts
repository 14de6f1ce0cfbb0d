import { inspect } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, vi } from 'vitest';
import { describeApi } from '../../src/docs/document';
import {
  ApiError,
  ConnectionError,
  Countersign,
  type CountersignOptions,
  verifyToken,
  verifyWebhook,
} from '../../src/packages/client/index.ts';
import { makeWebhook } from '../support/webhooks';
import { makeAgent, ORIGIN, World } from '../support/world';
import { answerOf, makeClient } from './process';

/** A client of an account with two agents. */
async function stage() {
  const { world, account, agent } = await makeAgent();
  // Lists are ordered by time.
  world.advance(1);
  await account.agent({ name: 'Second' });
  return { world, account, agent, client: makeClient(world, account.token) };
}

/** A client whose service gives these answers, one after the other, and what it sent. */
function scripted(...answers: (Response | Error)[]) {
  const sent: { url: URL; request: RequestInit }[] = [];
  const pauses: number[] = [];
  const client = new Countersign({
    baseUrl: 'https://countersign.test/',
    apiKey: 'csu_secret',
    clock: { now: () => 0, sleep: async (milliseconds) => void pauses.push(milliseconds) },
    fetch: async (url, request) => {
      sent.push({ url: url as URL, request: request ?? {} });
      const answer = answers[sent.length - 1];
      if (!answer || answer instanceof Error) throw answer ?? new Error('no answer is left');
      return answer;
    },
  });
  return {
    client,
    sent,
    pauses,
    keys: () => sent.map(({ request }) => new Headers(request.headers).get('Idempotency-Key')),
  };
}

const problem = (status: number, code: string, headers: HeadersInit = {}) =>
  Response.json({ code, detail: 'What to do.' }, { status, headers });

describe('the client', () => {
  it('has a method for every operation of the description', async () => {
    const { paths = {} } = describeApi(new World().app.routes, ORIGIN);
    const names = Object.values(paths).flatMap((item) =>
      Object.values(item as Record<string, { operationId?: string }>).map(
        ({ operationId }) => operationId,
      ),
    );
    expect(names.length).toBeGreaterThan(70);
    const client = new Countersign({ baseUrl: ORIGIN });
    const missing = names.filter((name) => typeof client[name as keyof Countersign] !== 'function');
    expect(missing).toEqual([]);
  });

  it('sends path, query and body, and returns the answer', async () => {
    const { client, agent } = await stage();
    const created = await client.createAgent({ name: 'Third', metadata: { team: 'mail' } });
    expect(created.api_key).toMatch(/^csa_/);
    expect(await client.updateAgent(created.id, { is_active: false })).toMatchObject({
      is_active: false,
    });
    expect((await client.listAgents({ active: true })).data.map(({ name }) => name)).toEqual([
      'Second',
      'Mailer',
    ]);
    expect(await client.deleteAgent(created.id)).toBeUndefined();
    expect((await client.getAgent(agent.id)).name).toBe('Mailer');
  });

  it('reads a list page by page, and all of it by iteration', async () => {
    const { client } = await stage();
    const page = await client.listAgents({ limit: 1 });
    expect(page).toMatchObject({ data: [{ name: 'Second' }], has_more: true });
    const names = [];
    for await (const { name } of client.listAgents({ limit: 1 })) names.push(name);
    expect(names).toEqual(['Second', 'Mailer']);
  });

  it('reads a page as a promise, with catch and finally', async () => {
    const { client, sent } = scripted(problem(404, 'not_found'), problem(404, 'not_found'));
    expect(await client.listAgents().catch((reason) => reason)).toMatchObject({
      code: 'not_found',
    });
    const calls: string[] = [];
    await expect(client.listAgents().finally(() => calls.push('finally'))).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(calls).toEqual(['finally']);
    expect(sent).toHaveLength(2);
  });

  it('follows the audit log from a position over several pages', async () => {
    const { client, agent } = await stage();
    for (let i = 0; i < 5; i++) await agent.request();
    const sequences = [];
    const query = { order: 'asc', after_sequence: 1, limit: 2 } as const;
    for await (const { sequence } of client.listAuditEntries(query)) sequences.push(sequence);
    expect(sequences).toEqual([2, 3, 4, 5]);
  });

  it('sends nothing for a list that nobody reads', () => {
    const { client, sent } = scripted();
    client.listAgents();
    expect(sent).toEqual([]);
  });

  it('throws the problem of a refusal', async () => {
    const { client } = await stage();
    const error = await client.createAgent({ name: '' }).catch((reason) => reason);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      name: 'ApiError',
      status: 400,
      code: 'invalid_request',
      requestId: expect.stringMatching(/^req_/),
      errors: [{ path: 'body.name', message: expect.any(String) }],
    });
    await expect(client.getAgent('agent_unknown')).rejects.toMatchObject({
      status: 404,
      code: 'not_found',
      errors: [],
    });
  });

  it.each(['', '.', '..'])(
    'refuses the identifier "%s", which would name another resource',
    (id) => {
      const { client, sent } = scripted();
      expect(() => client.deleteAgent(id)).toThrow(TypeError);
      expect(sent).toEqual([]);
    },
  );

  it('encodes an identifier', async () => {
    const { client, sent } = scripted(problem(404, 'not_found'));
    await client.getAgent('../me?a#b').catch(() => {});
    expect(sent[0]?.url.pathname).toBe('/v1/agents/..%2Fme%3Fa%23b');
  });

  it('repeats a POST that got no answer, with the same idempotency key', async () => {
    const { client, keys, pauses } = scripted(
      new TypeError('reset'),
      problem(503, 'unavailable'),
      Response.json({ id: 1 }),
    );
    expect(await client.createAgent({ name: 'A' })).toEqual({ id: 1 });
    expect(new Set(keys()).size).toBe(1);
    expect(keys()[0]).toMatch(/^[\w-]{36}$/);
    expect(pauses.map((pause) => pause >= 350 && pause <= 1_000)).toEqual([true, true]);
  });

  it('repeats a call whose answer broke off', async () => {
    const broken = new Response(
      new ReadableStream({ start: (stream) => stream.error(new Error('reset')) }),
    );
    const { client } = scripted(broken, Response.json({ status: 'ok' }));
    expect(await client.checkHealth()).toEqual({ status: 'ok' });
  });

  it.each([
    ['seconds', '7', [7_000]],
    ['a date', 'Thu, 01 Jan 1970 00:00:09 GMT', [9_000]],
  ])('waits as long as Retry-After says in %s', async (_, value, expected) => {
    const { client, pauses } = scripted(
      problem(429, 'rate_limited', { 'Retry-After': value }),
      Response.json({}),
    );
    await client.checkHealth();
    expect(pauses).toEqual(expected);
  });

  it('does not wait longer than a minute', async () => {
    const { client, pauses } = scripted(problem(429, 'rate_limited', { 'Retry-After': '3600' }));
    await expect(client.checkHealth()).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfter: 3_600_000,
    });
    expect(pauses).toEqual([]);
  });

  it.each([400, 401, 403, 404, 409, 422])(
    'does not repeat a call that is refused with %i',
    async (status) => {
      const { client, sent } = scripted(problem(status, 'refused'));
      await expect(client.checkHealth()).rejects.toMatchObject({ status, code: 'refused' });
      expect(sent).toHaveLength(1);
    },
  );

  it('gives up after the retries, and says why', async () => {
    const failure = new TypeError('reset');
    const { client, sent } = scripted(failure, failure, failure);
    const error = await client.checkHealth().catch((reason) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect([error.message, error.cause, sent.length]).toEqual([
      'No answer from https://countersign.test: reset',
      failure,
      3,
    ]);
    expect(JSON.stringify(error) + error.stack).not.toContain('csu_secret');
  });

  it('ends an attempt that takes too long', async () => {
    const fetch = (_: unknown, request?: RequestInit) =>
      new Promise<Response>((_, reject) =>
        request?.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
      );
    const client = new Countersign({ baseUrl: ORIGIN, timeout: 1, maxRetries: 0, fetch });
    await expect(client.checkHealth()).rejects.toMatchObject({ code: 'connection_failed' });
  });

  it.each<[string, ResponseInit]>([
    ['an answer', {}],
    ['a refusal', { status: 400 }],
  ])('ends with the signal while %s is read that ignores it', async (_, init) => {
    const endless = () => new Response(new ReadableStream({}), init);
    const client = new Countersign({ baseUrl: ORIGIN, fetch: async () => endless() });
    const controller = new AbortController();
    const reading = client.checkHealth({ signal: controller.signal });
    await Promise.resolve();
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    const late = client.checkHealth({ timeout: 1, maxRetries: 0 });
    await expect(late).rejects.toMatchObject({ code: 'connection_failed' });
  });

  it('ends the body of an answer that is no JSON with the signal', async () => {
    const client = new Countersign({
      baseUrl: ORIGIN,
      fetch: async () => new Response(new ReadableStream({})),
    });
    const controller = new AbortController();
    const home = await client.showHome({ signal: controller.signal });
    const reading = home.text();
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });

  it('ends with the signal, without another attempt', async () => {
    const { client, sent } = scripted(problem(503, 'unavailable'));
    await expect(
      client.checkHealth({ signal: AbortSignal.abort(new Error('enough')) }),
    ).rejects.toThrow('enough');
    expect(sent).toEqual([]);
  });

  it('tells an answer that is no problem', async () => {
    const { client } = scripted(new Response('<h1>Bad gateway</h1>', { status: 418 }));
    await expect(client.checkHealth()).rejects.toMatchObject({
      status: 418,
      code: 'unexpected_answer',
    });
  });

  it('returns what is no JSON as it is, and follows no redirect', async () => {
    const { world } = await stage();
    const home = await makeClient(world, '').showHome();
    expect([home.status, home.headers.get('Location')]).toEqual([302, '/docs']);
  });

  it('does not take a redirect for success', async () => {
    const moved = () =>
      new Response(null, { status: 302, headers: { Location: 'https://other.test/' } });
    const { client, sent } = scripted(moved(), moved());
    await expect(client.deleteAgent('agent_1')).rejects.toMatchObject({
      status: 302,
      code: 'unexpected_answer',
    });
    await expect(client.checkHealth()).rejects.toMatchObject({ status: 302 });
    expect(sent).toHaveLength(2);
  });

  it('takes address and key from the environment', async () => {
    const fetch = vi.fn(async (_: unknown, _request?: RequestInit) =>
      Response.json({ status: 'ok' }),
    );
    vi.stubEnv('COUNTERSIGN_URL', 'https://env.test');
    vi.stubEnv('COUNTERSIGN_API_KEY', 'csa_env');
    const client = new Countersign({ fetch });
    vi.unstubAllEnvs();
    await client.checkHealth();
    const [url, request] = fetch.mock.calls[0] ?? [];
    expect(String(url)).toBe('https://env.test/healthz');
    expect(new Headers(request?.headers).get('Authorization')).toBe('Bearer csa_env');
    expect(() => new Countersign()).toThrow('COUNTERSIGN_URL');
  });
});

describe('an error', () => {
  it.each<[string, CountersignOptions, string]>([
    ['an address without a scheme', { baseUrl: 'localhost:8901' }, 'Write http://localhost:8901.'],
    ['a host', { baseUrl: 'countersign.example.com' }, 'Write https://countersign.example.com.'],
    [
      'another scheme',
      { baseUrl: 'ftp://x' },
      'Write one such as https://countersign.example.com.',
    ],
    ['a query', { baseUrl: 'https://x.test/?a=b' }, 'is not the address of a service'],
    ['a password', { baseUrl: 'https://user:s3cret@x.test' }, 'holds a user name or a password'],
    [
      'a password that cannot be read',
      { baseUrl: 'https://user:s3cret@x y' },
      'baseUrl is not the address',
    ],
    [
      'a key that cannot be sent',
      { baseUrl: ORIGIN, apiKey: 'csa_s3cret\nx' },
      'apiKey has characters',
    ],
    [
      'a misspelled option',
      { baseURL: ORIGIN } as never,
      'Countersign has no option "baseURL". Did you mean baseUrl?',
    ],
    [
      'a time that is none',
      { baseUrl: ORIGIN, timeout: '1x' as never },
      'timeout is "1x", not a length of time',
    ],
  ])('of the constructor names %s', (_, options, message) => {
    expect(() => new Countersign(options)).toThrow(TypeError);
    expect(() => new Countersign(options)).toThrow(message);
    expect(() => new Countersign(options)).not.toThrow('s3cret');
  });

  it('of a broken answer does not quote it', async () => {
    const { client } = scripted(new Response('{"api_key": csa_s3cret}'));
    const error = await client.checkHealth({ maxRetries: 0 }).catch((reason) => reason);
    expect(error.message).toBe('The answer of https://countersign.test is not JSON.');
    expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
  });
});

describe('verifyToken', () => {
  async function approved() {
    const { world, agent } = await makeAgent();
    const permission = await agent.approved({ input: { amount: 5 } });
    const fetch = (url: unknown) => answerOf(world, new URL(String(url)), {});
    return {
      agent,
      permission,
      token: permission.token.value,
      expected: { issuer: ORIGIN, now: world.now, fetch },
    };
  }

  it('returns what the token allows', async () => {
    const { agent, permission, token, expected } = await approved();
    const wanted = { action: 'email.send', resource: 'mailbox:support', input: { amount: 5 } };
    expect(await verifyToken(token, { ...expected, ...wanted })).toEqual({
      token_id: permission.token.id,
      permission_id: permission.id,
      agent_id: agent.id,
      action: 'email.send',
      resource: 'mailbox:support',
      scope: {},
      input_digest: permission.input_digest,
      issued_at: '2026-01-31T12:00:00.000Z',
      expires_at: '2026-01-31T12:15:00.000Z',
    });
  });

  it.each<[string, object]>([
    ['issuer', { issuer: 'https://other.test' }],
    ['action', { action: 'email.read' }],
    ['resource', { resource: 'mailbox:other' }],
    ['input', { input: { amount: 6 } }],
    ['time', { now: Date.UTC(2026, 0, 31, 12, 15, 1) }],
    ['keys', { keys: { keys: [] } }],
    ['action, which is missing', { action: undefined }],
    ['input, which is missing', { input: undefined }],
  ])('refuses a token for another %s', async (_, other) => {
    const { token, expected } = await approved();
    await expect(verifyToken(token, { ...expected, ...other })).rejects.toThrow();
  });

  it('refuses a changed token', async () => {
    const { token, expected } = await approved();
    const [header, claims, signature] = token.split('.');
    const more = btoa(atob(claims).replace('mailbox:support', 'mailbox:finance')).replace(
      /=+$/,
      '',
    );
    await expect(verifyToken(`${header}.${more}.${signature}`, expected)).rejects.toThrow();
    const none = btoa(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).replace(/=+$/, '');
    await expect(verifyToken(`${none}.${claims}.`, expected)).rejects.toThrow();
  });
});

describe('verifyWebhook', () => {
  it('returns the event that the service sends', async () => {
    const { world, account, agent } = await makeAgent();
    const webhook = await makeWebhook(account);
    const { id } = await agent.request();
    await world.deliver();
    const [received] = world.internet.sentTo(webhook.host);
    if (!received) throw new Error('nothing was sent');
    const event = await verifyWebhook(received.body, received.headers, webhook.secret, world.now);
    expect(event).toMatchObject({ event: 'audit.created', data: { permission_request_id: id } });
  });

  const SECRET = `whsec_${btoa('a secret of thirty-two characters')}`;
  const AT = new Date('2026-01-31T12:00:00Z');
  const BODY = JSON.stringify({
    event: 'audit.created',
    timestamp: AT.toISOString(),
    data: { reason: 'Grüße' },
  });
  const HEADERS = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(AT.getTime() / 1000),
    'webhook-signature': new Webhook(SECRET).sign('evt_1', AT, BODY),
  };

  it.each<[string, string | Uint8Array, Headers | Record<string, string>]>([
    ['a text and a Headers object', BODY, new Headers(HEADERS)],
    [
      'bytes and an object of headers',
      new TextEncoder().encode(BODY),
      { 'Webhook-Id': 'evt_1', ...HEADERS },
    ],
    [
      'a second signature',
      BODY,
      { ...HEADERS, 'webhook-signature': `v1,AAAA ${HEADERS['webhook-signature']}` },
    ],
  ])('returns the event of %s', async (_, body, headers) => {
    expect(await verifyWebhook(body, headers, SECRET, AT.getTime() + 299_000)).toMatchObject({
      event: 'audit.created',
      data: { reason: 'Grüße' },
    });
  });

  it.each<[string, string, Record<string, string | undefined>, number]>([
    ['a changed body', BODY.replace('created', 'deleted'), {}, 0],
    ['another id', BODY, { 'webhook-id': 'evt_2' }, 0],
    ['no signature', BODY, { 'webhook-signature': undefined }, 0],
    [
      'a signature of another version',
      BODY,
      { 'webhook-signature': HEADERS['webhook-signature'].replace('v1', 'v2') },
      0,
    ],
    ['an old timestamp', BODY, {}, 301_000],
    ['a timestamp in the future', BODY, {}, -301_000],
    ['a timestamp that is no number', BODY, { 'webhook-timestamp': 'now' }, 0],
  ])('refuses %s', async (_, body, headers, later) => {
    await expect(
      verifyWebhook(body, { ...HEADERS, ...headers }, SECRET, AT.getTime() + later),
    ).rejects.toThrow(/webhook/);
  });
});
