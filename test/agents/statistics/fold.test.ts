import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { depth } from '../../support/depth';
import { FaultyDatabase } from '../../support/faults';
import { orderHeldMove, orderMove, settleMoves } from '../../support/moves';
import { DATABASES } from '../../support/shards';
import {
  countSlice,
  DAY,
  expectStatistics,
  exportLog,
  findFaults,
  foldSlice,
  HOUR,
  makeHistory,
  readStatistics,
} from '../../support/statistics';
import { emptyTables } from '../../support/tables';
import { type TestAgent, World } from '../../support/world';

beforeEach(async () => {
  for (const database of Object.values(DATABASES)) await emptyTables(database);
});

const MIDNIGHT = Date.UTC(2026, 1, 6);

/**
 * Two accounts that keep their entries, each with an agent; the second one has asked in the hour
 * before midnight and in the hour after.
 */
async function makeScene(world = new World()) {
  const account = async () => world.account({ plan: 'enterprise', audit_retention_days: 2_557 });
  const [first, second] = [await account(), await account()];
  const agents = [await first.agent(), await second.agent()] as const;
  for (const [i, agent] of agents.entries()) await makeHistory(agent, 2 + 3 * i);
  world.now = MIDNIGHT - 1;
  const { id } = await agents[1].request();
  await second.must(200, 'POST', `/v1/permissions/${id}/deny`);
  world.advance(1);
  await agents[1].approved({ token_ttl: 604_800 });
  while (await countSlice(world));
  const logs = [await exportLog(first), await exportLog(second)].flat();
  const check = async () => {
    for (const agent of agents)
      expect(await readStatistics(agent)).toEqual(expectStatistics(logs, agent.id, world.now));
    expect(await findFaults(world.now)).toEqual([]);
  };
  return { world, first, second, agents, check };
}

/** How many hours and days are stored, of an agent or of all. */
async function countBuckets(agent?: TestAgent, database = env.DB): Promise<[number, number]> {
  const { results } = await database
    .prepare(
      `select sum(unit = 1) as hours, sum(unit = 0) as days from agent_statistics
       where ?1 is null or agent = (select max(number) from agents)`,
    )
    .bind(agent?.id ?? null)
    .all<{ hours: number; days: number }>();
  return [results[0]?.hours ?? 0, results[0]?.days ?? 0];
}

it.runIf(depth.isDeep)(
  'hours are folded from the 31st day on, and the figures stay the same',
  async () => {
    const { world, check } = await makeScene();
    const [hours] = await countBuckets();
    // The last request before midnight is 30 days old, and that of midnight 29.
    world.now = MIDNIGHT + 30 * DAY - 1;
    while (await foldSlice(world));
    await check();
    const [beforeMidnight, days] = await countBuckets();
    expect([beforeMidnight < hours, days > 0]).toEqual([true, true]);
    const newest = 'select max(bucket) as day from agent_statistics where unit = 0';
    const oldest = 'select min(bucket) as hour from agent_statistics where unit = 1';
    const border = async () => [
      (await env.DB.prepare(newest).first('day')) as number,
      (await env.DB.prepare(oldest).first('hour')) as number,
    ];
    const [newestDay, oldestHour] = await border();
    expect(newestDay).toBeLessThan(MIDNIGHT / DAY - 1);
    expect(oldestHour).toBe(MIDNIGHT / HOUR - 1);
    world.advance(1);
    while (await foldSlice(world));
    await check();
    expect(await border()).toEqual([MIDNIGHT / DAY - 1, MIDNIGHT / HOUR]);
    // The first hour of the day is still whole for a period of 720 hours.
    world.now = MIDNIGHT + 31 * DAY - 1;
    await world.clean();
    await check();
    world.advance(1);
    await world.clean();
    expect((await countBuckets())[0]).toBe(0);
    world.now = MIDNIGHT + 364 * DAY;
    await world.clean();
    const [, last] = await countBuckets();
    expect(last).toBeGreaterThan(0);
    world.advance(3 * DAY);
    await world.clean();
    expect(await countBuckets()).toEqual([0, 0]);
  },
);

it.runIf(depth.isDeep)(
  'hours are folded once, by several workers in small slices that are cut off',
  async () => {
    const { world, check } = await makeScene();
    world.advance(40 * DAY);
    const faulty = new FaultyDatabase(env.DB);
    for (let more = [true]; more.includes(true); ) {
      for (const mode of ['before', 'after'] as const) {
        faulty.arm({ call: 1, mode });
        await expect(foldSlice(world, 2, faulty.binding)).rejects.toThrow();
      }
      await check();
      more = await Promise.all([2, 3, 2].map((hours) => foldSlice(world, hours)));
    }
    await check();
    expect((await countBuckets())[0]).toBe(0);
  },
);

it.runIf(depth.isDeep)(
  'an hour that is counted after its day was folded is added to the day',
  async () => {
    const { world, agents } = await makeScene();
    const [, agent] = agents;
    await agent.request({ expires_in: 60 });
    while (await countSlice(world));
    const year = async () => (await readStatistics(agent)).at(-1);
    // Nothing runs for two months: then the request expires, and the expiry is counted.
    world.advance(60 * DAY);
    while (await foldSlice(world));
    const expected = await year();
    expect(expected.expired_requests).toBe(3);
    const [, days] = await countBuckets();
    await world.sweep();
    expect((await countBuckets())[0]).toBe(1);
    expect(await year()).toEqual(expected);
    while (await foldSlice(world));
    expect(await countBuckets()).toEqual([0, days]);
    expect(await year()).toEqual(expected);
    expect(await findFaults(world.now)).toEqual([]);
  },
);

it('a year of hours and days reads at most 1,100 rows, and 720 hours at most 750', async () => {
  const world = new World();
  await (await world.account()).agent();
  const agent = await (await world.account()).agent();
  await agent.request({ expires_in: 604_800 });
  world.now = Date.UTC(2026, 0, 31, 23);
  await countSlice(world);
  await env.DB.exec('delete from agent_statistics');
  await env.DB.exec(
    `insert into agent_statistics
    with recursive n(value) as (select 0 union all select value + 1 from n where value < 9000)
    select (select max(number) from agents), 1, ${world.now / HOUR} - value, 1, 0, 0, 0, 0, 0, 0, 0
    from n`.replaceAll('\n', ' '),
  );
  await world.clean();
  const read = (period: string) =>
    agent.account.must(200, 'GET', `/v1/agents/${agent.id}/stats?period=${period}`);
  const [year, month] = [await read('365d'), await read('720h')];
  expect([year.body.total_requests, month.body.total_requests]).toEqual([365 * 24, 721]);
  expect(year.cost.read).toBeLessThanOrEqual(1_100);
  expect(month.cost.read).toBeLessThanOrEqual(750);
});

it.runIf(depth.isDeep)(
  'nothing of an account is folded while it moves, and it keeps its figures on the new shard',
  async () => {
    const { world, second, agents, check } = await makeScene();
    Object.assign(world.env, { DB_01: env.DB_01 });
    world.advance(40 * DAY);
    for (const order of [orderMove, orderHeldMove]) {
      const [hours] = await countBuckets(agents[1]);
      await order(world, second.id, '01');
      while (await foldSlice(world, 3));
      expect((await countBuckets(agents[1]))[0]).toBe(hours);
      await check();
      await env.DB.exec('delete from moves');
    }
    // Half of it is folded before the move, and the rest after it.
    await foldSlice(world, 8);
    await orderMove(world, second.id, '01');
    await settleMoves(world);
    await check();
    expect((await countBuckets(undefined, env.DB_01))[0]).toBeGreaterThan(0);
    while (await foldSlice(world, 3, env.DB_01));
    await check();
    expect((await countBuckets(undefined, env.DB_01))[0]).toBe(0);
    expect(await findFaults(world.now, env.DB_01)).toEqual([]);
  },
);
