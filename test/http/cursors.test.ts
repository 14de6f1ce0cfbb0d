import { beforeAll, describe, expect, it } from 'vitest';
import { ApiDocument } from '../support/api-document';
import { makeConnection } from '../support/connections';
import { depth } from '../support/depth';
import { type Answer, type Json, type TestAccount, type TestAgent, World } from '../support/world';

const world = new World();
let account: TestAccount;
let stranger: TestAccount;
let agent: TestAgent;
/** A token of the account that was deleted. */
let endedToken: string;

const POLICY = { effect: 'deny', actions: ['never.done'], resources: ['*'] };

/** Makes two accounts with three items in each list. */
async function makeThree(): Promise<[TestAccount, TestAgent]> {
  const owner = await world.account({ email: 'three@example.com' });
  const agents: TestAgent[] = [];
  for (let i = 0; i < 3; i++) {
    world.advance(1);
    agents.push(await owner.agent());
    await agents[0]?.request();
    await owner.must(201, 'POST', '/v1/me/tokens');
    await owner.must(201, 'POST', '/v1/members', {
      email: `member-${i}@example.com`,
      role: 'auditor',
    });
    await owner.must(201, 'POST', '/v1/policies', { ...POLICY, name: `Policy ${i}` });
    await owner.must(201, 'POST', '/v1/webhooks', { url: 'https://hooks.example.com/' });
    await owner.must(201, 'POST', '/v1/channels', { kind: 'email', name: `Channel ${i}` });
    await makeConnection(owner, agents[0] as TestAgent);
  }
  return [owner, agents[0] as TestAgent];
}

beforeAll(async () => {
  [account, agent] = await makeThree();
  [stranger] = await makeThree();
  await world.account({ email: 'three@example.com' });
  const { body } = await account.must(201, 'POST', '/v1/me/tokens');
  endedToken = body.token;
  await account.must(204, 'DELETE', `/v1/me/tokens/${body.id}`);
});

const tokens = {
  operator: () => world.env.ADMIN_TOKEN ?? '',
  account: () => account.token,
  stranger: () => stranger.token,
  agent: () => agent.key,
};
type Caller = keyof typeof tokens;

function read(caller: Caller, path: string, query: string): Promise<Answer> {
  return world.call('GET', `${path}?${query}`, { token: tokens[caller]() });
}

async function cursorOf(caller: Caller, path: string, query = ''): Promise<string> {
  const { status, body } = await read(caller, path, `limit=1${query}`);
  expect([status, typeof body.next_cursor]).toEqual([200, 'string']);
  return body.next_cursor;
}

async function expectRefusal(caller: Caller, path: string, cursor: string, query = '') {
  const { status, body } = await read(caller, path, `cursor=${encodeURIComponent(cursor)}${query}`);
  expect([status, body.code, cursor]).toEqual([400, 'invalid_cursor', cursor]);
  expect(body.errors).toEqual([{ path: 'query.cursor', message: expect.any(String) }]);
}

const LISTS: [Caller, string][] = [
  ['operator', '/v1/admin/users'],
  ['account', '/v1/me/tokens'],
  ['account', '/v1/agents'],
  ['account', '/v1/permissions'],
  ['agent', '/v1/permissions'],
  ['account', '/v1/audit'],
  ['account', '/v1/activity'],
  ['account', '/v1/members'],
  ['account', '/v1/policies'],
  ['account', '/v1/webhooks'],
  ['account', '/v1/channels'],
  ['account', '/v1/connections'],
];

/** Lists that these tests leave out, because their rows need a sign-in, a job or a delivery. */
const OTHER_LISTS = [
  ...['/v1/me/sessions', '/v1/me/passkeys', '/v1/audit/export', '/v1/audit/reports/compliance'],
  ...[
    '/v1/webhooks/{id}/deliveries',
    '/v1/channels/{id}/deliveries',
    '/v1/permissions/{id}/notifications',
  ],
];

it('every list of the service is tested here or named as left out', async () => {
  const { body } = await world.call('GET', '/openapi.json');
  const lists = new ApiDocument(body).operations.filter(({ json }) =>
    (json.parameters ?? []).some(({ name }: Json) => name === 'cursor'),
  );
  const known = [...LISTS.map(([, path]) => path), ...OTHER_LISTS];
  expect(new Set(lists.map(({ template }) => template))).toEqual(new Set(known));
});

it.each(LISTS)(
  'the list of the %s for %s reads no row for an ended credential',
  async (_, path) => {
    const { status, cost } = await world.call('GET', path, { token: endedToken });
    // The second trip asks whether its account was moved to another shard.
    expect([status, cost.trips, cost.written]).toEqual([401, 2, 0]);
    // What reads the log counts the rows of its own intermediate results.
    expect(cost.read).toBeLessThan(path === '/v1/audit' || path === '/v1/permissions' ? 10 : 1);
  },
);

describe.each(LISTS)('a cursor of the %s for %s', (caller, path) => {
  it('opens the next page with any limit', async () => {
    const cursor = await cursorOf(caller, path);
    const { body: all } = await read(caller, path, 'limit=3');
    const { body: next } = await read(caller, path, `limit=2&cursor=${cursor}`);
    expect(next.data).toEqual(all.data.slice(1));
    expect((await read(caller, path, `cursor=${cursor}`)).body.data[0]).toEqual(all.data[1]);
  });

  it('takes one round trip, as the first page does', async () => {
    const cursor = await cursorOf(caller, path);
    const pages = [
      await read(caller, path, 'limit=2'),
      await read(caller, path, `cursor=${cursor}`),
    ];
    expect(pages.map(({ status, cost }) => [status, cost.trips])).toEqual([
      [200, 1],
      [200, 1],
    ]);
  });

  it('is refused when any one character is changed', async () => {
    const cursor = await cursorOf(caller, path);
    for (let i = 0; i < cursor.length; i += depth.runs(7, 1)) {
      const other = cursor[i] === 'A' ? 'B' : 'A';
      await expectRefusal(caller, path, cursor.slice(0, i) + other + cursor.slice(i + 1));
    }
  });

  it('is refused when it is shortened, lengthened or made up', async () => {
    const cursor = await cursorOf(caller, path);
    for (let i = 0; i < cursor.length; i += depth.runs(15, 3))
      await expectRefusal(caller, path, cursor.slice(0, i));
    const others = [
      '',
      'x',
      '0',
      '=',
      'null',
      '\0',
      '😀',
      `${cursor}A`,
      `${cursor}=`,
      ` ${cursor}`,
      cursor.repeat(2),
    ];
    for (const other of [...others, 'A'.repeat(5_000)]) await expectRefusal(caller, path, other);
  });

  const others = LISTS.filter(
    ([otherCaller, otherPath]) => otherCaller !== caller || otherPath !== path,
  );
  it.each(depth.cases(others, 4))(
    'is refused from the %s for %s',
    async (otherCaller, otherPath) => {
      await expectRefusal(otherCaller, otherPath, await cursorOf(caller, path));
    },
  );
});

it.each(['/v1/me/tokens', '/v1/agents', '/v1/permissions', '/v1/audit'])(
  'a cursor of another account is refused for %s',
  async (path) => {
    await expectRefusal('stranger', path, await cursorOf('account', path));
    await expectRefusal('account', path, await cursorOf('stranger', path));
  },
);

const FILTERS: [Caller, string, string[]][] = [
  [
    'operator',
    '/v1/admin/users',
    ['&plan=free', '&email=three@example.com', '&plan=free&email=three@example.com'],
  ],
  ['account', '/v1/agents', ['&active=true']],
  [
    'account',
    '/v1/permissions',
    ['&status=pending', '&action=email.send', '&status=pending&action=email.send'],
  ],
  ['agent', '/v1/permissions', ['&status=pending', '&action=email.send']],
  [
    'account',
    '/v1/audit',
    [
      '&event_type=request',
      '&action=email.send',
      '&order=asc',
      '&start_date=2026-01-01',
      '&end_date=2026-12-31',
    ],
  ],
];

it.each(FILTERS)(
  'a cursor of the %s for %s is refused with other filters',
  async (caller, path, filters) => {
    for (const made of ['', ...filters]) {
      const cursor = await cursorOf(caller, path, made);
      expect((await read(caller, path, `cursor=${cursor}${made}`)).status).toBe(200);
      for (const used of ['', ...filters].filter((filter) => filter !== made)) {
        await expectRefusal(caller, path, cursor, used);
      }
    }
  },
);

it('a cursor is accepted with its filters in another order', async () => {
  const cursor = await cursorOf('account', '/v1/audit', '&event_type=request&action=email.send');
  const { status } = await read(
    'account',
    '/v1/audit',
    `action=email.send&cursor=${cursor}&event_type=request`,
  );
  expect(status).toBe(200);
});
