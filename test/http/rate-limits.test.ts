import { env } from 'cloudflare:test';
import { parse } from 'smol-toml';
import { beforeEach, expect, it } from 'vitest';
import { RATE_LIMITS } from '../../src/http/rate-limit';
import { makeCredential } from '../../src/lib/credential';
import { networkOf } from '../../src/lib/network';
import { awaitWindow } from '../support/limiter';
import { dumpTables } from '../support/tables';
import { type Answer, type Call, World } from '../support/world';

/**
 * A service that allows three requests a minute per credential, and three failures a minute per
 * address.
 */
function makeLimited(overrides: Partial<typeof LIMITERS> = {}) {
  return new World({ RATE_LIMITS: 'on', ...LIMITERS, ...overrides });
}

const LIMITERS = {
  CREDENTIAL_LIMITER: env.LIMITER_OF_3,
  ADDRESS_LIMITER: env.LIMITER_OF_3,
  ACCOUNT_LIMITER: env.ACCOUNT_LIMITER,
};

const unlimited = new World();

beforeEach(awaitWindow);

async function callFive(world: World, path: string, call: Call): Promise<Answer[]> {
  const answers = [];
  for (let i = 0; i < 5; i++) answers.push(await world.call('GET', path, call));
  return answers;
}

const statuses = (answers: Answer[]) => answers.map(({ status }) => status);

/** An address that no other test uses. */
const someAddress = () =>
  `203.0.113.${crypto.getRandomValues(new Uint8Array(1))[0]}-${crypto.randomUUID()}`;
const from = (address: string) => ({ headers: { 'CF-Connecting-IP': address } });
const unknownKey = (kind: 'user' | 'agent' = 'user', shard = '00') =>
  makeCredential(kind, shard, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));

it('a credential over its limit is answered 429 with Retry-After, without a database query', async () => {
  const world = makeLimited();
  const account = await unlimited.account();
  const agent = await account.agent();
  for (const [path, token] of [
    ['/v1/me', account.token],
    ['/v1/permissions', agent.key],
  ] as const) {
    const answers = await callFive(world, path, { token });
    expect(statuses(answers)).toEqual([200, 200, 200, 429, 429]);
    const [, , , refused] = answers;
    expect(refused?.body.code).toBe('rate_limited');
    const header = (name: string) => refused?.headers.get(name);
    expect([header('Retry-After'), header('RateLimit-Policy'), header('RateLimit')]).toEqual([
      '10',
      '"credential";q=2000;w=10',
      '"credential";r=0;t=10',
    ]);
    expect(refused?.cost).toEqual({ trips: 0, read: 0, written: 0 });
  }
});

it('the limit of a credential does not affect other credentials', async () => {
  const world = makeLimited();
  const account = await unlimited.account();
  await callFive(world, '/v1/me', { token: account.token });
  await world.must(429, 'GET', '/v1/me', { token: account.token });
  await world.must(200, 'GET', '/v1/me', { token: await account.limitedToken('account:read') });
});

it('an account has one limit for all its credentials, and nothing is written beyond it', async () => {
  const world = makeLimited({ ACCOUNT_LIMITER: env.LIMITER_OF_3 });
  const account = await unlimited.account();
  const agent = await account.agent();
  const tokens = [account.token, await account.limitedToken('account:read'), agent.key, agent.key];
  const paths = ['/v1/me', '/v1/me', '/v1/permissions', '/v1/permissions'];
  const answers = [];
  for (const [i, path] of paths.entries())
    answers.push(await world.call('GET', path, { token: tokens[i] ?? '' }));
  expect(statuses(answers)).toEqual([200, 200, 200, 429]);
  const before = await dumpTables(env.DB);
  const body = { action: 'email.send', resource: 'mailbox:support' };
  const refused = await world.must(429, 'POST', '/v1/permissions', { token: agent.key, body });
  const header = (name: string) => refused.headers.get(name);
  expect([header('Retry-After'), header('RateLimit-Policy'), header('RateLimit')]).toEqual([
    '10',
    '"account";q=10000;w=10',
    '"account";r=0;t=10',
  ]);
  expect(await dumpTables(env.DB)).toEqual(before);
  await world.must(200, 'GET', '/v1/me', { token: (await unlimited.account()).token });
});

it.each([
  ['that succeeds', 5, [200, 200, 200, 429, 429]],
  ['that is refused after it was tried in one round trip', 1, [200, 409, 409, 429, 429]],
])('a use of a token %s counts once against the account', async (_, max_uses, expected) => {
  const world = makeLimited({
    ACCOUNT_LIMITER: env.LIMITER_OF_3,
    CREDENTIAL_LIMITER: env.ACCOUNT_LIMITER,
  });
  const agent = await (await unlimited.account()).agent();
  const { token } = await agent.approved({ max_uses });
  const answers = [];
  for (let i = 0; i < 5; i++) {
    const call = { token: agent.key, body: { token: token.value } };
    answers.push(await world.call('POST', '/v1/tokens/use', call));
  }
  expect(statuses(answers)).toEqual(expected);
});

it.each([
  ['counts against its account at most once', 1, [200, 401, 401, 200, 429]],
  ['is answered 401 also beyond the limit of its account', 3, [200, 200, 200, 401, 401, 429, 429]],
])('a revoked key that was just used %s', async (_, usesBefore, expected) => {
  const world = makeLimited({
    ACCOUNT_LIMITER: env.LIMITER_OF_3,
    CREDENTIAL_LIMITER: env.ACCOUNT_LIMITER,
    ADDRESS_LIMITER: env.ACCOUNT_LIMITER,
  });
  const account = await unlimited.account();
  const agent = await account.agent();
  const { token } = await agent.approved({ max_uses: 5 });
  const answers: Answer[] = [];
  const use = async (key: string, times: number) => {
    const call = { token: key, body: { token: token.value } };
    for (let i = 0; i < times; i++) answers.push(await world.call('POST', '/v1/tokens/use', call));
  };
  await use(agent.key, usesBefore);
  const rotated = await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, {
    revoke_immediately: true,
  });
  await use(agent.key, 2);
  await use(rotated.body.api_key, 2);
  expect(statuses(answers)).toEqual(expected);
});

it('people can stop an agent after it has used up the limit of the account', async () => {
  const world = makeLimited({
    ACCOUNT_LIMITER: env.LIMITER_OF_3,
    CREDENTIAL_LIMITER: env.ACCOUNT_LIMITER,
  });
  const account = await unlimited.account();
  const agent = await account.agent();
  const list = () => world.call('GET', '/v1/permissions', { token: agent.key });
  expect(statuses([await list(), await list(), await list(), await list()])).toEqual([
    200, 200, 200, 429,
  ]);
  const { token } = account;
  await world.must(200, 'PUT', `/v1/agents/${agent.id}`, { token, body: { is_active: false } });
  await world.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, {
    token,
    body: { revoke_immediately: true },
  });
  await world.must(204, 'DELETE', `/v1/agents/${agent.id}`, { token });
  expect(statuses([await world.call('GET', '/v1/me', { token })])).toEqual([429]);
});

it('the operator has a limit, too', async () => {
  const world = makeLimited();
  const answers = await callFive(world, '/v1/admin/users', { token: env.ADMIN_TOKEN });
  expect(statuses(answers)).toEqual([200, 200, 200, 429, 429]);
});

it.each([
  ['no credential', () => ({})],
  ['a malformed credential', () => ({ token: 'csu_00junk' })],
  ['different unknown user tokens', () => ({ token: unknownKey() })],
  ['different unknown agent keys', () => ({ token: unknownKey('agent') })],
  ['different user tokens of an unknown shard', () => ({ token: unknownKey('user', 'zz') })],
])('an address is limited when it presents %s', async (_, present) => {
  const world = makeLimited();
  const address = someAddress();
  const answers = [];
  for (const path of ['/v1/me', '/v1/admin/users', '/v1/audit', '/v1/me', '/v1/me']) {
    answers.push(await world.call('GET', path, { ...from(address), ...present() }));
  }
  expect(statuses(answers)).toEqual([401, 401, 401, 429, 429]);
  const [, , , refused] = answers;
  const header = (name: string) => refused?.headers.get(name);
  expect([header('Retry-After'), header('RateLimit-Policy'), header('RateLimit')]).toEqual([
    '60',
    '"address";q=1000;w=60',
    '"address";r=0;t=60',
  ]);
  expect(statuses([await world.call('GET', '/v1/me', from(someAddress()))])).toEqual([401]);
});

it('an address over its limit can still send authenticated requests', async () => {
  const world = makeLimited();
  const account = await unlimited.account();
  const address = someAddress();
  await callFive(world, '/v1/me', from(address));
  await world.must(429, 'GET', '/v1/me', from(address));
  await world.must(200, 'GET', '/v1/me', { token: account.token, ...from(address) });
});

it('an IPv6 network has one limit for all its addresses', async () => {
  const world = makeLimited();
  const [one = 0, two = 0] = crypto.getRandomValues(new Uint16Array(2));
  const network = `2001:db8:${one.toString(16)}:${two.toString(16)}`;
  const answers = [];
  for (const host of ['1', '2', 'ffff:1', '4'])
    answers.push(await world.call('GET', '/v1/me', from(`${network}::${host}`)));
  expect(statuses(answers)).toEqual([401, 401, 401, 429]);
});

it.each(['', ' ', 'a b'])(
  'requests with the malformed idempotency key %j count, too',
  async (key) => {
    const world = makeLimited();
    const account = await unlimited.account();
    const address = someAddress();
    const headers = { ...from(address).headers, 'Idempotency-Key': key };
    for (const [token, status] of [
      [undefined, 401],
      [account.token, 400],
    ] as const) {
      const answers = [];
      for (let i = 0; i < 5; i++) {
        answers.push(
          await world.call('POST', '/v1/me/tokens', { ...(token && { token }), headers }),
        );
      }
      expect(statuses(answers)).toEqual([status, status, status, 429, 429]);
    }
  },
);

it('a long-polling request counts once', async () => {
  const world = makeLimited();
  const account = await unlimited.account();
  const { id } = await (await account.agent()).request();
  await world.must(200, 'GET', `/v1/permissions/${id}?wait=25`, { token: account.token });
  expect(world.pauses.length).toBeGreaterThan(5);
});

it('a limiter never sees a credential', async () => {
  const keys: string[] = [];
  const watching = {
    limit: ({ key }: { key: string }) => {
      keys.push(key);
      return env.LIMITER_OF_3.limit({ key });
    },
  };
  const { token } = await unlimited.account();
  const world = makeLimited({
    CREDENTIAL_LIMITER: watching,
    ADDRESS_LIMITER: watching,
    ACCOUNT_LIMITER: watching,
  });
  await world.must(200, 'GET', '/v1/me', { token });
  await world.must(401, 'GET', '/v1/me', { token: `${token}x` });
  expect(keys.length).toBe(4);
  for (const form of [token, new TextEncoder().encode(token).toHex(), btoa(token)])
    expect(keys.join()).not.toContain(form);
});

it('requests are served when a limiter fails', async () => {
  const broken = { limit: () => Promise.reject(new Error('broken')) };
  const { token } = await unlimited.account();
  const world = makeLimited({
    CREDENTIAL_LIMITER: broken,
    ADDRESS_LIMITER: broken,
    ACCOUNT_LIMITER: broken,
  });
  expect(statuses(await callFive(world, '/v1/me', { token }))).toEqual([200, 200, 200, 200, 200]);
  expect(statuses(await callFive(world, '/v1/me', {}))).toEqual([401, 401, 401, 401, 401]);
});

it('a malformed credential causes no database query', async () => {
  for (const token of [
    'x',
    'csu_00',
    `${unknownKey()}0`,
    unknownKey().replace(/.$/, '!'),
    'csa_zz'.padEnd(44, '0'),
  ]) {
    for (const path of ['/v1/me', '/v1/permissions', '/v1/admin/users']) {
      const answer = await unlimited.call('GET', path, { token });
      expect([answer.status, answer.cost.trips]).toEqual([401, 0]);
    }
  }
});

it('nothing is limited if RATE_LIMITS is off', async () => {
  const world = new World(LIMITERS);
  const account = await world.account();
  expect(statuses(await callFive(world, '/v1/me', { token: account.token }))).toEqual([
    200, 200, 200, 200, 200,
  ]);
  expect(statuses(await callFive(world, '/v1/me', {}))).toEqual([401, 401, 401, 401, 401]);
});

it.each(['on', ''])(
  'the service answers 503 with RATE_LIMITS %j and a missing limiter',
  async (RATE_LIMITS) => {
    for (const missing of Object.keys(LIMITERS)) {
      const { [missing as keyof typeof LIMITERS]: _, ...bound } = LIMITERS;
      expect((await new World({ RATE_LIMITS, ...bound }).call('GET', '/healthz')).status).toBe(503);
    }
    expect((await new World({ RATE_LIMITS, ...LIMITERS }).call('GET', '/healthz')).status).toBe(
      200,
    );
  },
);

it('the limits that answers name are those of wrangler.toml', () => {
  const { ratelimits } = parse(env.WRANGLER) as unknown as {
    ratelimits: { name: string; simple: { limit: number; period: number } }[];
  };
  const allowed = ratelimits.map(({ name, simple }) => [name, simple.limit, simple.period]);
  const { credential, address, account } = RATE_LIMITS;
  expect(allowed).toEqual([
    ['CREDENTIAL_LIMITER', credential.quota, credential.window],
    ['ADDRESS_LIMITER', address.quota, address.window],
    ['ACCOUNT_LIMITER', account.quota, account.window],
  ]);
});

it.each([
  ['198.51.100.7', '198.51.100.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['2001:db8::2', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['::ffff:c633:6408', '198.51.100.8'],
  ['1:2:3:4:5:6:7::', '1:2:3:4'],
  ['', ''],
  ['nonsense', 'nonsense'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

it('an address is limited when it guesses signatures of downloads', async () => {
  const world = makeLimited();
  const path = '/v1/downloads/export_01h455vb4pex5vsknk084sn02q?signature=guessed';
  expect(statuses(await callFive(world, path, from(someAddress())))).toEqual([
    403, 403, 403, 429, 429,
  ]);
});
