import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { fillWithDenials } from '../../support/bulk-log';
import { FaultyDatabase } from '../../support/faults';
import { findRemains, isMoving, orderHeldMove, orderMove, settleMoves } from '../../support/moves';
import { sealLogs } from '../../support/seal';
import { DATABASES } from '../../support/shards';
import {
  countSlice,
  DAY,
  expectStatistics,
  exportLog,
  findFaults,
  HOUR,
  makeHistory,
  readStatistics,
} from '../../support/statistics';
import { countRows, emptyTables } from '../../support/tables';
import { type Json, type TestAgent, World } from '../../support/world';

beforeEach(async () => {
  for (const database of Object.values(DATABASES)) await emptyTables(database);
});

/** Two accounts with different histories, each with two agents. */
async function makeScene(world = new World()) {
  const [first, second] = [await world.account(), await world.account()];
  const agents = [
    await first.agent(),
    await first.agent(),
    await second.agent(),
    await second.agent(),
  ];
  for (const [i, agent] of agents.entries()) await makeHistory(agent, i + 1);
  const logs = [await exportLog(first), await exportLog(second)].flat();
  /** Checks the statistics of all agents against their entries. */
  const check = async () => {
    for (const agent of agents)
      expect(await readStatistics(agent)).toEqual(expectStatistics(logs, agent.id, world.now));
    expect(await findFaults(world.now)).toEqual([]);
  };
  return {
    world,
    first,
    second,
    agents: agents as [TestAgent, TestAgent, TestAgent, TestAgent],
    check,
  };
}

function readTrees(database = env.DB): Promise<Json[]> {
  return database
    .prepare('select counted, count_due_at as due from trees order by account')
    .all()
    .then(({ results }) => results);
}

/** The sum of the requests in the stored statistics. */
function countedRequests(database = env.DB): Promise<number | null> {
  return database.prepare('select sum(requests) as n from agent_statistics').first<number>('n');
}

it('the figures are the same before, during and after the count, and those of an export', async () => {
  const { world, check } = await makeScene();
  await check();
  let slices = 0;
  // Slices that end anywhere within the history of a token.
  while (await countSlice(world, 10)) {
    slices += 1;
    await check();
  }
  expect(slices).toBeGreaterThan(5);
  await check();
  expect((await readTrees()).map(({ due }) => due)).toEqual([null, null]);
  world.advance(3 * DAY);
  await check();
});

it('counts that run at the same time count each entry once', async () => {
  const { world, check } = await makeScene();
  for (let more = [true]; more.includes(true); )
    more = await Promise.all([6, 10, 4].map((positions) => countSlice(world, positions)));
  await check();
});

it.each(['before', 'after'] as const)(
  'a count that is cut off %s its transaction counts each entry once',
  async (mode) => {
    const { world, check } = await makeScene();
    const faulty = new FaultyDatabase(env.DB);
    for (let more = true; more; ) {
      faulty.arm({ call: 1, mode });
      await expect(countSlice(world, 20, faulty.binding)).rejects.toThrow();
      await check();
      faulty.arm(null);
      more = await countSlice(world, 20, faulty.binding);
    }
    await check();
  },
);

it('one slice writes a row for an agent and hour, whatever happened in it', async () => {
  const world = new World();
  await (await (await world.account()).agent()).request();
  const agent = await (await world.account()).agent();
  for (let n = 0; n < 5; n++) await agent.approved();
  await countSlice(world);
  expect((await countRows(env.DB)).agent_statistics).toBe(2);
  expect(await countedRequests()).toBe(6);
});

it('a log with a backlog keeps no other log waiting, and sweeps work it off', async () => {
  const world = new World();
  const [busy, calm] = [
    await (await world.account()).agent(),
    await (await world.account()).agent(),
  ];
  await busy.request();
  const { results } = await env.DB.prepare('select agent from audit_entries').all<{
    agent: number;
  }>();
  await fillWithDenials(env.DB, 5_000, [results[0]?.agent as number]);
  await calm.request();
  expect(await countSlice(world)).toBe(true);
  expect(await readTrees()).toEqual([
    { counted: 1_000, due: world.now },
    { counted: 1, due: null },
  ]);
  await world.sweep();
  expect(await readTrees()).toEqual([
    { counted: 5_001, due: null },
    { counted: 1, due: null },
  ]);
});

it('what is written during a run is left to the next run', async () => {
  const world = new World();
  const agent = await (await world.account()).agent();
  await agent.request();
  const now = world.now;
  world.advance(1);
  await agent.request();
  // The mark is still that of the first request.
  expect((await readTrees())[0].due).toBe(now);
  await countSlice(world);
  world.advance(1);
  await agent.request();
  world.now -= 1;
  expect(await countSlice(world)).toBe(false);
  expect(await countedRequests()).toBe(2);
  world.advance(1);
  await countSlice(world);
  expect(await countedRequests()).toBe(3);
});

it('counts the first use of a token whose approval retention has erased', async () => {
  const world = new World();
  const account = await world.account({ plan: 'enterprise', audit_retention_days: 1 });
  const agent = await account.agent();
  const { token } = await agent.approved({ token_ttl: 604_800, max_uses: 3 });
  await sealLogs(env.DB);
  await world.sweep();
  world.advance(2 * DAY);
  await world.clean();
  expect(await account.log()).toEqual([]);
  const used = async () =>
    (await account.must(200, 'GET', `/v1/agents/${agent.id}/stats`)).body.tokens_used;
  for (let n = 0; n < 3; n++) {
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    expect(await used()).toBe(1);
  }
  while (await countSlice(world, 1)) expect(await used()).toBe(1);
  expect(await used()).toBe(1);
});

describe('deleted agents', () => {
  it('that are deleted before the count get no statistics, and others keep theirs', async () => {
    const { world, second, agents } = await makeScene();
    const [, , gone, kept] = agents;
    const expected = await readStatistics(kept);
    await countSlice(world, 20);
    await second.must(204, 'DELETE', `/v1/agents/${gone.id}`);
    const ofGone = async () =>
      (
        await env.DB.prepare(
          'select * from agent_statistics where agent not in (select number from agents)',
        ).all()
      ).results;
    const before = await ofGone();
    expect(before.length).toBeGreaterThan(0);
    while (await countSlice(world));
    expect(await ofGone()).toEqual(before);
    for (let n = 0; n < 3; n++) await world.sweep();
    expect(await readStatistics(kept)).toEqual(expected);
    expect(await findFaults(world.now)).toEqual([]);
    const left =
      'select count(*) as n from agent_statistics where agent not in (select number from agents)';
    expect(await env.DB.prepare(left).first('n')).toBe(0);
    expect((await countRows(env.DB)).erasures).toBe(0);
  });

  it('do not come back when the count goes on after their erasure', async () => {
    const { world, second, agents } = await makeScene();
    const [, , gone] = agents;
    await second.must(204, 'DELETE', `/v1/agents/${gone.id}`);
    // Sealing goes on, and so does the erasure; the count does not.
    await env.DB.exec(`update trees set count_due_at = ${world.now + DAY}`);
    for (let n = 0; n < 3; n++) await world.sweep();
    const entries =
      'select count(*) as n from audit_entries where agent not in (select number from agents)';
    expect(await env.DB.prepare(entries).first('n')).toBe(0);
    await env.DB.exec(`update trees set count_due_at = ${world.now}`);
    while (await countSlice(world, 6));
    const left =
      'select count(*) as n from agent_statistics where agent not in (select number from agents)';
    expect(await env.DB.prepare(left).first('n')).toBe(0);
    expect(await findFaults(world.now)).toEqual([]);
  });
});

describe('an account that moves', () => {
  it('is not counted while it is ordered to move or held, and its figures stay exact', async () => {
    const { world, second, check } = await makeScene();
    Object.assign(world.env, { DB_01: env.DB_01 });
    const before = await countedRequests();
    for (const order of [orderMove, orderHeldMove]) {
      await order(world, second.id, '01');
      while (await countSlice(world, 6));
      const [moved] = (await readTrees()).slice(1);
      expect(moved).toMatchObject({ counted: 0, due: expect.any(Number) });
      await check();
      await env.DB.exec('delete from moves');
    }
    while (await countSlice(world));
    expect(await countedRequests()).toBeGreaterThan(before ?? 0);
    await check();
  });

  it.each([0, 12, 2_000])(
    'with %i positions counted keeps its figures on the new shard',
    async (counted) => {
      // The new shard has agents of its own, which have other numbers than on the old one.
      const { world, second, agents, first } = await makeScene();
      Object.assign(world.env, { DB_01: env.DB_01 });
      const [, , ...moving] = agents;
      if (counted > 0) await countSlice(world, counted);
      const expected = await Promise.all(moving.map(readStatistics));
      const of = () => Promise.all(moving.map(readStatistics));
      await orderMove(world, second.id, '01');
      while (await isMoving()) {
        await world.sweep();
        expect(await of()).toEqual(expected);
        expect(await findFaults(world.now, env.DB)).toEqual([]);
        expect(await findFaults(world.now, env.DB_01)).toEqual([]);
      }
      await settleMoves(world);
      const later = world.now;
      expect(await findFaults(later, env.DB_01)).toEqual([]);
      expect((await readTrees(env.DB_01)).map(({ due }) => due)).toEqual([null]);
      expect(await of()).toEqual(expected);
      // And back.
      await orderMove(world, second.id, '00', env.DB_01);
      await settleMoves(world);
      expect(await of()).toEqual(expected);
      expect(await findFaults(later)).toEqual([]);
      expect(await findRemains(env.DB_01)).toEqual([]);
      await first.must(200, 'GET', '/v1/me');
    },
  );
});

describe('erasure', () => {
  it('by retention waits until the entries are counted', async () => {
    const { world } = await makeScene();
    const own = () =>
      env.DB.prepare(
        'select count(*) as n from audit_entries where pos / 4294967296 = (select max(number) from accounts)',
      ).first<number>('n');
    await env.DB.exec(`update trees set count_due_at = ${world.now + 30 * DAY}`);
    world.advance(20 * DAY);
    await world.sweep();
    const all = (await own()) ?? 0;
    await world.clean();
    expect(await own()).toBe(all);
    await env.DB.exec(`update trees set count_due_at = ${world.now}`);
    await countSlice(world, 20);
    world.advance(HOUR);
    await world.clean();
    expect(await own()).toBe(all - 10);
    expect(await findFaults(world.now)).toEqual([]);
  });

  it('of the approval does not hide the first use of a token', async () => {
    const world = new World();
    await (await (await world.account()).agent()).approved();
    const account = await world.account({ plan: 'enterprise', audit_retention_days: 1 });
    const agent = await account.agent();
    const { token } = await agent.approved({ token_ttl: 604_800, max_uses: 3 });
    const used = async () =>
      (await account.must(200, 'GET', `/v1/agents/${agent.id}/stats`)).body.tokens_used;
    for (const day of [2, 4, 6]) {
      world.advance(2 * DAY);
      await world.sweep();
      await world.clean();
      expect(await account.log()).toEqual([]);
      expect(await used()).toBe(day === 2 ? 0 : 1);
      await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
      expect(await used()).toBe(1);
    }
    await world.sweep();
    expect(await used()).toBe(1);
  });
});

it('the count goes on while the log is not sealed', async () => {
  const { world, agents } = await makeScene();
  const sizes = () => env.DB.prepare('select sum(size) as size from trees').first('size');
  const sealed = await sizes();
  for (const agent of agents) await agent.request();
  await env.DB.exec(`update trees set held_until = ${world.now + 60_000}`);
  await world.sweep();
  expect((await readTrees()).map(({ due }) => due)).toEqual([null, null]);
  expect(await sizes()).toBe(sealed);
  expect(await findFaults(world.now)).toEqual([]);
});

it('the figures lag behind, and still add up, when ten thousand entries wait to be counted', async () => {
  const world = new World();
  await (await (await world.account()).agent()).request();
  const account = await world.account();
  const agent = await account.agent();
  await agent.request({ expires_in: 604_800 });
  // Requests and denials in turn.
  await env.DB.exec(
    `insert into audit_entries
    with recursive n(value) as (select 1 union all select value + 1 from n where value < 10000)
    select pos + value, agent, permission, previous, value % 2 * 2, action, created_at,
      ip_address, user_agent, details, random
    from n, audit_entries where pos = (select max(pos) from audit_entries)`.replaceAll('\n', ' '),
  );
  for (let n = 0; n < 3; n++) await agent.request({ expires_in: 60 });
  world.advance(120_000);
  const read = async () => (await account.must(200, 'GET', `/v1/agents/${agent.id}/stats`)).body;
  expect(await read()).toMatchObject({
    total_requests: 5_000,
    denied_requests: 5_000,
    pending_requests: 0,
    expired_requests: 0,
  });
  await world.sweep();
  expect(await read()).toMatchObject({
    total_requests: 5_004,
    denied_requests: 5_000,
    pending_requests: 1,
    expired_requests: 3,
  });
});
