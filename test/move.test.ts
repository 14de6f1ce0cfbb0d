import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { idBytes, parseId } from '../src/lib/typeid';
import { FaultyDatabase } from './support/faults';
import { countRows, emptyTables } from './support/tables';
import { listDeliveries, makeWebhook } from './support/webhooks';
import { type Answer, type Json, type TestAccount, type TestAgent, World } from './support/world';

const operator = env.ADMIN_TOKEN;
const RANGE = { start_date: '2026-01-01', end_date: '2026-12-31' };

beforeEach(async () => {
  for (const database of [env.DB, env.DB_01]) {
    await database.exec('delete from moves');
    await emptyTables(database);
  }
});

/** Asks for a move, as the operator's script does. */
async function order(world: World, account: { id: string }, shard: string, from = env.DB): Promise<void> {
  const id = parseId('user', account.id);
  if (!id) throw new Error('no account');
  await from
    .prepare(`insert into moves (account, id, direction, shard, created_at)
      select number, id, 0, ?, ? from accounts where id = ?`)
    .bind(shard, world.now, idBytes(id))
    .run();
}

async function count(database: D1Database, table: string): Promise<number> {
  return (await database.prepare(`select count(*) as n from ${table}`).first<number>('n')) ?? 0;
}

async function isMoving(): Promise<boolean> {
  return (await count(env.DB, 'moves')) + (await count(env.DB_01, 'moves')) > 0;
}

/** Lets the sweep pass until the account is where it is to be. */
async function settle(world: World): Promise<void> {
  for (let minutes = 0; await isMoving(); minutes++) {
    if (minutes > 10) throw new Error('it takes too long');
    world.advance(60_000);
    await world.sweep();
  }
}

interface Life {
  world: World;
  account: TestAccount;
  agents: TestAgent[];
  tokens: string[];
  webhook: { id: string; host: string };
  download: string;
  unfinished: string;
  further: string;
}

/** An account with something in every table, on the first shard. */
async function makeLife(world: World): Promise<Life> {
  const account = await world.account({ plan: 'pro' });
  const webhook = await makeWebhook(account);
  const agents = [await account.agent({ name: 'First' }), await account.agent({ name: 'Second' })];
  const tokens: string[] = [];
  for (const agent of agents) {
    const { token } = await agent.approved({ max_uses: 3 });
    tokens.push(token.value);
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    await agent.request();
    await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, { grace_period: 86_400 });
  }
  await world.must(201, 'POST', '/v1/agents', repeated(account));
  // Its history waits to be erased until it is sealed.
  const gone = await account.agent();
  await gone.approved();
  await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
  const policy = { name: 'Reports', effect: 'approve', actions: ['report.*'], resources: ['*'] };
  await account.must(201, 'POST', '/v1/policies', policy);
  const further = await account.limitedToken('account:read');
  await world.deliver();
  await world.sweep();
  await world.deliver();
  const { body: finished } = await account.must(202, 'POST', '/v1/audit/export', RANGE);
  await world.work();
  await world.deliver();
  const { body } = await account.must(200, 'GET', `/v1/audit/export/${finished.export_id}`);
  const download = body.download_url.slice(world.env.PUBLIC_URL?.length);
  await world.must(200, 'GET', download);
  await agents[0]?.request();
  const { body: unfinished } = await account.must(202, 'POST', '/v1/audit/export', RANGE);
  return {
    ...{ world, account, agents, tokens, webhook, further },
    download,
    unfinished: unfinished.export_id,
  };
}

function repeated({ token }: TestAccount) {
  return { token, headers: { 'Idempotency-Key': 'made-once' }, body: { name: 'Kept' } };
}

/** Everything that an account can read of itself, but for when it was last active. */
async function readEverything({ account, agents, webhook, world, download }: Life): Promise<Record<string, Json>> {
  const paths = [
    '/v1/me',
    '/v1/me/tokens',
    '/v1/agents',
    '/v1/permissions?limit=100',
    '/v1/policies',
    '/v1/audit?limit=1000&order=asc',
    '/v1/activity?limit=100',
    '/v1/webhooks',
    `/v1/webhooks/${webhook.id}/deliveries?limit=100`,
    '/v1/audit/checkpoint',
    ...agents.flatMap(({ id }) => [`/v1/agents/${id}`, `/v1/agents/${id}/stats?period=7d`]),
  ];
  const read: Record<string, Json> = {};
  for (const path of paths) {
    const { text } = await account.must(200, 'GET', path);
    read[path] = text.replaceAll(/"last_(activity|used)_at":("[^"]*"|null)/g, '');
  }
  for (const { id } of await account.log()) {
    read[id] = (await account.must(200, 'GET', `/v1/audit/${id}`)).text;
  }
  read.file = (await world.must(200, 'GET', download)).text;
  return read;
}

it('moves everything of an account, and changes nothing of what it reads', async () => {
  const world = new World();
  const life = await makeLife(world);
  const { account, agents, tokens } = life;
  const other = await world.account({ email: 'other@example.com' });
  await (await other.agent()).approved();
  const others = await other.log();
  const rowsBefore = await countRows(env.DB);
  Object.assign(world.env, { DB_01: env.DB_01 });
  // Numbers of the other shard are taken already.
  await env.DB_01.batch([
    env.DB_01.prepare(`insert into agents (number, account, id, name, key_prefix, metadata, is_active, created_at, updated_at)
      values (7, 0, x'00', '', '', '{}', 0, 0, 0)`),
    env.DB_01.prepare('delete from agents'),
  ]);
  const { body: page } = await account.must(200, 'GET', '/v1/audit?limit=2&order=asc');
  await world.sweep();
  const before = await readEverything(life);
  await order(world, account, '01');
  const held = await account.call('GET', '/v1/me');
  expect([held.status, held.headers.get('Retry-After')]).toEqual([503, '1']);
  expect((await world.call('GET', life.download)).status).toBe(503);
  expect(
    (await world.call('PATCH', `/v1/admin/users/${account.id}`, { token: operator, body: { name: 'x' } })).status,
  ).toBe(503);
  expect((await other.call('GET', '/v1/me')).status).toBe(200);
  await settle(world);
  expect(await readEverything(life)).toEqual(before);
  const rest = await account.must(200, 'GET', `/v1/audit?limit=2&order=asc&cursor=${page.next_cursor}`);
  expect(rest.body.data[0].sequence).toBe(page.data[1].sequence + 1);
  for (const [i, agent] of agents.entries()) {
    await agent.must(200, 'POST', '/v1/tokens/use', { token: tokens[i] });
    await agent.approved();
  }
  await world.must(200, 'GET', '/v1/me', { token: life.further });
  const again = await world.must(201, 'POST', '/v1/agents', repeated(account));
  expect(again.headers.get('Idempotent-Replayed')).toBe('true');
  expect((await account.limitedToken('account:read')).slice(0, 6)).toBe('csu_01');
  expect((await account.agent()).key.slice(0, 6)).toBe('csa_01');
  // What is left belongs to the other account, and what leads to the new shard.
  const rows = await countRows(env.DB);
  expect(rows).toMatchObject({ accounts: 1, user_tokens: 1, agents: 1, agent_keys: 1, permissions: 1, policies: 0 });
  expect(rows).toMatchObject({ audit_entries: 2, trees: 1, files: 0, webhooks: 0, webhook_feeds: 0, deliveries: 0 });
  expect(rows).toMatchObject({
    moved_accounts: 1,
    moved_credentials: 7,
    erased_entries: 0,
    stored_answers: 0,
    moves: 0,
    move_turns: 0,
  });
  expect(rowsBefore.audit_entries).toBeGreaterThan(2);
  expect(await other.log()).toEqual(others);
});

it('goes on with what was in the making, and with deliveries', async () => {
  const world = new World({ RATE_LIMITS: 'off' });
  const life = await makeLife(world);
  const { account, agents, webhook } = life;
  Object.assign(world.env, { DB_01: env.DB_01 });
  world.internet.on(webhook.host, async () => new Response(null, { status: 500 }));
  await agents[0]?.request();
  await world.deliver();
  const waiting = (await listDeliveries(account, webhook)).filter(({ status }) => status === 'pending');
  expect(waiting.length).toBeGreaterThan(0);
  await order(world, account, '01');
  await world.work();
  await settle(world);
  world.internet.on(webhook.host, async () => new Response(null, { status: 200 }));
  world.advance(600_000);
  await world.sweep();
  await world.work();
  await world.deliver();
  const { body } = await account.must(200, 'GET', `/v1/audit/export/${life.unfinished}`);
  expect(body.status).toBe('completed');
  const { text } = await world.must(200, 'GET', body.download_url.slice(world.env.PUBLIC_URL?.length));
  const sequences = (await account.log()).map(({ sequence }) => sequence);
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
  expect(text.trim().split('\n').length).toBeGreaterThan(3);
  const after = await listDeliveries(account, webhook);
  expect(after.filter(({ status }) => status !== 'succeeded')).toEqual([]);
});

it('refuses what began before and writes after', async () => {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const account = await world.account();
  const agent = await account.agent();
  const permission = await agent.request();
  Object.assign(world.env, { DB_01: env.DB_01 });
  const log = await account.log();
  const attempts: (() => Promise<Answer>)[] = [
    () => account.call('POST', `/v1/permissions/${permission.id}/approve`, {}),
    () => agent.call('POST', '/v1/permissions', { action: 'email.send', resource: 'mailbox:support' }),
    () => account.call('POST', '/v1/agents', { name: 'Late' }),
    () => account.call('POST', '/v1/me/tokens', {}),
    () => account.call('DELETE', `/v1/agents/${agent.id}`),
  ];
  for (const attempt of attempts) {
    database.before(2, () => order(world, account, '01'));
    expect((await attempt()).status).toBe(503);
    await env.DB.exec('delete from moves');
  }
  expect(await account.log()).toEqual(log);
});

it('comes back, and moves again, with every credential that it ever had', async () => {
  const world = new World();
  const life = await makeLife(world);
  const { account } = life;
  Object.assign(world.env, { DB_01: env.DB_01 });
  await world.sweep();
  const before = await readEverything(life);
  await order(world, account, '01');
  await settle(world);
  const agent = await account.agent({ name: 'Made there' });
  const log = await account.log();
  await order(world, account, '00', env.DB_01);
  await settle(world);
  expect(await account.log()).toEqual(log);
  await agent.approved();
  expect(await count(env.DB, 'moved_credentials')).toBe(0);
  expect(await count(env.DB_01, 'accounts')).toBe(0);
  expect((await world.must(200, 'GET', life.download)).text).toBe(before.file);
  // What is deleted and not erased yet is erased where the account is then.
  const deleted = await account.agent();
  await deleted.approved();
  await account.must(204, 'DELETE', `/v1/agents/${deleted.id}`);
  await order(world, account, '01');
  await settle(world);
  for (let minutes = 0; minutes < 3; minutes++) {
    world.advance(60_000);
    await world.sweep();
  }
  await agent.approved();
  expect((await account.log()).length).toBe(log.length + 4);
  expect(await count(env.DB_01, 'audit_entries')).toBe(log.length + 4);
  expect(await count(env.DB_01, 'erased_entries')).toBeGreaterThan(0);
  for (const database of [env.DB, env.DB_01]) expect(await count(database, 'erasures')).toBe(0);
  await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: operator });
  for (const token of [account.token, agent.key]) await world.must(401, 'GET', '/v1/permissions', { token });
  expect(await countRows(env.DB)).toMatchObject({ moved_accounts: 0, moved_credentials: 0 });
});

it.each(['before', 'after'] as const)('goes on wherever it was interrupted (%s)', async (mode) => {
  const first = new FaultyDatabase(env.DB);
  const second = new FaultyDatabase(env.DB_01);
  const world = new World();
  const life = await makeLife(world);
  const { account } = life;
  await world.sweep();
  const log = await account.log();
  const total = log.length;
  const faulty = new World({ DB: first.binding, DB_01: second.binding });
  // Back and forth, with another call failing each time, on either side.
  let failures = 0;
  for (let call = 1; ; call++) {
    faulty.now = world.now;
    const [from, to, database] = call % 2 === 1 ? [env.DB, '01', first] : [env.DB_01, '00', second];
    await order(faulty, account, to, from);
    faulty.advance(60_000);
    const other = database === first ? second : first;
    for (const [side, at] of [
      [database, call],
      [other, call],
    ] as const) {
      first.arm(null);
      second.arm(null);
      side.arm({ call: at, mode });
      await faulty.sweep();
      if (side.calls >= at) failures += 1;
    }
    first.arm(null);
    second.arm(null);
    await settle(faulty);
    world.now = faulty.now;
    const token = account.token;
    const read = await faulty.must(200, 'GET', '/v1/audit?limit=1000&order=asc', { token });
    expect(read.body.data).toEqual(log);
    expect((await count(env.DB, 'audit_entries')) + (await count(env.DB_01, 'audit_entries'))).toBe(total);
    if (call > 24) break;
  }
  expect(failures).toBeGreaterThan(24);
});
