import { env } from 'cloudflare:test';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import '../support/shards';
import { sha256 } from '../../src/lib/bytes';
import { rules } from '../support/access-rules';
import { makeConnection } from '../support/connections';
import { FaultyDatabase } from '../support/faults';
import { checkIntegrity } from '../support/integrity';
import { makeMember } from '../support/members';
import { sealLogs } from '../support/seal';
import { countRows, dumpTables, emptyTables, saveTables } from '../support/tables';
import { type Answer, type Call, TestAccount, TestAgent, World } from '../support/world';

const DAY = 86_400_000;
const CHANNEL = { kind: 'email', name: 'Mail' };
const WEBHOOK = { url: 'https://hooks.example.com/' };
const POLICY = { name: 'Reports', effect: 'approve', actions: ['report.*'], resources: ['*'] };

// All tests share the operator, and so the operator's idempotency keys.
beforeEach(async () => {
  await emptyTables(env.DB);
  await emptyTables(env.DB_01);
});

interface Scene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
  pending: string;
  /** A permission that the agent used, and whose outcome it has promised. */
  used: string;
  /** The value of a token with nine uses. */
  token: string;
  webhook: string;
  delivery: string;
  channel: string;
  message: string;
  /** The id of an invited member. */
  member: string;
}

async function makeScene(world = new World()): Promise<Scene> {
  const account = await world.account({ plan: 'enterprise' });
  const agent = await account.agent();
  const { token } = await agent.approved({ max_uses: 9 });
  const { id } = await agent.request();
  const used = await agent.approved({ reports_outcome: true });
  await agent.must(200, 'POST', '/v1/tokens/use', { token: used.token.value });
  const { body: webhook } = await account.must(201, 'POST', '/v1/webhooks', WEBHOOK);
  const { body: delivery } = await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
  const { body: channel } = await account.must(201, 'POST', '/v1/channels', CHANNEL);
  const { body: message } = await account.must(202, 'POST', `/v1/channels/${channel.id}/test`);
  const { body: member } = await account.must(201, 'POST', '/v1/members', {
    email: 'ada@example.com',
    role: 'auditor',
  });
  const messages = { channel: channel.id, message: message.id };
  const ids = {
    pending: id,
    used: used.id as string,
    webhook: webhook.id,
    delivery: delivery.id,
    ...messages,
    member: member.id,
  };
  return { world, account, agent, token: token.value, ...ids };
}

/** The scene in which every POST is sent, and what restores its rows. */
let original: Scene;
let restore: () => Promise<void>;

beforeAll(async () => {
  original = await makeScene();
  restore = await saveTables(env.DB);
});

/** Restores the original scene, and opens it in another world. */
async function openScene(world = new World()): Promise<Scene> {
  await restore();
  const account = new TestAccount(
    world,
    original.account.id,
    original.account.token,
    original.account.tokenId,
  );
  return {
    ...original,
    world,
    account,
    agent: new TestAgent(account, original.agent.id, original.agent.key),
  };
}

/** Every POST that changes something: its path, credential and body. */
const posts: Record<string, (scene: Scene) => { path: string; call: Call }> = {
  'POST /v1/admin/users': ({ world }) => ({
    path: '/v1/admin/users',
    call: { token: world.env.ADMIN_TOKEN ?? '', body: { email: 'new@example.com' } },
  }),
  'POST /v1/admin/users/:id/tokens': ({ world, account }) => ({
    path: `/v1/admin/users/${account.id}/tokens`,
    call: { token: world.env.ADMIN_TOKEN ?? '', body: { name: 'CI' } },
  }),
  'POST /v1/admin/users/:id/owner': ({ world, account }) => ({
    path: `/v1/admin/users/${account.id}/owner`,
    call: { token: world.env.ADMIN_TOKEN ?? '', body: { email: 'second@example.com' } },
  }),
  'POST /v1/members': ({ account }) => ({
    path: '/v1/members',
    call: { token: account.token, body: { email: 'new@example.com', role: 'approver' } },
  }),
  'POST /v1/members/:id/invitation': ({ account, member }) => ({
    path: `/v1/members/${member}/invitation`,
    call: { token: account.token },
  }),
  'POST /v1/me/tokens': ({ account }) => ({
    path: '/v1/me/tokens',
    call: { token: account.token },
  }),
  'POST /v1/agents': ({ account }) => ({
    path: '/v1/agents',
    call: { token: account.token, body: { name: 'New' } },
  }),
  'POST /v1/agents/:id/rotate-key': ({ account, agent }) => ({
    path: `/v1/agents/${agent.id}/rotate-key`,
    call: { token: account.token },
  }),
  'POST /v1/policies': ({ account }) => ({
    path: '/v1/policies',
    call: { token: account.token, body: POLICY },
  }),
  'POST /v1/audit/export': ({ account }) => ({
    path: '/v1/audit/export',
    call: { token: account.token, body: { start_date: '2026-01-01', end_date: '2026-12-31' } },
  }),
  'POST /v1/audit/reports/compliance': ({ account }) => ({
    path: '/v1/audit/reports/compliance',
    call: {
      token: account.token,
      body: { report_type: 'gdpr', period: { start: '2026-01-01', end: '2026-01-31' } },
    },
  }),
  'POST /v1/connections': ({ account, agent }) => ({
    path: '/v1/connections',
    call: {
      token: account.token,
      body: { name: 'Mail', base_url: 'https://mail.example.com', agent_ids: [agent.id] },
    },
  }),
  'POST /v1/webhooks': ({ account }) => ({
    path: '/v1/webhooks',
    call: { token: account.token, body: WEBHOOK },
  }),
  'POST /v1/webhooks/:id/rotate-secret': ({ account, webhook }) => ({
    path: `/v1/webhooks/${webhook}/rotate-secret`,
    call: { token: account.token },
  }),
  'POST /v1/webhooks/:id/test': ({ account, webhook }) => ({
    path: `/v1/webhooks/${webhook}/test`,
    call: { token: account.token },
  }),
  'POST /v1/webhooks/:id/deliveries/:delivery_id/redeliver': ({ account, webhook, delivery }) => ({
    path: `/v1/webhooks/${webhook}/deliveries/${delivery}/redeliver`,
    call: { token: account.token },
  }),
  'POST /v1/channels': ({ account }) => ({
    path: '/v1/channels',
    call: { token: account.token, body: CHANNEL },
  }),
  'POST /v1/channels/:id/test': ({ account, channel }) => ({
    path: `/v1/channels/${channel}/test`,
    call: { token: account.token },
  }),
  'POST /v1/channels/:id/deliveries/:delivery_id/redeliver': ({ account, channel, message }) => ({
    path: `/v1/channels/${channel}/deliveries/${message}/redeliver`,
    call: { token: account.token },
  }),
  'POST /v1/permissions': ({ agent }) => ({
    path: '/v1/permissions',
    call: {
      token: agent.key,
      body: { action: 'file.read', resource: 'file:a', scope: { '2': 1, '1': [2, 1] } },
    },
  }),
  'POST /v1/permissions/:id/approve': ({ account, pending }) => ({
    path: `/v1/permissions/${pending}/approve`,
    call: { token: account.token, body: { reason: 'Fine' } },
  }),
  'POST /v1/permissions/:id/deny': ({ account, pending }) => ({
    path: `/v1/permissions/${pending}/deny`,
    call: { token: account.token },
  }),
  'POST /v1/permissions/:id/withdraw': ({ agent, pending }) => ({
    path: `/v1/permissions/${pending}/withdraw`,
    call: { token: agent.key },
  }),
  'POST /v1/permissions/:id/outcome': ({ agent, used }) => ({
    path: `/v1/permissions/${used}/outcome`,
    call: { token: agent.key, body: { status: 'succeeded', summary: 'Sent' } },
  }),
  'POST /v1/tokens/use': ({ account, token }) => ({
    path: '/v1/tokens/use',
    call: { token: account.token, body: { token } },
  }),
  'POST /v1/tokens/revoke': ({ agent, token }) => ({
    path: '/v1/tokens/revoke',
    call: {
      token: agent.key,
      raw: `token=${token}`,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    },
  }),
};

/** POSTs that change nothing. */
const harmless: Record<string, (scene: Scene) => Promise<{ path: string; call: Call }>> = {
  'POST /v1/permissions/:id/statement': async ({ account, pending }) => ({
    path: `/v1/permissions/${pending}/statement`,
    call: { token: (await makeMember(account, 'owner')).token, body: { decision: 'approve' } },
  }),
  'POST /v1/connections/:id/test': async ({ account, agent }) => ({
    path: `/v1/connections/${(await makeConnection(account, agent)).id}/test`,
    call: { token: account.token, body: { path: '/' } },
  }),
  'POST /v1/policies/simulate': async ({ account }) => ({
    path: '/v1/policies/simulate',
    call: { token: account.token, body: { action: 'a.b', resource: 'c:d' } },
  }),
  'POST /v1/policies/replay': async ({ account }) => ({
    path: '/v1/policies/replay',
    call: {
      token: account.token,
      body: { policy: { name: 'A', effect: 'approve', actions: ['*'], resources: ['*'] } },
    },
  }),
  'POST /v1/tokens/introspect': async ({ account, token }) => ({
    path: '/v1/tokens/introspect',
    call: { token: account.token, body: { token } },
  }),
};

/** POSTs that ignore the key, because they are idempotent themselves. */
const keyless = ['POST /v1/me/stop', 'POST /v1/me/resume'];

function send(world: World, path: string, call: Call, key: string): Promise<Answer> {
  return world.call('POST', path, {
    ...call,
    headers: { ...call.headers, 'Idempotency-Key': key },
  });
}

const isReplay = ({ headers }: Answer) => headers.get('Idempotent-Replayed') === 'true';
const told = ({ status, text, headers }: Answer) => [
  status,
  text,
  headers.get('Location'),
  headers.get('Content-Type'),
];

/** How many equal requests arrive at the same time. */
const CONCURRENT = depth.runs(6, 20);

it('the tables of this file list every POST of the service that needs a credential', () => {
  const isGuarded = (route: string) => !rules[route]?.includes('everybody');
  const routes = new World().routes.filter(
    (route) => route.startsWith('POST ') && isGuarded(route),
  );
  const listed = [...Object.keys(posts), ...Object.keys(harmless), ...keyless];
  expect(listed.toSorted()).toEqual(routes.toSorted());
});

describe.each(depth.cases(Object.entries(posts), 6))('%s', (_, aim) => {
  it('takes effect once, and replays its answer when it is sent again', async () => {
    const scene = await openScene();
    const { path, call } = aim(scene);
    const first = await send(scene.world, path, call, 'k-1');
    expect([first.status < 300, isReplay(first)]).toEqual([true, false]);
    const state = await dumpTables(env.DB);
    scene.world.advance(DAY - 1);
    const again = await send(scene.world, path, call, 'k-1');
    expect(told(again)).toEqual(told(first));
    expect(isReplay(again)).toBe(true);
    expect(again.headers.get('X-Request-Id')).not.toBe(first.headers.get('X-Request-Id'));
    expect(await dumpTables(env.DB)).toEqual(state);
    expect(first.cost.trips).toBeLessThanOrEqual(2);
    expect(again.cost.trips).toBe(1);
  });

  it('takes effect once, and gives equal answers to many concurrent requests', async () => {
    const scene = await openScene();
    const { path, call } = aim(scene);
    const before = await countRows(env.DB);
    const answers = await Promise.all(
      Array.from({ length: CONCURRENT }, () => send(scene.world, path, call, 'k-1')),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(told(answer)))).size).toBe(1);
    expect(answers[0]?.status).toBeLessThan(300);
    expect(answers.filter(isReplay)).toHaveLength(CONCURRENT - 1);
    const after = await countRows(env.DB);
    expect(after.stored_answers).toBe((before.stored_answers ?? 0) + 1);
    expect((after.audit_entries ?? 0) - (before.audit_entries ?? 0)).toBeLessThanOrEqual(1);
    expect((after.activity ?? 0) - (before.activity ?? 0)).toBeLessThanOrEqual(1);
    expect(await checkIntegrity(env.DB)).toEqual([]);
  });

  it('takes effect once when another attempt commits between its read and its write', async () => {
    const database = new FaultyDatabase(env.DB);
    const scene = await openScene(new World({ DB: database.binding }));
    const rival = new World();
    rival.now = scene.world.now;
    const { path, call } = aim(scene);
    let first: Answer | undefined;
    database.before(2, async () => {
      first = await send(rival, path, call, 'k-1');
    });
    const second = await send(scene.world, path, call, 'k-1');
    expect(told(second)).toEqual(first && told(first));
    expect([isReplay(second), second.cost.trips]).toEqual([true, 3]);
  });

  it('replays an answer that was lost after the commit', async () => {
    const database = new FaultyDatabase(env.DB);
    const scene = await openScene(new World({ DB: database.binding }));
    const { path, call } = aim(scene);
    database.arm({ call: 2, mode: 'after' });
    const lost = await send(scene.world, path, call, 'k-1');
    expect(lost.status).toBe(503);
    database.arm(null);
    const state = await dumpTables(env.DB);
    const answers = await Promise.all(
      Array.from({ length: CONCURRENT }, () => send(scene.world, path, call, 'k-1')),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(told(answer)))).size).toBe(1);
    expect([answers[0]?.status && answers[0].status < 300, answers.every(isReplay)]).toEqual([
      true,
      true,
    ]);
    expect(await dumpTables(env.DB)).toEqual(state);
  });

  it('takes effect when the first attempt failed before its commit', async () => {
    const database = new FaultyDatabase(env.DB);
    const scene = await openScene(new World({ DB: database.binding }));
    const { path, call } = aim(scene);
    database.arm({ call: 2, mode: 'before' });
    expect((await send(scene.world, path, call, 'k-1')).status).toBe(503);
    database.arm(null);
    const answer = await send(scene.world, path, call, 'k-1');
    expect([answer.status < 300, isReplay(answer)]).toEqual([true, false]);
  });

  it('refuses the key for another body, query or path, and changes nothing', async () => {
    const scene = await openScene();
    const { path, call } = aim(scene);
    await send(scene.world, path, call, 'k-1');
    const state = await dumpTables(env.DB);
    const another: Call = {
      ...call,
      raw: '{"reason":"another"}',
      headers: { 'Content-Type': 'application/json' },
    };
    const others: [string, Call][] = [
      [path, another],
      [`${path}?x=1`, call],
    ];
    if (!path.startsWith('/v1/admin')) others.push(['/v1/tokens/introspect', call]);
    for (const [otherPath, otherCall] of others) {
      const answer = await send(scene.world, otherPath, otherCall, 'k-1');
      expect([answer.status, answer.body.code]).toEqual([422, 'idempotency_key_reuse']);
      expect(answer.body.errors[0].path).toBe('header.Idempotency-Key');
      expect(isReplay(answer)).toBe(false);
    }
    expect(await dumpTables(env.DB)).toEqual(state);
  });
});

it.each(depth.cases(Object.entries(harmless), 2))(
  '%s does not use up its key, and refuses a key that was used elsewhere',
  async (_, aim) => {
    const scene = await makeScene();
    const { world } = scene;
    const { path, call } = await aim(scene);
    for (let i = 0; i < 2; i++) {
      const answer = await send(world, path, call, 'k-1');
      expect([answer.status, isReplay(answer)]).toEqual([200, false]);
    }
    expect((await countRows(env.DB)).stored_answers).toBe(0);
    expect((await send(world, '/v1/agents', { ...call, body: { name: 'A' } }, 'k-1')).status).toBe(
      201,
    );
    expect((await send(world, path, call, 'k-1')).body.code).toBe('idempotency_key_reuse');
  },
);

it('a refused request does not use up its key', async () => {
  const { world, account, agent, pending, token } = await makeScene();
  const { id: open } = await agent.request();
  const operator = world.env.ADMIN_TOKEN ?? '';
  const refused: [number, string, Call][] = [
    [400, '/v1/agents', { token: account.token, body: { name: '' } }],
    [
      400,
      '/v1/agents',
      { token: account.token, raw: '{', headers: { 'Content-Type': 'application/json' } },
    ],
    [
      415,
      '/v1/agents',
      { token: account.token, raw: 'x', headers: { 'Content-Type': 'text/plain' } },
    ],
    [413, '/v1/agents', { token: account.token, body: { name: 'x'.repeat(2 ** 20) } }],
    [403, '/v1/agents', { token: await account.limitedToken('agents:read'), body: { name: 'x' } }],
    [403, '/v1/agents', { token: agent.key, body: { name: 'x' } }],
    [404, '/v1/agents/agent_x/rotate-key', { token: account.token }],
    [404, '/v1/permissions/perm_x/approve', { token: account.token }],
    [400, `/v1/permissions/${open}/approve`, { token: account.token, body: { max_uses: 2 } }],
    [409, '/v1/tokens/use', { token: account.token, body: { token, action: 'other.action' } }],
    [200, '/v1/tokens/revoke', { token: account.token, body: { token: 'nobody’s' } }],
    [
      403,
      '/v1/admin/users',
      { token: operator, body: { email: 'a@example.com', audit_retention_days: 3 } },
    ],
    [404, '/v1/admin/users/user_x/tokens', { token: operator }],
  ];
  for (const [status, path, call] of refused) {
    const answer = await send(world, path, call, 'k-1');
    expect([path, answer.status, isReplay(answer)]).toEqual([path, status, false]);
  }
  await account.must(200, 'POST', `/v1/permissions/${pending}/deny`);
  const late = await send(
    world,
    `/v1/permissions/${pending}/approve`,
    { token: account.token },
    'k-1',
  );
  expect([late.status, late.body.code]).toEqual([409, 'not_pending']);
  expect((await countRows(env.DB)).stored_answers).toBe(0);
  expect(
    (await send(world, `/v1/permissions/${open}/approve`, { token: account.token }, 'k-1')).status,
  ).toBe(200);
});

it('a used key is refused before an invalid body is', async () => {
  const { world, account } = await makeScene();
  await send(world, '/v1/agents', { token: account.token, body: { name: 'A' } }, 'k-1');
  for (const body of [{ name: '' }, { nmae: 'A' }, { name: 'A', metadata: [] }]) {
    expect((await send(world, '/v1/agents', { token: account.token, body }, 'k-1')).body.code).toBe(
      'idempotency_key_reuse',
    );
  }
});

it.each(['', ' ', 'a b', 'é', 'x'.repeat(256)])('the malformed key %j is refused', async (key) => {
  const { world, account } = await makeScene();
  const state = await countRows(env.DB);
  const headers = { 'Idempotency-Key': key };
  const answer = await world.call('POST', '/v1/agents', {
    token: account.token,
    body: { name: 'A' },
    headers,
  });
  expect([answer.status, answer.body.code, answer.body.errors]).toEqual([
    400,
    'invalid_request',
    [{ path: 'header.Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }],
  ]);
  expect(await countRows(env.DB)).toEqual(state);
});

it.each(['!', '~', 'x'.repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"'])(
  'the key %j is accepted',
  async (key) => {
    const { world, account } = await makeScene();
    const call = { token: account.token, body: { name: 'A' } };
    const first = await send(world, '/v1/agents', call, key);
    expect((await send(world, '/v1/agents', call, key)).text).toBe(first.text);
  },
);

it('two user tokens or two agents can use the same key independently', async () => {
  const { world, account, agent } = await makeScene();
  const other = await account.agent();
  const body = { action: 'file.read', resource: 'file:a' };
  const asked = [];
  for (const token of [agent.key, other.key])
    asked.push(await send(world, '/v1/permissions', { token, body }, 'k-1'));
  const made = [];
  for (const token of [account.token, await account.limitedToken('agents:write')]) {
    made.push(await send(world, '/v1/agents', { token, body: { name: 'A' } }, 'k-1'));
  }
  const answers = [...asked, ...made];
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(4);
});

it('an answer is replayed to the same agent after its API key is rotated', async () => {
  const { world, account, agent } = await makeScene();
  const body = { action: 'file.read', resource: 'file:a' };
  const first = await send(world, '/v1/permissions', { token: agent.key, body }, 'k-1');
  const { body: rotated } = await account.must(
    200,
    'POST',
    `/v1/agents/${agent.id}/rotate-key`,
    {},
  );
  const again = await send(world, '/v1/permissions', { token: rotated.api_key, body }, 'k-1');
  expect([again.text, isReplay(again)]).toEqual([first.text, true]);
});

it('a key is valid for exactly 24 hours, with or without a sweep', async () => {
  const { world, account } = await makeScene();
  const call = { token: account.token, body: { name: 'A' } };
  const first = await send(world, '/v1/agents', call, 'k-1');
  world.advance(DAY - 1);
  await world.sweep();
  expect((await send(world, '/v1/agents', call, 'k-1')).text).toBe(first.text);
  world.advance(1);
  const second = await send(world, '/v1/agents', call, 'k-1');
  expect([second.status, isReplay(second)]).toEqual([201, false]);
  expect(second.body.id).not.toBe(first.body.id);
  expect((await send(world, '/v1/agents', call, 'k-1')).text).toBe(second.text);
  world.advance(DAY);
  await world.sweep();
  expect((await countRows(env.DB)).stored_answers).toBe(0);
});

it.each(['used', 'new', ' ', 'a b'])('PUT, GET and DELETE ignore the key %j', async (key) => {
  const { world, account } = await makeScene();
  const { body: agent } = await send(
    world,
    '/v1/agents',
    { token: account.token, body: { name: 'A' } },
    'used',
  );
  const headers = { 'Idempotency-Key': key };
  const path = `/v1/agents/${agent.id}`;
  for (const name of ['B', 'C', 'B']) {
    const { body } = await world.must(200, 'PUT', path, {
      token: account.token,
      headers,
      body: { name },
    });
    expect(body.name).toBe(name);
  }
  await world.must(200, 'GET', path, { token: account.token, headers });
  await world.must(204, 'DELETE', path, { token: account.token, headers });
  await world.must(404, 'DELETE', path, { token: account.token, headers });
});

it('stored answers contain no plain text of the answer, the body or the key', async () => {
  const { world, account } = await makeScene();
  const answer = await send(
    world,
    '/v1/agents',
    { token: account.token, body: { name: 'Cassowary' } },
    'the-client-key',
  );
  const { results } = await env.DB.prepare('select * from stored_answers').all();
  const text =
    JSON.stringify(results) + JSON.stringify(results.map((row) => Object.values(row).map(asText)));
  for (const secret of [answer.body.api_key, 'Cassowary', 'the-client-key', 'api_key'])
    expect(text).not.toContain(secret);
});

function asText(value: unknown): unknown {
  return Array.isArray(value) ? String.fromCharCode(...value) : value;
}

it('a stored answer cannot be decrypted in the row of another key', async () => {
  const { world, account } = await makeScene();
  const call = { token: account.token, body: { name: 'A' } };
  await send(world, '/v1/agents', call, 'k-1');
  await send(world, '/v1/agents', call, 'k-2');
  const [one, two] = (await env.DB.prepare('select key, answer from stored_answers').all()).results;
  await env.DB.prepare('update stored_answers set answer = ? where key = ?')
    .bind(one?.answer, two?.key)
    .run();
  const answers = [
    await send(world, '/v1/agents', call, 'k-1'),
    await send(world, '/v1/agents', call, 'k-2'),
  ];
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 500]);
});

it('answers are replayed after the root secret is rotated', async () => {
  const { world, account } = await makeScene();
  const call = { token: account.token, body: { name: 'A' } };
  const first = await send(world, '/v1/agents', call, 'k-1');
  const newer = btoa('another thirty-two bytes, secret');
  const renewed = new World({ ROOT_SECRET: `${newer},${env.ROOT_SECRET}` });
  const again = await send(renewed, '/v1/agents', call, 'k-1');
  expect([again.text, isReplay(again)]).toEqual([first.text, true]);
});

it('a replayed use has the counts of its first answer after later uses', async () => {
  const { world, account, token } = await makeScene();
  const call = { token: account.token, body: { token } };
  const keys = ['a', 'b', 'c', 'd', 'e'];
  const answers = await Promise.all(keys.map((key) => send(world, '/v1/tokens/use', call, key)));
  expect(answers.map(({ body }) => body.uses).toSorted()).toEqual([1, 2, 3, 4, 5]);
  expect(answers.map(({ body }) => body.uses + body.remaining_uses)).toEqual([9, 9, 9, 9, 9]);
  for (const [i, key] of keys.entries()) {
    expect((await send(world, '/v1/tokens/use', call, key)).text).toBe(answers[i]?.text);
  }
});

describe('stored answers about a deleted agent', () => {
  it('are not replayed after the deletion, and are erased by the sweep', async () => {
    const { world, account, pending, token } = await makeScene();
    const made = await send(
      world,
      '/v1/agents',
      { token: account.token, body: { name: 'A' } },
      'k-1',
    );
    const agent = made.body.id;
    const own = await send(
      world,
      '/v1/permissions',
      { token: made.body.api_key, body: { action: 'file.read', resource: 'file:a' } },
      'k-1',
    );
    const approve = `/v1/permissions/${own.body.id}/approve`;
    const rotate = `/v1/agents/${agent}/rotate-key`;
    await send(world, approve, { token: account.token }, 'k-2');
    await send(world, rotate, { token: account.token }, 'k-3');
    await send(world, `/v1/permissions/${pending}/approve`, { token: account.token }, 'k-4');
    await send(world, '/v1/policies', { token: account.token, body: POLICY }, 'k-5');
    const use = await send(
      world,
      '/v1/tokens/use',
      { token: account.token, body: { token } },
      'k-6',
    );
    await account.must(204, 'DELETE', `/v1/agents/${agent}`);
    expect((await send(world, approve, { token: account.token }, 'k-2')).status).toBe(404);
    expect((await send(world, rotate, { token: account.token }, 'k-3')).status).toBe(404);
    const anew = await send(
      world,
      '/v1/agents',
      { token: account.token, body: { name: 'A' } },
      'k-1',
    );
    expect([anew.status, isReplay(anew)]).toEqual([201, false]);
    expect((await countRows(env.DB)).stored_answers).toBe(7);
    await world.sweep();
    expect((await countRows(env.DB)).stored_answers).toBe(4);
    expect(
      (await send(world, '/v1/tokens/use', { token: account.token, body: { token } }, 'k-6')).text,
    ).toBe(use.text);
  });

  it('are not replayed for a use or a revocation', async () => {
    const { world, account, agent, token } = await makeScene();
    const call = { token: account.token, body: { token } };
    await send(world, '/v1/tokens/use', call, 'k-1');
    await send(world, '/v1/tokens/revoke', call, 'k-2');
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    const use = await send(world, '/v1/tokens/use', call, 'k-1');
    expect([use.status, use.body.reason]).toEqual([409, 'unknown']);
    expect(isReplay(await send(world, '/v1/tokens/revoke', call, 'k-2'))).toBe(false);
    await world.sweep();
    expect((await countRows(env.DB)).stored_answers).toBe(0);
  });

  it('are all erased when there are more than one slice holds', async () => {
    const { world, account, agent } = await makeScene();
    await send(world, `/v1/agents/${agent.id}/rotate-key`, { token: account.token }, 'k-1');
    await multiplyAnswers(350);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    await sealLogs(env.DB);
    await world.sweep();
    const rows = await countRows(env.DB);
    expect([rows.stored_answers, rows.erasures]).toEqual([0, 0]);
  });
});

it('an agent that is switched off gets no stored answer', async () => {
  const { world, account, agent } = await makeScene();
  const call = { token: agent.key, body: { action: 'file.read', resource: 'file:a' } };
  await send(world, '/v1/permissions', call, 'k-1');
  await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: false });
  expect((await send(world, '/v1/permissions', call, 'k-1')).body.code).toBe('agent_inactive');
});

describe('a caller who may not call', () => {
  it('is refused with 401 or 403, whatever the key', async () => {
    const { world, account } = await makeScene();
    const token = await account.limitedToken('agents:write');
    await send(world, '/v1/agents', { token, body: { name: 'A' } }, 'k-1');
    for (const key of ['k-1', ' ']) {
      const lacking = await send(world, '/v1/policies', { token, body: POLICY }, key);
      expect([lacking.status, lacking.body.code]).toEqual([403, 'insufficient_scope']);
      for (const path of ['/v1/policies', '/v1/admin/users', '/v1/tokens/revoke']) {
        const unknown = await send(world, path, { token: 'guess', body: {} }, key);
        expect([unknown.status, unknown.body.code]).toEqual([401, 'unauthorized']);
      }
    }
  });

  it('does not get the answer that a concurrent attempt got before the agent was switched off', async () => {
    const database = new FaultyDatabase(env.DB);
    const scene = await makeScene(new World({ DB: database.binding }));
    const { world, account, agent } = scene;
    const rival = new World();
    rival.now = world.now;
    const call = { token: agent.key, body: { action: 'file.read', resource: 'file:a' } };
    database.before(2, async () => {
      expect((await send(rival, '/v1/permissions', call, 'k-1')).status).toBe(201);
      const off = { token: account.token, body: { is_active: false } };
      await rival.must(200, 'PUT', `/v1/agents/${agent.id}`, off);
    });
    const second = await send(world, '/v1/permissions', call, 'k-1');
    expect([second.status, second.body.code]).toEqual([403, 'agent_inactive']);
  });
});

describe('a request that loses a race for its key', () => {
  it('is answered 503 if the stored answer of the other request was erased meanwhile', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const rival = new World();
    const account = await world.account();
    const call = { token: account.token, body: { name: 'A' } };
    database.before(2, async () => {
      const { body } = await send(rival, '/v1/agents', call, 'k-1');
      database.before(1, () =>
        rival.must(204, 'DELETE', `/v1/agents/${body.id}`, { token: account.token }),
      );
    });
    const late = await send(world, '/v1/agents', call, 'k-1');
    expect([late.status, late.body.code]).toEqual([503, 'unavailable']);
  });

  it('is answered 422 if the other request had another body', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const account = await world.account();
    const { token } = account;
    database.before(2, () =>
      send(new World(), '/v1/agents', { token, body: { name: 'A' } }, 'k-1'),
    );
    const late = await send(world, '/v1/agents', { token, body: { name: 'B' } }, 'k-1');
    expect([late.status, late.body.code]).toEqual([422, 'idempotency_key_reuse']);
    expect((await account.must(200, 'GET', '/v1/agents')).body.data).toHaveLength(1);
  });
});

it('each stored answer has a nonce of its own', async () => {
  const { world, account } = await makeScene();
  const nonce = async () => {
    await send(world, '/v1/policies', { token: account.token, body: POLICY }, 'k-1');
    return env.DB.prepare('select hex(substr(answer, 1, 12)) as nonce from stored_answers').first(
      'nonce',
    );
  };
  const first = await nonce();
  world.advance(DAY);
  expect(await nonce()).not.toBe(first);
});

/** Stores `times` copies of each stored answer under other keys. */
async function multiplyAnswers(times: number): Promise<void> {
  await env.DB.prepare(
    `insert into stored_answers select randomblob(16), randomblob(32), request, answer, computed, subject, created_at
     from stored_answers,
       (with recursive n(i) as (select 1 union all select i + 1 from n where i < ?) select * from n)`,
  )
    .bind(times)
    .run();
}

it('the sweep deletes all expired answers when there are more than one slice holds', async () => {
  const { world, account } = await makeScene();
  await send(world, '/v1/policies', { token: account.token, body: POLICY }, 'k-1');
  await multiplyAnswers(450);
  world.advance(DAY);
  await world.sweep();
  expect((await countRows(env.DB)).stored_answers).toBe(0);
});

it('answers of a deleted account are not replayed, and are erased by the sweep', async () => {
  const world = new World();
  const before = await countRows(env.DB);
  const token = env.ADMIN_TOKEN;
  const call = { token, body: { email: 'new@example.com' } };
  const made = await send(world, '/v1/admin/users', call, 'k-1');
  await send(world, '/v1/policies', { token: made.body.token.token, body: POLICY }, 'k-2');
  await multiplyAnswers(150);
  await world.must(202, 'DELETE', `/v1/admin/users/${made.body.id}`, { token });
  const anew = await send(world, '/v1/admin/users', call, 'k-1');
  expect([anew.status, isReplay(anew), anew.body.id === made.body.id]).toEqual([201, false, false]);
  await world.must(202, 'DELETE', `/v1/admin/users/${anew.body.id}`, { token });
  await world.sweep();
  world.advance(20 * 60_000);
  await world.sweep();
  expect(await countRows(env.DB)).toEqual(before);
});

describe('with two shards', () => {
  /** Two idempotency keys, each of which creates the operator's account on another shard. */
  async function keysOfShards(): Promise<string[]> {
    const keys: string[] = [];
    for (let i = 0; keys.filter(Boolean).length < 2; i++) {
      const [first = 0] = await sha256(`k-${i}`);
      keys[first % 2] ??= `k-${i}`;
    }
    return keys;
  }

  it('an account is created once, even if its shard fills up between the attempts', async () => {
    const world = new World({ DB_01: env.DB_01 });
    const call = { token: env.ADMIN_TOKEN, body: { email: 'new@example.com' } };
    for (const [shard, key] of (await keysOfShards()).entries()) {
      const database = shard === 0 ? env.DB : env.DB_01;
      const first = await send(world, '/v1/admin/users', call, key);
      expect(first.body.token.token.slice(0, 6)).toBe(`csu_0${shard}`);
      await database.prepare('create table _ballast as select randomblob(4000000) as bytes').run();
      const again = await send(world, '/v1/admin/users', call, key);
      expect([again.text, isReplay(again), again.cost.trips]).toEqual([first.text, true, 2]);
      const tokens = `/v1/admin/users/${first.body.id}/tokens`;
      const made = await send(world, tokens, { token: call.token }, `${key}-token`);
      expect((await send(world, tokens, { token: call.token }, `${key}-token`)).text).toBe(
        made.text,
      );
      await database.prepare('drop table _ballast').run();
    }
  });

  it('an account is created once when two attempts race', async () => {
    for (const [shard, key] of (await keysOfShards()).entries()) {
      const database = new FaultyDatabase(shard === 0 ? env.DB : env.DB_01);
      const world = new World({
        DB_01: env.DB_01,
        [shard === 0 ? 'DB' : 'DB_01']: database.binding,
      });
      const call = { token: env.ADMIN_TOKEN, body: { email: 'new@example.com' } };
      let first: Answer | undefined;
      database.before(2, async () => {
        first = await send(new World({ DB_01: env.DB_01 }), '/v1/admin/users', call, key);
      });
      const second = await send(world, '/v1/admin/users', call, key);
      expect([second.text, isReplay(second)]).toEqual([first?.text, true]);
    }
  });
});
