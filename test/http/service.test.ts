import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import '../support/shards';
import type { Env } from '../../src/env';
import { BackgroundWork } from '../support/background-work';
import { FaultyDatabase } from '../support/faults';
import { type Answer, ORIGIN, World } from '../support/world';

function expectProblem({ status, headers, body }: Answer, wanted: number, code: string) {
  expect([status, body.code]).toEqual([wanted, code]);
  expect(headers.get('Content-Type')).toBe('application/problem+json');
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(body).toMatchObject({
    type: expect.stringMatching(/^[a-z]+:.+/),
    title: expect.stringMatching(/./),
    status: wanted,
    detail: expect.stringMatching(/./),
    request_id: headers.get('X-Request-Id'),
  });
}

describe('GET /healthz', () => {
  it('answers 200 after one read of the database', async () => {
    const answer = await new World().must(200, 'GET', '/healthz');
    expect(answer.body).toEqual({ status: 'ok' });
    expect(answer.cost.trips).toBe(1);
  });

  it('answers 503 when the database fails', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    database.arm({ call: 1, mode: 'before' });
    const answer = await world.call('GET', '/healthz');
    expectProblem(answer, 503, 'unavailable');
    expect(answer.headers.get('Retry-After')).toMatch(/^\d+$/);
    await world.must(200, 'GET', '/healthz');
  });

  it('answers 503 when a database is not bound or has no tables', async () => {
    const empty = {
      prepare: () => ({ bind: () => ({}) }),
      batch: () => Promise.reject(new Error('D1_ERROR: no such table: accounts: SQLITE_ERROR')),
    };
    for (const DB of [undefined, empty]) {
      const world = new World({ DB: DB as unknown as D1Database });
      expectProblem(await world.call('GET', '/healthz'), 503, 'unavailable');
    }
  });

  it('answers 503 when one of several databases fails', async () => {
    const second = new FaultyDatabase(env.DB_01);
    const world = new World({ DB_01: second.binding });
    await world.must(200, 'GET', '/healthz');
    second.arm({ call: 1, mode: 'before' });
    expectProblem(await world.call('GET', '/healthz'), 503, 'unavailable');
  });
});

describe('the request id', () => {
  it.each(['a', 'req-1/2:3', '!~', 'x'.repeat(128)])(
    'is the one that the client sends: %j',
    async (id) => {
      const world = new World();
      const headers = { 'X-Request-Id': id };
      const answers = [
        await world.call('GET', '/healthz', { headers }),
        await world.call('GET', '/v1/agents', { headers }),
        await world.call('GET', '/nowhere', { headers }),
      ];
      expect(answers.map((answer) => answer.headers.get('X-Request-Id'))).toEqual([id, id, id]);
      expect(answers[1]?.body.request_id).toBe(id);
    },
  );

  it.each(['', 'two words', 'x'.repeat(129), 'é', 'tab\there'])(
    'is generated when the client sends the invalid %j',
    async (id) => {
      const { headers } = await new World().call('GET', '/healthz', {
        headers: { 'X-Request-Id': id },
      });
      expect(headers.get('X-Request-Id')).toMatch(/^req_[0-9a-hjkmnp-tv-z]{26}$/);
    },
  );

  it('is different for every request', async () => {
    const world = new World();
    const ids = await Promise.all(
      Array.from({ length: 10 }, async () =>
        (await world.call('GET', '/healthz')).headers.get('X-Request-Id'),
      ),
    );
    expect(new Set(ids).size).toBe(10);
  });
});

it('authenticated answers have Cache-Control: no-store', async () => {
  const account = await new World().account();
  const agent = await account.agent();
  const answers = [
    await account.must(200, 'GET', '/v1/me'),
    await account.must(200, 'GET', '/v1/agents'),
    await account.must(201, 'POST', '/v1/me/tokens'),
    await account.must(404, 'GET', '/v1/agents/x'),
    await agent.must(200, 'GET', '/v1/permissions'),
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`),
  ];
  for (const { headers } of answers) expect(headers.get('Cache-Control')).toBe('no-store');
});

describe('the router', () => {
  it.each([
    '/v1',
    '/v1/',
    '/v1/nowhere',
    '/v2/agents',
    '/v1/agents/a/b/c',
    '/V1/agents',
    '/healthz/x',
    '/%ff',
  ])('answers an unknown path with 404 and a problem: %s', async (path) => {
    const account = await new World().account();
    expectProblem(await account.world.call('GET', path), 404, 'not_found');
    expectProblem(await account.call('POST', path, {}), 404, 'not_found');
  });

  it.each([
    ['DELETE', '/healthz', 'GET'],
    ['POST', '/.well-known/jwks.json', 'GET'],
    ['PATCH', '/v1/agents', 'GET,POST'],
    ['PATCH', '/v1/agents/x', 'DELETE,GET,PUT'],
    ['GET', '/v1/agents/x/rotate-key', 'POST'],
    ['POST', '/v1/agents/x/stats', 'GET'],
    ['PUT', '/v1/permissions', 'GET,POST'],
    ['DELETE', '/v1/permissions/x', 'GET'],
    ['GET', '/v1/permissions/x/approve', 'POST'],
    ['GET', '/v1/tokens/use', 'POST'],
    ['PUT', '/v1/tokens/revoke', 'POST'],
    ['POST', '/v1/audit', 'GET'],
    ['PUT', '/v1/audit/export', 'GET,POST'],
    ['DELETE', '/v1/audit/export/x', 'GET'],
    ['POST', '/v1/downloads/x', 'GET'],
    ['DELETE', '/v1/audit/x', 'GET'],
    ['PATCH', '/v1/webhooks', 'GET,POST'],
    ['POST', '/v1/webhooks/x', 'DELETE,GET,PUT'],
    ['GET', '/v1/webhooks/x/rotate-secret', 'POST'],
    ['GET', '/v1/webhooks/x/test', 'POST'],
    ['POST', '/v1/webhooks/x/deliveries', 'GET'],
    ['DELETE', '/v1/webhooks/x/deliveries/y', 'GET'],
    ['GET', '/v1/webhooks/x/deliveries/y/redeliver', 'POST'],
    ['PATCH', '/v1/connections', 'GET,POST'],
    ['POST', '/v1/connections/x', 'DELETE,GET,PUT'],
    ['GET', '/v1/connections/x/test', 'POST'],
    ['POST', '/v1/connections/x/reads', 'GET'],
    ['PATCH', '/v1/channels', 'GET,POST'],
    ['POST', '/v1/channels/x', 'DELETE,GET,PUT'],
    ['GET', '/v1/channels/x/test', 'POST'],
    ['POST', '/v1/permissions/x/notifications', 'GET'],
    ['PATCH', '/v1/me', 'GET'],
    ['GET', '/v1/me/tokens/x', 'DELETE'],
    ['PUT', '/v1/admin/users', 'GET,POST'],
    ['PUT', '/v1/admin/users/x', 'DELETE,GET,PATCH'],
  ])('answers %s %s with 405 and Allow: %s', async (method, path, allowed) => {
    const account = await new World().account();
    for (const answer of [
      await account.call(method, path),
      await account.world.call(method, path),
    ]) {
      expectProblem(answer, 405, 'method_not_allowed');
      const methods = (answer.headers.get('Allow') ?? '')
        .split(/, */)
        .filter((name) => !/^(HEAD|OPTIONS)$/.test(name));
      expect(methods.toSorted().join()).toBe(allowed);
    }
  });
});

describe.each(['/openapi.json', '/.well-known/jwks.json'])('%s', (path) => {
  /** Sends a request of a page of another origin. */
  async function fetchFromPage(target: string, method: string, headers = {}) {
    const world = new World();
    const work = new BackgroundWork();
    const request = new Request(ORIGIN + target, {
      method,
      headers: { Origin: 'https://tool.example', ...headers },
    });
    const response = await world.app.fetch(request, world.env, work.context);
    await response.arrayBuffer();
    await work.finish();
    return response;
  }

  it('may be read by pages of any origin', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await fetchFromPage(path, method);
      expect([status, headers.get('Access-Control-Allow-Origin')]).toEqual([200, '*']);
    }
    const preflight = await fetchFromPage(path, 'OPTIONS', {
      'Access-Control-Request-Method': 'GET',
    });
    expect([preflight.status, preflight.headers.get('Access-Control-Allow-Origin')]).toEqual([
      204,
      '*',
    ]);
    expect(preflight.headers.get('Access-Control-Allow-Methods')).toBe('GET,HEAD');
  });

  it('shares this with no other path', async () => {
    for (const target of ['/v1/me', '/healthz', `${path}x`]) {
      const { headers } = await fetchFromPage(target, 'GET');
      expect(headers.get('Access-Control-Allow-Origin')).toBeNull();
    }
  });
});

describe('a service with an invalid configuration', () => {
  const good = new World().env.ROOT_SECRET;
  it.each<[string, Record<string, unknown>]>([
    ['no operator token', { ADMIN_TOKEN: undefined }],
    ['an empty operator token', { ADMIN_TOKEN: '' }],
    ['no root secret', { ROOT_SECRET: undefined }],
    ['an empty root secret', { ROOT_SECRET: '' }],
    ['a root secret that is not base64', { ROOT_SECRET: '!'.repeat(44) }],
    ['a root secret of 31 bytes', { ROOT_SECRET: btoa('x'.repeat(31)) }],
    ['a root secret of 33 bytes', { ROOT_SECRET: btoa('x'.repeat(33)) }],
    ['a malformed second secret', { ROOT_SECRET: `${good},x` }],
    ['an empty second secret', { ROOT_SECRET: `${good},` }],
    ['no public address', { PUBLIC_URL: undefined }],
    ['a malformed public address', { PUBLIC_URL: 'countersign.test' }],
    ['a public address with a path', { PUBLIC_URL: 'https://countersign.test/api' }],
    ['no bucket', { FILES: undefined }],
    ['no queue for files', { JOB_QUEUE: undefined }],
    ['no webhook queue', { WEBHOOK_QUEUE: undefined }],
    ['no queue for slow webhooks', { SLOW_WEBHOOK_QUEUE: undefined }],
  ])('answers 503 on every path: %s', async (_, settings) => {
    const { token } = await new World().account();
    const world = new World(settings as Partial<Env>);
    const secrets = Object.values(settings).flatMap((value) => value || []);
    const calls = [
      '/healthz',
      '/v1/me',
      '/v1/agents',
      '/v1/admin/users',
      '/.well-known/jwks.json',
      '/nowhere',
    ];
    for (const path of calls) {
      const answer = await world.call('GET', path, { token });
      expectProblem(answer, 503, 'unavailable');
      expect(answer.headers.get('Retry-After')).toMatch(/^\d+$/);
      for (const secret of secrets) expect(answer.text).not.toContain(secret);
    }
  });
});

describe('an internal error', () => {
  /** A database that fails in an unexpected way. */
  const broken = {
    prepare: () => ({ bind: () => ({}) }),
    batch: () => Promise.reject(new Error('D1_ERROR: no such column: hidden_column: SQLITE_ERROR')),
  } as unknown as D1Database;

  it.each([
    ['GET', '/v1/me'],
    ['GET', '/v1/agents'],
    ['POST', '/v1/agents'],
    ['GET', '/v1/audit'],
  ])('is answered 500 without details: %s %s', async (method, path) => {
    const { token } = await new World().account();
    const answer = await new World({ DB: broken }).call(method, path, { token });
    expectProblem(answer, 500, 'internal');
    expect(answer.text).not.toMatch(/hidden_column|SQLITE|D1_|\bat \w+|\.ts/);
  });

  it('is answered 503 with Retry-After if the database cannot be reached', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const account = await world.account();
    database.arm({ call: 1, mode: 'before' });
    const answer = await account.call('GET', '/v1/agents');
    expectProblem(answer, 503, 'unavailable');
    expect(answer.headers.get('Retry-After')).toMatch(/^\d+$/);
    expect(answer.text).not.toMatch(/Network|D1/);
    await account.must(200, 'GET', '/v1/agents');
  });
});

it('a missing or malformed credential is refused without a database query', async () => {
  const world = new World();
  const headers = [
    '',
    'Bearer',
    'Bearer ',
    'Basic YTpi',
    'Bearer a b',
    'Bearer csu_x',
    `Bearer ${'x'.repeat(5_000)}`,
  ];
  for (const Authorization of headers) {
    const answer = await world.call('GET', '/v1/agents', { headers: { Authorization } });
    expectProblem(answer, 401, 'unauthorized');
    expect([answer.headers.get('WWW-Authenticate'), answer.cost.trips]).toEqual(['Bearer', 0]);
  }
});
