import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { dumpTables } from '../support/tables';
import { type Answer, type Call, type TestAccount, type TestAgent, World } from '../support/world';

interface Scene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
  /** Ids for the paths, by the path segment before them. */
  ids: Record<string, string>;
}

async function makeScene(): Promise<Scene> {
  const account = await new World().account();
  const agent = await account.agent();
  const { id } = await agent.request();
  const ids = { users: account.id, agents: agent.id, permissions: id };
  return { world: account.world, account, agent, ids };
}

/** A scene for requests that are refused and so change nothing. */
const shared = await makeScene();

/** Takes a form, whose signature it checks first. */
const OF_SLACK = 'POST /v1/inbound/:secret/slack';
/** Every route that takes a body of JSON. */
const ROUTES = new World().routes.filter(
  (route) => /^(POST|PUT|PATCH) /.test(route) && route !== OF_SLACK,
);

const JSON_TYPE = { 'Content-Type': 'application/json' };
const MEBIBYTE = 1024 * 1024;

it('the router lists the routes with a body', () => {
  expect(ROUTES).toContain('POST /v1/agents');
  expect(ROUTES.length).toBeGreaterThan(11);
});

describe.each(depth.cases(ROUTES, 3))('%s', (route) => {
  const [method = '', pattern = ''] = route.split(' ');

  /** Sends a body to an existing resource, with the credential that the route accepts. */
  function send({ world, account, agent, ids }: Scene, call: Call): Promise<Answer> {
    const path = pattern.replace(/(\w+)\/:id/, (_, kind) => `${kind}/${ids[kind]}`);
    const operator = path.startsWith('/v1/admin') ? world.env.ADMIN_TOKEN : undefined;
    const agentOnly = /^\/v1\/permissions($|.*\/withdraw$)/.test(path) ? agent.key : undefined;
    return world.call(method, path, { token: operator ?? agentOnly ?? account.token, ...call });
  }

  async function expectRefusals(status: number, code: string, calls: Call[], errors?: unknown) {
    const before = await dumpTables(env.DB);
    for (const [i, call] of calls.entries()) {
      const { status: answered, body } = await send(shared, call);
      expect([i, answered, body.code, body.errors]).toEqual([i, status, code, errors]);
      expect(body.detail).toMatch(/./);
    }
    expect(await dumpTables(env.DB)).toEqual(before);
  }

  it('refuses text that is not JSON', async () => {
    const texts = [
      '{',
      '{"a":1',
      "{'a':1}",
      '{"a":1,}',
      'x',
      '[1,2',
      '{"a":NaN}',
      '{"a":01}',
      '{} {}',
      '\u0000',
      ' ',
    ];
    const calls = texts.map((raw) => ({ raw, headers: JSON_TYPE }));
    await expectRefusals(400, 'invalid_request', calls, [
      { path: 'body', message: expect.any(String) },
    ]);
  });

  it('refuses bytes that are not UTF-8', async () => {
    const bytes = [
      [0xff],
      [0xc3, 0x28],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xc0, 0x80],
      [0xe2, 0x82],
    ];
    const quote = (middle: number[]) =>
      Uint8Array.of(...new TextEncoder().encode('{"name":"'), ...middle, 0x22, 0x7d);
    const calls = bytes.map((middle) => ({ raw: quote(middle), headers: JSON_TYPE }));
    await expectRefusals(400, 'invalid_request', calls, [
      { path: 'body', message: expect.any(String) },
    ]);
  });

  it('refuses another content type', async () => {
    const types = [
      'text/plain',
      'application/xml',
      'application/jsonx',
      'multipart/form-data; boundary=x',
      'json',
      '',
    ];
    const calls = types.map((type) => ({
      raw: new TextEncoder().encode('{"name":"x"}'),
      headers: { 'Content-Type': type },
    }));
    await expectRefusals(415, 'unsupported_media_type', [
      ...calls,
      { raw: new TextEncoder().encode('{}') },
    ]);
  });

  it('refuses a body over 1 MiB, with or without Content-Length', async () => {
    const text = `{"name":"${'x'.repeat(2 * MEBIBYTE)}"}`;
    const chunked = () => {
      const chunk = new TextEncoder().encode(' '.repeat(64 * 1024));
      let left = 40;
      return new ReadableStream({
        pull: (controller) => (left-- > 0 ? controller.enqueue(chunk) : controller.close()),
      });
    };
    const over = ' '.repeat(MEBIBYTE - 1);
    const calls = [
      { raw: text, headers: JSON_TYPE },
      { raw: chunked(), headers: JSON_TYPE },
      { raw: `{}${over}`, headers: JSON_TYPE },
    ];
    await expectRefusals(413, 'payload_too_large', calls);
  });

  it('refuses an unknown field', async () => {
    // The kind of a channel decides which fields it has.
    const raw = JSON.stringify({
      ...(route === 'POST /v1/channels' && { kind: 'email' }),
      unknown: 1,
    });
    const { status, body } = await send(shared, { raw, headers: JSON_TYPE });
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.errors).toContainEqual({ path: 'body.unknown', message: expect.any(String) });
  });
});

describe('a body', () => {
  it('may have exactly 1 MiB', async () => {
    const { account, world } = await makeScene();
    const raw = `{"name":"x"}${' '.repeat(MEBIBYTE - 12)}`;
    await world.must(201, 'POST', '/v1/agents', { token: account.token, raw, headers: JSON_TYPE });
  });

  it.each([
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;charset=UTF-8',
    'application/json ',
  ])('may have the content type %j', async (type) => {
    const { account, world } = await makeScene();
    const call = { token: account.token, raw: '{"name":"x"}', headers: { 'Content-Type': type } };
    await world.must(201, 'POST', '/v1/agents', call);
  });

  it('may be left out where no field is required', async () => {
    const { account, agent } = await makeScene();
    await account.must(201, 'POST', '/v1/me/tokens');
    await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`);
    const [first, second] = [await agent.request(), await agent.request()];
    await account.must(200, 'POST', `/v1/permissions/${first.id}/approve`);
    await account.must(200, 'POST', `/v1/permissions/${second.id}/deny`);
  });

  it('cannot be left out where a field is required', async () => {
    const { account, agent } = await makeScene();
    const calls: [TestAccount | TestAgent, string, string[]][] = [
      [account, '/v1/agents', ['body.name']],
      [agent, '/v1/permissions', ['body.action', 'body.resource']],
      [account, '/v1/tokens/use', ['body.token']],
      [account, '/v1/tokens/revoke', ['body.token']],
    ];
    for (const [caller, path, missing] of calls) {
      const { status, body } = await caller.call('POST', path);
      expect([status, body.errors.map((error: { path: string }) => error.path)]).toEqual([
        400,
        missing,
      ]);
    }
  });
});

it('an answer to many errors has at most 8 KiB', async () => {
  const { account, agent, world } = await makeScene();
  const names = (name: (i: number) => string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [name(i), 0]));
  const wide = names((i) => `field_${i}`, 19_000);
  const long = names((i) => `${i}${'😀'.repeat(10_000)}`, 20);
  const control = names((i) => `${i}${'\u0001\ud800'.repeat(20_000)}`, 2);
  const policy = { name: 'x', effect: 'deny', actions: ['*'], resources: ['*'] };
  const limits = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [`${i}${'\u0001'.repeat(12)}`, 9]),
  );
  const { id } = await agent.request({ scope: limits });
  const raised = Object.fromEntries(Object.keys(limits).map((name) => [name, 10]));
  const form = {
    token: account.token,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  };
  const answers = [
    ...(await Promise.all(
      [wide, long, control].map((body) => agent.call('POST', '/v1/permissions', body)),
    )),
    await account.call('POST', '/v1/me/tokens', {
      scopes: Array.from({ length: 300_000 }, () => 0),
    }),
    await account.call('POST', '/v1/me/tokens', { name: 5, ...wide }),
    await account.call('POST', '/v1/policies', { ...policy, conditions: { a: long } }),
    await account.call('POST', '/v1/policies', {
      ...policy,
      conditions: { a: names((i) => `${i}x`, 1_000) },
    }),
    await account.call('POST', '/v1/policies', {
      ...policy,
      conditions: { ['x'.repeat(9_000)]: { max: 'x' } },
    }),
    await account.call('POST', `/v1/permissions/${id}/approve`, { scope: raised }),
    await account.call('GET', `/v1/agents?${'x'.repeat(16_000)}`),
    await account.call('GET', `/v1/agents?${'x&'.repeat(8_000)}`),
    await account.call('GET', `/v1/agents?${'y='.repeat(400_000)}`),
    await account.call(
      'GET',
      `/v1/agents?${Array.from({ length: 3_000 }, (_, i) => `n${i}`).join('&')}`,
    ),
    await world.call('POST', '/v1/tokens/revoke', {
      ...form,
      raw: `${'x'.repeat(MEBIBYTE - 4)}=1`,
    }),
    await world.call('POST', '/v1/tokens/revoke', { ...form, raw: 'a=1&'.repeat(MEBIBYTE / 4) }),
    await world.call('POST', '/v1/tokens/introspect', {
      ...form,
      raw: Array.from({ length: 100_000 }, (_, i) => `n${i}`).join('&'),
    }),
  ];
  for (const [i, { status, body, text }] of answers.entries()) {
    expect([i, status, ['invalid_request', 'scope_widened'].includes(body.code)]).toEqual([
      i,
      400,
      true,
    ]);
    expect([i, new TextEncoder().encode(text).length <= 8_192]).toEqual([i, true]);
    expect([i, body.errors.length > 0]).toEqual([i, true]);
    for (const { path, message } of body.errors)
      expect([path, message].every((part) => part.isWellFormed())).toBe(true);
  }
});

it('a refusal names the field that is nested too deeply or has too many values', async () => {
  const { account, agent, world } = await makeScene();
  const deep = `${'['.repeat(65)}${']'.repeat(65)}`;
  const cases: [string, string][] = [
    [`{"resource":"\\"[{","scope":{"a":${deep}}}`, 'body.scope'],
    [`{"a\\"b": ${deep} }`, 'body.a\\"b'],
    [`[${deep}]`, 'body'],
    [`{"x":{},"scope":[${'0,'.repeat(20_000)}0]}`, 'body.scope'],
    [`{"x":[],${Array.from({ length: 20_000 }, (_, i) => `"${i}":0`).join()}}`, 'body'],
    ['['.repeat(MEBIBYTE), 'body'],
    [`{"scope":${'{"a":'.repeat(MEBIBYTE / 8)}`, 'body.scope'],
  ];
  for (const [raw, path] of cases) {
    const answer = await world.call('POST', '/v1/permissions', {
      token: agent.key,
      raw,
      headers: JSON_TYPE,
    });
    expect([answer.status, answer.body.errors]).toEqual([
      400,
      [{ path, message: expect.stringMatching(/^must/) }],
    ]);
  }
  const strings = `{"name":"x","metadata":{"a":"${'[{,'.repeat(5_000)}"}}`;
  await world.must(201, 'POST', '/v1/agents', {
    token: account.token,
    raw: strings,
    headers: JSON_TYPE,
  });
  const full = `{"name":"x","metadata":{"a":[${'0,'.repeat(8_180)}0]}}`;
  await world.must(201, 'POST', '/v1/agents', {
    token: account.token,
    raw: full,
    headers: JSON_TYPE,
  });
});
