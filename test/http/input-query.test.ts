import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { NEEDED_QUERIES } from '../support/scene';
import { dumpTables } from '../support/tables';
import { type Answer, type Json, type TestAccount, type TestAgent, World } from '../support/world';

interface Scene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
}

async function makeScene(): Promise<Scene> {
  const account = await new World().account({ plan: 'enterprise' });
  return { world: account.world, account, agent: await account.agent() };
}

/** Sends a request with the credential that its path accepts. */
function send(
  { world, account, agent }: Scene,
  method: string,
  path: string,
  body?: Json,
): Promise<Answer> {
  const operator = path.startsWith('/v1/admin') ? world.env.ADMIN_TOKEN : undefined;
  const agentOnly =
    method === 'POST' && /^\/v1\/permissions(\?|$|.*\/withdraw)/.test(path) ? agent.key : undefined;
  return world.call(method, path, {
    token: operator ?? agentOnly ?? account.token,
    ...(body && { body }),
  });
}

function expectRefusal({ status, body }: Answer, parameter: string, sent: string) {
  expect([status, body.code, sent]).toEqual([400, 'invalid_request', sent]);
  expect([body.errors.map(({ path }: Json) => path), sent]).toEqual([[`query.${parameter}`], sent]);
}

const ROUTES = new World().routes;

it('the router lists the routes of the service', () => {
  expect(ROUTES).toContain('GET /healthz');
  expect(ROUTES).toContain('POST /v1/admin/users/:id/tokens');
  expect(ROUTES.length).toBeGreaterThan(25);
});

describe.each(depth.cases(ROUTES, 3))('%s', (route) => {
  const [method = '', pattern = ''] = route.split(' ');
  const path = pattern.replace(/:\w+/, 'perm_01h455vb4pex5vsknk084sn02q');

  const needed = NEEDED_QUERIES[path] ? `${NEEDED_QUERIES[path]}&` : '';

  it('refuses unknown parameters', async () => {
    const scene = await makeScene();
    const before = await dumpTables(env.DB);
    const unknown = [
      'unknown',
      'Limit',
      'limits',
      'constructor',
      '__proto__',
      'toString',
      'user_id',
      'access_token',
    ];
    for (const name of unknown) {
      expectRefusal(await send(scene, method, `${path}?${needed}${name}=1`), name, name);
      expectRefusal(await send(scene, method, `${path}?${needed}${name}`), name, name);
    }
    for (const nameless of ['=1', '=']) {
      expectRefusal(await send(scene, method, `${path}?${needed}${nameless}`), '', nameless);
    }
    expect(await dumpTables(env.DB)).toEqual(before);
  });
});

interface Parameter {
  good: string[];
  bad: string[];
}

const limitUpTo = (max: number): Parameter => ({
  good: ['1', `${max}`],
  bad: [
    ...[
      '0',
      '-1',
      '1.5',
      '1e1',
      '1e9',
      '1e400',
      'abc',
      '',
      '%20',
      '1%20',
      '%2B1',
      '1%00',
      '0x1',
      '1,2',
      'Infinity',
    ],
    ...['NaN', 'null', '%D9%A3', `${max + 1}`, '9007199254740993', '99999999999999999999'],
  ],
});
const words = (...good: string[]): Parameter => ({
  good,
  bad: ['', 'x', good[0]?.toUpperCase() ?? '', `${good[0]}%20`, good.join(), 'null', '%00'],
});
const text: Parameter = {
  good: ['x', '', 'a.b', '%F0%9F%98%80', '%27%20or%201%3D1--'],
  bad: ['%00', 'a%00b'],
};
const BAD_TIMES = [
  ...[
    '',
    'yesterday',
    '2026',
    '2026-01',
    '2026-1-1',
    '2026-02-30',
    '2026-13-01',
    '20260131',
    '1769860800000',
    '%00',
  ],
  ...[
    '2026-01-31T12:00:00',
    '2026-01-31T12:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:00:61Z',
    '2026-02-29',
  ],
  // A plus sign that is not encoded stands for a space.
  ...['2026-01-31T12:00:00+01:00', '2026-01-31T12:00:00.Z'],
];
const time: Parameter = {
  good: [
    '2026-01-31',
    '2026-01-31T12:00:00Z',
    '2026-01-31t12:00:00.5z',
    '2026-01-31T12:00:00%2B01:00',
    '2024-02-29',
  ],
  bad: BAD_TIMES,
};

const LISTS: Record<string, Record<string, Parameter>> = {
  '/v1/admin/users': {
    limit: limitUpTo(100),
    plan: words('free', 'pro', 'team', 'enterprise'),
    email: text,
  },
  '/v1/me/tokens': { limit: limitUpTo(100) },
  '/v1/agents': { limit: limitUpTo(100), active: words('true', 'false') },
  '/v1/permissions': {
    limit: limitUpTo(100),
    status: words('pending', 'approved', 'denied', 'expired'),
    agent_id: text,
    action: text,
  },
  '/v1/audit': {
    limit: limitUpTo(1_000),
    event_type: words('request', 'approve', 'deny', 'use', 'expire', 'revoke'),
    order: words('desc', 'asc'),
    agent_id: text,
    permission_id: text,
    action: text,
    start_date: time,
    end_date: time,
  },
};

const PARAMETERS = Object.entries(LISTS).flatMap(([path, parameters]) =>
  Object.entries(parameters).map(([name, parameter]) => ({ path, name, ...parameter })),
);

describe.each(depth.cases(PARAMETERS, 2))('$name of $path', ({ path, name, good, bad }) => {
  it('is refused when it is out of bounds or malformed', async () => {
    const scene = await makeScene();
    for (const value of bad)
      expectRefusal(await send(scene, 'GET', `${path}?${name}=${value}`), name, value);
  });

  it('is accepted at its bounds', async () => {
    const scene = await makeScene();
    for (const value of good) {
      const { status, body } = await send(scene, 'GET', `${path}?${name}=${value}`);
      expect([status, body.errors, value]).toEqual([200, undefined, value]);
    }
  });

  it('cannot be given twice', async () => {
    const scene = await makeScene();
    const [value] = good;
    expectRefusal(
      await send(scene, 'GET', `${path}?${name}=${value}&${name}=${value}`),
      name,
      'twice',
    );
  });
});

it.each(Object.keys(LISTS))('two cursors are refused for %s', async (path) => {
  expectRefusal(
    await send(await makeScene(), 'GET', `${path}?cursor=x&cursor=x`),
    'cursor',
    'twice',
  );
});

it('the parameter wait is refused when it is out of bounds, malformed or given twice', async () => {
  const scene = await makeScene();
  const { id } = await scene.agent.request();
  for (const value of ['-1', '26', '0.5', '1e1', '', 'abc', '%00', 'true']) {
    expectRefusal(await send(scene, 'GET', `/v1/permissions/${id}?wait=${value}`), 'wait', value);
  }
  expectRefusal(await send(scene, 'GET', `/v1/permissions/${id}?wait=1&wait=1`), 'wait', 'twice');
  expect(scene.world.pauses).toEqual([]);
});

it('a refusal names every invalid parameter', async () => {
  const scene = await makeScene();
  const { status, body } = await send(
    scene,
    'GET',
    '/v1/audit?limit=0&event_type=x&foo=1&bar=2&start_date=x',
  );
  expect(status).toBe(400);
  expect(body.errors.map(({ path }: Json) => path).toSorted()).toEqual([
    ...['query.bar', 'query.event_type', 'query.foo', 'query.limit', 'query.start_date'],
  ]);
});
