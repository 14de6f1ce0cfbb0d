import { env } from 'cloudflare:test';
import { beforeEach, expect, it, vi } from 'vitest';
import { Mover } from '../../src/accounts/move/mover';
import type { MoverShard } from '../../src/accounts/move/shard';
import { Cost, Database } from '../../src/db/database';
import { depth } from '../support/depth';
import { FaultyDatabase } from '../support/faults';
import { makeLife, readEverything, repeated } from '../support/life';
import {
  dumpAccount,
  findRemains,
  isMoving,
  orderHeldMove,
  orderMove,
  settleMoves,
} from '../support/moves';
import { deliver } from '../support/queue';
import { DATABASES } from '../support/shards';
import { countRows, emptyTables, saveTables } from '../support/tables';
import { listDeliveries } from '../support/webhooks';
import { type Answer, World } from '../support/world';

const operator = env.ADMIN_TOKEN;

beforeEach(clear);

async function clear(): Promise<void> {
  for (const database of Object.values(DATABASES)) {
    await database.exec('delete from moves');
    await emptyTables(database);
  }
}

function openDatabase(name: string): Database {
  return new Database(DATABASES[name] as D1Database, new Cost());
}

/** A shard whose batches each take `duration` milliseconds according to their D1 metadata. */
function openTimed(name: string, duration: number): MoverShard {
  const client = DATABASES[name] as D1Database;
  const timed = {
    prepare: client.prepare.bind(client),
    batch: async (statements: D1PreparedStatement[]) => {
      const results = await client.batch(statements);
      return results.map((result, i) => ({
        ...result,
        meta: { ...result.meta, duration: i === 0 ? duration : 0 },
      }));
    },
  };
  return { name, database: new Database(timed as unknown as D1Database, new Cost()) };
}

async function count(database: D1Database, table: string): Promise<number> {
  return (await countRows(database))[table] ?? 0;
}

it('a move takes all data of an account to the other shard, and the account reads the same as before', async () => {
  const world = new World();
  const life = await makeLife(world);
  const { account, agents, tokens } = life;
  const other = await world.account({ email: 'other@example.com' });
  await (await other.agent()).approved();
  const others = await other.log();
  const rowsBefore = await countRows(env.DB);
  Object.assign(world.env, { DB_01: env.DB_01 });
  // The other shard has already used some numbers.
  await env.DB_01.batch([
    env.DB_01.prepare(`insert into agents (number, account, id, name, key_prefix, metadata, is_active, created_at, updated_at)
      values (7, 0, x'00', '', '', '{}', 0, 0, 0)`),
    env.DB_01.prepare('delete from agents'),
  ]);
  const { body: page } = await account.must(200, 'GET', '/v1/audit?limit=2&order=asc');
  await world.sweep();
  const before = await readEverything(life);
  await orderMove(world, account.id, '01');
  await account.must(200, 'GET', '/v1/me');
  // A worker still writes to a file: everything else is copied, and the account is held.
  await env.DB.prepare(`update files set lease = x'01', due_at = ? where status = 0`)
    .bind(world.now + 25_000)
    .run();
  await world.sweep();
  // It can be read, and not changed.
  await account.must(200, 'GET', '/v1/me');
  const held = await account.call('POST', '/v1/agents', { name: 'Late' });
  expect([held.status, held.headers.get('Retry-After')]).toEqual([503, '1']);
  expect(
    (
      await world.call('PATCH', `/v1/admin/users/${account.id}`, {
        token: operator,
        body: { name: 'x' },
      })
    ).status,
  ).toBe(503);
  expect((await other.call('GET', '/v1/me')).status).toBe(200);
  await settleMoves(world);
  expect(await readEverything(life)).toEqual(before);
  const rest = await account.must(
    200,
    'GET',
    `/v1/audit?limit=2&order=asc&cursor=${page.next_cursor}`,
  );
  expect(rest.body.data[0].sequence).toBe(page.data[1].sequence + 1);
  for (const [i, agent] of agents.entries()) {
    await agent.must(200, 'POST', '/v1/tokens/use', { token: tokens[i] });
    await agent.approved();
  }
  await world.must(200, 'GET', '/v1/me', { token: life.further });
  expect(
    (await world.must(200, 'GET', '/v1/me', { token: life.member.token })).body.member.id,
  ).toBe(life.member.id);
  const again = await world.must(201, 'POST', '/v1/agents', repeated(account));
  expect(again.headers.get('Idempotent-Replayed')).toBe('true');
  expect((await account.limitedToken('account:read')).slice(0, 6)).toBe('csu_01');
  expect((await account.agent()).key.slice(0, 6)).toBe('csa_01');
  // The first shard keeps only the other account and the rows that redirect to the new shard.
  const rows = await countRows(env.DB);
  expect(rows).toMatchObject({
    accounts: 1,
    user_tokens: 1,
    agents: 1,
    agent_keys: 1,
    permissions: 1,
    policies: 0,
  });
  expect(rows).toMatchObject({
    audit_entries: 2,
    trees: 1,
    files: 0,
    receivers: 0,
    event_feeds: 0,
    deliveries: 0,
  });
  expect(rows).toMatchObject({
    moved_accounts: 1,
    moved_credentials: 10,
    erased_entries: 0,
    stored_answers: 0,
    moves: 0,
  });
  expect(rowsBefore.audit_entries).toBeGreaterThan(2);
  expect(await other.log()).toEqual(others);
});

it.runIf(depth.isDeep)(
  'an unfinished export and pending deliveries are completed after a move',
  async () => {
    const world = new World({ RATE_LIMITS: 'off' });
    const life = await makeLife(world);
    const { account, agents, webhook } = life;
    Object.assign(world.env, { DB_01: env.DB_01 });
    world.internet.on(webhook.host, async () => new Response(null, { status: 500 }));
    await agents[0]?.request();
    await world.deliver();
    const waiting = (await listDeliveries(account, webhook)).filter(
      ({ status }) => status === 'pending',
    );
    expect(waiting.length).toBeGreaterThan(0);
    await orderMove(world, account.id, '01');
    await world.work();
    await settleMoves(world);
    world.internet.on(webhook.host, async () => new Response(null, { status: 200 }));
    world.advance(600_000);
    await world.sweep();
    await world.work();
    await world.deliver();
    const { body } = await account.must(200, 'GET', `/v1/audit/export/${life.unfinished}`);
    expect(body.status).toBe('completed');
    const { text } = await world.must(
      200,
      'GET',
      body.download_url.slice(world.env.PUBLIC_URL?.length),
    );
    const sequences = (await account.log()).map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    expect(text.trim().split('\n').length).toBeGreaterThan(3);
    const after = await listDeliveries(account, webhook);
    expect(after.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  },
);

it.runIf(depth.isDeep)(
  'a move waits for the workers of unfinished files, which then restart on the other shard with their proofs',
  async () => {
    const world = new World({ RATE_LIMITS: 'off' });
    const life = await makeLife(world);
    const { account, agents } = life;
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
      token: operator,
      body: { plan: 'enterprise' },
    });
    Object.assign(world.env, { DB_01: env.DB_01 });
    await world.work();
    const range = { start_date: '2026-01-01', end_date: '2026-12-31' };
    const period = { start: '2026-01-01', end: '2026-01-31' };
    const orders = [
      await account.must(202, 'POST', '/v1/audit/export', {
        ...range,
        format: 'parquet',
        include_details: true,
      }),
      await account.must(202, 'POST', '/v1/audit/export', { ...range, include_details: true }),
      await account.must(202, 'POST', '/v1/audit/reports/compliance', {
        report_type: 'soc2_type2',
        period,
        format: 'json',
      }),
    ].map(({ body }) => body);
    const [first, ...others] = world.queue.take();
    // The first export has reached its proof, the second has begun, and a worker holds the report.
    const sizes = { part: 5 * 2 ** 20, sliceRows: 2, sliceBytes: 2 ** 20, slices: 1, batchRows: 2 };
    for (let n = 0; n < 12; n++) if (first) await deliver([first], world.env, world.runtime, sizes);
    for (const body of others) await deliver([body], world.env, world.runtime, sizes);
    await env.DB.prepare(`update files set lease = x'01', due_at = ? where status = 0 and kind = 1`)
      .bind(world.now + 25_000)
      .run();
    const before = (await account.log()).length;
    await orderMove(world, account.id, '01');
    await world.sweep();
    expect(await isMoving()).toBe(true);
    await account.must(503, 'POST', '/v1/agents', { name: 'Late' });
    await settleMoves(world);
    await agents[0]?.approved();
    for (let n = 0; n < 3; n++) {
      world.advance(60_000);
      await world.sweep();
      await world.work(sizes);
    }
    const [parquet, json, report] = orders;
    for (const { export_id } of [parquet, json]) {
      const { body } = await account.must(200, 'GET', `/v1/audit/export/${export_id}`);
      expect(body).toMatchObject({ status: 'completed', row_count: before });
      const path = (url: string) => url.slice(world.env.PUBLIC_URL?.length);
      const { body: proof } = await world.must(200, 'GET', path(body.proof_url));
      expect(proof).toMatchObject({ sha256: body.sha256, row_count: before });
      expect(proof.tree.at(-1).at(0)).toBeLessThanOrEqual(proof.checkpoint.tree_size);
      await world.must(200, 'GET', path(body.download_url));
    }
    const path = `/v1/audit/reports/compliance/${report.report_id}`;
    expect((await account.must(200, 'GET', path)).body.status).toBe('completed');
  },
);

it('a request that began before the account is held is refused when it writes', async () => {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const account = await world.account();
  const agent = await account.agent();
  const permission = await agent.request();
  Object.assign(world.env, { DB_01: env.DB_01 });
  const log = await account.log();
  const attempts: (() => Promise<Answer>)[] = [
    () => account.call('POST', `/v1/permissions/${permission.id}/approve`, {}),
    () =>
      agent.call('POST', '/v1/permissions', { action: 'email.send', resource: 'mailbox:support' }),
    () => account.call('POST', '/v1/agents', { name: 'Late' }),
    () => account.call('POST', '/v1/me/tokens', {}),
    () => account.call('DELETE', `/v1/agents/${agent.id}`),
  ];
  for (const attempt of attempts) {
    database.before(2, () => orderHeldMove(world, account.id, '01'));
    expect((await attempt()).status).toBe(503);
    await env.DB.exec('delete from moves');
  }
  expect(await account.log()).toEqual(log);
});

it('nothing of an account changes while it is held, whatever the service has to do, and reads go on', async () => {
  // With one shard the cron tasks do not see that the account moves, as if they had begun before.
  const world = new World({ RATE_LIMITS: 'off' });
  const life = await makeLife(world);
  const { account, agents, webhook } = life;
  const other = await world.account({ email: 'other@example.com' });
  const neighbour = await other.agent();
  const request = await agents[0]?.request({ expires_in: 60 });
  const gone = await account.agent();
  await gone.approved();
  await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
  let received = 0;
  world.internet.on(webhook.host, async () => {
    received += 1;
    return new Response(null, { status: 200 });
  });
  await orderHeldMove(world, account.id, '01');
  const before = await dumpAccount(env.DB, account.id);
  for (let hours = 0; hours < 3; hours++) {
    world.advance(3_600_000);
    await world.sweep();
    await world.clean();
    await world.work().catch(() => undefined);
    await world.deliver().catch(() => undefined);
    await account.must(200, 'GET', '/v1/audit');
    await agents[0]?.must(200, 'GET', `/v1/permissions/${request.id}`);
    await account.must(503, 'POST', '/v1/agents', { name: 'Late' });
    await neighbour.approved();
  }
  expect(await dumpAccount(env.DB, account.id)).toEqual(before);
  expect(received).toBe(0);
  await env.DB.exec('delete from moves');
  for (let minutes = 0; minutes < 3; minutes++) {
    world.advance(60_000);
    await world.sweep();
    await world.work();
    await world.deliver();
  }
  const { body } = await account.must(200, 'GET', `/v1/permissions/${request.id}`);
  expect(body.status).toBe('expired');
  expect(received).toBeGreaterThan(0);
  expect(await dumpAccount(env.DB, account.id)).not.toEqual(before);
});

it.each([
  ['of more rows', 'fast', 1, 5, 150],
  ['of fewer rows', 'slow to read', 100, 1, 50],
  ['of fewer rows', 'slow to write', 1, 100, 50],
])(
  'after the first slice, an account is copied in slices %s when the databases are %s',
  async (_, __, reading, writing, expected) => {
    const world = new World();
    const account = await world.account();
    Object.assign(world.env, { DB_01: env.DB_01 });
    await account.agent();
    await env.DB.prepare(`
    insert into audit_entries (pos, agent, permission, event, action, created_at, ip_address, user_agent, details, random)
    with recursive n(value) as (select 1 union all select value + 1 from n where value < 250)
    select accounts.number * 4294967296 + value, agents.number, randomblob(16), 0, 'a', 0, '', '', '{}', x''
    from n, accounts join agents on account = accounts.number`).run();
    await orderMove(world, account.id, '01');
    const shards = [openTimed('00', reading), openTimed('01', writing)];
    const mover = new Mover(shards[0] as MoverShard, shards);
    const sizes: number[] = [];
    for (let before = 0; before < 250; ) {
      await mover.moveSlice(world.now);
      const after = await count(env.DB_01, 'audit_entries');
      if (after > before) sizes.push(after - before);
      before = after;
    }
    expect(sizes.slice(0, 2)).toEqual([100, expected]);
  },
);

it.runIf(depth.isDeep)(
  'two concurrent crons move an account without logging an error',
  async () => {
    const world = new World();
    const account = await world.account();
    Object.assign(world.env, { DB_01: env.DB_01 });
    await (await account.agent()).approved();
    const log = await account.log();
    const failures = vi.spyOn(console, 'error');
    for (const shard of ['01', '00']) {
      await orderMove(world, account.id, shard, shard === '01' ? env.DB : env.DB_01);
      while (await isMoving()) {
        world.advance(60_000);
        await Promise.all([world.sweep(), world.clean()]);
      }
    }
    expect(failures.mock.calls).toEqual([]);
    failures.mockRestore();
    expect(await account.log()).toEqual(log);
  },
);

it.runIf(depth.isDeep)(
  'an account can move back and move again with every credential that it ever had',
  async () => {
    const world = new World();
    const life = await makeLife(world);
    const { account } = life;
    Object.assign(world.env, { DB_01: env.DB_01 });
    await world.sweep();
    const before = await readEverything(life);
    await orderMove(world, account.id, '01');
    await settleMoves(world);
    const agent = await account.agent({ name: 'Made there' });
    const log = await account.log();
    await orderMove(world, account.id, '00', env.DB_01);
    await settleMoves(world);
    expect(await account.log()).toEqual(log);
    await agent.approved();
    expect(await count(env.DB, 'moved_credentials')).toBe(0);
    expect(await count(env.DB_01, 'accounts')).toBe(0);
    expect((await world.must(200, 'GET', life.download)).text).toBe(before.file);
    // A deleted agent that is not erased yet is erased on the new shard.
    const deleted = await account.agent();
    await deleted.approved();
    await account.must(204, 'DELETE', `/v1/agents/${deleted.id}`);
    await orderMove(world, account.id, '01');
    await settleMoves(world);
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
    for (const token of [account.token, agent.key])
      await world.must(401, 'GET', '/v1/permissions', { token });
    expect(await countRows(env.DB)).toMatchObject({ moved_accounts: 0, moved_credentials: 0 });
  },
);

it.runIf(depth.isDeep)(
  'a move takes at most one new number per agent on the other shard',
  async () => {
    const world = new World();
    const account = await world.account();
    Object.assign(world.env, { DB_01: env.DB_01 });
    for (let n = 0; n < 3; n++) await account.agent();
    const lastNumbers = () =>
      Promise.all(
        [env.DB, env.DB_01].map((database) =>
          database
            .prepare(`select seq from sqlite_sequence where name = 'agents'`)
            .first<number>('seq'),
        ),
      );
    const before = await lastNumbers();
    const moves = depth.runs(3, 6);
    for (let n = 0; n < moves; n++) {
      await orderMove(
        world,
        account.id,
        n % 2 === 0 ? '01' : '00',
        n % 2 === 0 ? env.DB : env.DB_01,
      );
      await settleMoves(world);
    }
    for (const [i, last] of (await lastNumbers()).entries()) {
      expect(last).toBeLessThanOrEqual((before[i] ?? 0) + 3 * moves);
    }
  },
);

it.runIf(depth.isDeep)(
  'an account moves round three shards twice, and all its credentials and download links stay valid',
  {
    timeout: 120_000,
  },
  async () => {
    const world = new World({ RATE_LIMITS: 'off' });
    const life = await makeLife(world);
    const { account } = life;
    Object.assign(world.env, { DB_01: env.DB_01, DB_02: env.DB_02 });
    await world.sweep();
    const { file } = await readEverything(life);
    const tokens = [account.token];
    const keys: string[] = life.agents.map(({ key }) => key);
    const names = Object.keys(DATABASES);
    for (let n = 0; n < 6; n++) {
      const [from, to] = [names[n % 3] ?? '', names[(n + 1) % 3] ?? ''];
      const log = await account.log();
      await orderMove(world, account.id, to, DATABASES[from]);
      await settleMoves(world);
      expect(await account.log()).toEqual(log);
      for (const name of names) {
        const remains = await findRemains(DATABASES[name] as D1Database);
        if (name !== to) expect(remains).toEqual([]);
      }
      for (const token of tokens) await world.must(200, 'GET', '/v1/me', { token });
      for (const token of keys) await world.must(200, 'GET', '/v1/permissions', { token });
      expect((await world.must(200, 'GET', life.download)).text).toBe(file);
      tokens.push(await account.limitedToken('account:read'));
      expect(tokens.at(-1)?.slice(4, 6)).toBe(to);
      const agent = await account.agent();
      await agent.approved();
      keys.push(agent.key);
    }
    await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: operator });
    for (const token of [...tokens, ...keys])
      await world.must(401, 'GET', '/v1/permissions', { token });
  },
);

it.runIf(depth.isDeep)(
  'credentials and links still work while the first shard does not know yet that the account moved again',
  async () => {
    const world = new World();
    const life = await makeLife(world);
    const { account } = life;
    const first = new FaultyDatabase(env.DB);
    Object.assign(world.env, { DB: first.binding, DB_01: env.DB_01, DB_02: env.DB_02 });
    await orderMove(world, account.id, '01');
    await settleMoves(world);
    await orderMove(world, account.id, '02', env.DB_01);
    first.refuse(/update "moved_accounts"/);
    world.advance(60_000);
    await world.sweep();
    expect(
      (await env.DB.prepare('select shard from moved_accounts').first<string>('shard')) ?? '',
    ).toBe('01');
    await account.must(200, 'GET', '/v1/me');
    await world.must(200, 'GET', life.download);
    first.refuse(null);
    await settleMoves(world);
    expect(await env.DB.prepare('select shard from moved_accounts').first<string>('shard')).toBe(
      '02',
    );
  },
);

it.runIf(depth.isDeep)(
  'an account stays usable, and other accounts unaffected, while the other shard does not answer',
  async () => {
    const second = new FaultyDatabase(env.DB_01);
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const other = await (await world.account({ email: 'other@example.com' })).agent();
    Object.assign(world.env, { DB_01: second.binding });
    await orderMove(world, account.id, '01');
    second.refuse(/./);
    const requests = [
      await agent.request({ expires_in: 60 }),
      await other.request({ expires_in: 60 }),
    ];
    world.advance(120_000);
    await world.sweep();
    const count = `select count(*) as n from audit_entries where event = 4`;
    expect(await env.DB.prepare(count).first<number>('n')).toBe(requests.length);
    const { tree_size } = (await account.must(200, 'GET', '/v1/audit/checkpoint')).body;
    expect(tree_size).toBe((await account.log()).length);
    second.refuse(null);
    await settleMoves(world);
    expect((await account.log()).length).toBe(2);
    expect((await account.agent()).key.slice(0, 6)).toBe('csa_01');
  },
);

it.runIf(depth.isDeep)(
  'requests of a moving account expire on its old shard, not in the unfinished copy',
  async () => {
    const world = new World();
    const account = await world.account();
    Object.assign(world.env, { DB_01: env.DB_01 });
    const agent = await account.agent();
    const request = await agent.request({ expires_in: 60 });
    await orderMove(world, account.id, '01');
    const shards = ['00', '01'].map((name) => ({ name, database: openDatabase(name) }));
    const mover = new Mover(shards[0] as MoverShard, shards);
    while ((await env.DB_01.prepare('select 1 from permissions').first()) === null)
      await mover.moveSlice(world.now);
    const target = new World({ DB: env.DB_01 });
    const neighbour = await target.account();
    await (await neighbour.agent()).request({ expires_in: 60 });
    world.advance(120_000);
    target.now = world.now;
    await target.sweep();
    expect((await neighbour.log()).map(({ event_type }) => event_type)).toEqual([
      'request',
      'expire',
    ]);
    expect(
      await env.DB_01.prepare('select count(*) as n from permissions').first<number>('n'),
    ).toBe(2);
    await settleMoves(world);
    expect((await agent.must(200, 'GET', `/v1/permissions/${request.id}`)).body.status).toBe(
      'expired',
    );
    expect((await account.log()).map(({ event_type }) => event_type)).toEqual([
      'request',
      'expire',
    ]);
  },
);

it.runIf(depth.isDeep)(
  'a move that cannot finish is aborted, and restarts when it is ordered again',
  async () => {
    const second = new FaultyDatabase(env.DB_01);
    const world = new World();
    const life = await makeLife(world);
    const { account } = life;
    Object.assign(world.env, { DB_01: second.binding });
    await world.sweep();
    const credential = await account.limitedToken('account:read');
    const before = await readEverything(life);
    // The account has moved there and back before, so the other shard has rows that redirect.
    await orderMove(world, account.id, '01');
    await settleMoves(world);
    const there = await account.limitedToken('account:read');
    await orderMove(world, account.id, '00', env.DB_01);
    await settleMoves(world);
    for (const statement of [/insert into "?trees/, /delete from "?moved_credentials/]) {
      await orderMove(world, account.id, '01');
      second.refuse(statement);
      world.advance(60_000);
      await world.sweep();
      if (statement.source.startsWith('insert')) {
        await account.must(503, 'POST', '/v1/agents', { name: 'Late' });
        world.advance(360_000);
        await world.sweep();
        await account.must(201, 'POST', '/v1/agents', { name: 'Now' });
        second.refuse(null);
        await world.sweep();
        await world.sweep();
        expect(await isMoving()).toBe(false);
        expect(await findRemains(env.DB_01)).toEqual([]);
        for (const token of [there, credential]) await world.must(200, 'GET', '/v1/me', { token });
      }
    }
    second.refuse(null);
    await settleMoves(world);
    for (const token of [there, credential]) await world.must(200, 'GET', '/v1/me', { token });
    const after = await readEverything(life);
    expect(after['/v1/audit?limit=1000&order=asc']).toBe(before['/v1/audit?limit=1000&order=asc']);
  },
);

it.runIf(depth.isDeep).each([
  ['the move is canceled', () => env.DB.exec('delete from moves')],
  [
    'the account is deleted',
    (world: World, id: string) =>
      world.must(202, 'DELETE', `/v1/admin/users/${id}`, { token: operator }),
  ],
] as const)(
  'nothing remains on the other shard when %s during any phase of the move',
  async (_, end) => {
    const world = new World();
    const life = await makeLife(world);
    const { account } = life;
    Object.assign(world.env, { DB_01: env.DB_01 });
    const restore = await saveTables(env.DB);
    for (const slices of depth.cases([2, 7, 12], 2)) {
      await clear();
      await restore();
      await orderMove(world, account.id, '01');
      const shards = ['00', '01'].map((name) => ({ name, database: openDatabase(name) }));
      const mover = new Mover(shards[0] as MoverShard, shards, {
        rows: 8,
        characters: 20_000,
        entries: 8,
      });
      for (let n = 0; n < slices; n++) await mover.moveSlice(world.now);
      await (await account.agent()).approved();
      await end(world, account.id);
      world.advance(60_000);
      for (let n = 0; n < 3; n++) await world.sweep();
      expect(await isMoving()).toBe(false);
      expect(await findRemains(env.DB_01)).toEqual([]);
    }
  },
);

it.runIf(depth.isDeep)(
  'a deletion that races with a move is refused, and the account stays usable',
  async () => {
    const first = new FaultyDatabase(env.DB);
    const world = new World();
    const life = await makeLife(world);
    const { account } = life;
    Object.assign(world.env, { DB: first.binding, DB_01: env.DB_01 });
    first.before(2, async () => {
      await orderMove(world, account.id, '01');
      await settleMoves(world);
    });
    expect(
      (await world.call('DELETE', `/v1/admin/users/${account.id}`, { token: operator })).status,
    ).toBe(503);
    await account.must(200, 'GET', '/v1/me');
    expect(
      await env.DB.prepare('select count(*) as n from erasures where kind = 3').first<number>('n'),
    ).toBe(0);
  },
);

it.runIf(depth.isDeep)(
  'an account has one move at a time, and a move to an unknown shard is dropped',
  async () => {
    const world = new World();
    const account = await world.account();
    await (await account.agent()).approved();
    Object.assign(world.env, { DB_01: env.DB_01 });
    await orderMove(world, account.id, '09');
    await expect(orderMove(world, account.id, '01')).rejects.toThrow('UNIQUE');
    await world.sweep();
    expect(await isMoving()).toBe(false);
    await orderHeldMove(world, account.id, '01');
    await env.DB.prepare('update moves set held_at = null').run();
    const shards = ['00', '01'].map((name) => ({ name, database: openDatabase(name) }));
    const mover = new Mover(shards[0] as MoverShard, shards);
    for (let n = 0; n < 8; n++) await mover.moveSlice(world.now);
    // The other shard does not have the account yet, so an order there does nothing.
    await orderMove(world, account.id, '00', env.DB_01);
    await settleMoves(world);
    expect((await account.agent()).key.slice(0, 6)).toBe('csa_01');
  },
);
