import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { runCron, SCHEDULES } from '../../src/background/run-cron';
import { depth } from '../support/depth';
import { FaultyDatabase } from '../support/faults';
import { sealLogs } from '../support/seal';
import { type TestAgent, World } from '../support/world';

async function count(sql: string): Promise<number> {
  return (await env.DB.prepare(`select count(*) as n from ${sql}`).first<number>('n')) ?? 0;
}

async function agentNumber(agent: TestAgent): Promise<number> {
  const { results } = await env.DB.prepare(
    'select number from agents order by number desc limit 1',
  ).all<{
    number: number;
  }>();
  expect(agent.id).toMatch(/^agent_/);
  return results[0]?.number ?? 0;
}

it.runIf(depth.isDeep)(
  'the sweep expires due requests even if a row of another account is damaged',
  async () => {
    const world = new World();
    const [damaged, innocent] = [
      await (await world.account()).agent(),
      await (await world.account()).agent(),
    ];
    await damaged.request({ expires_in: 60 });
    await env.DB.prepare(
      `update permissions set scope = '{' where agent = (select max(agent) from permissions)`,
    ).run();
    await innocent.request({ expires_in: 60 });
    world.advance(60_000);
    await world.sweep();
    expect(await innocent.account.log('&event_type=expire')).toHaveLength(1);
    await env.DB.prepare('delete from permissions').run();
  },
);

it.runIf(depth.isDeep)(
  'the sweep expires due requests even if an agent of another account is deleted concurrently',
  async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const [leaving, innocent] = [
      await (await world.account()).agent(),
      await (await world.account()).agent(),
    ];
    await leaving.request({ expires_in: 60 });
    for (let i = 0; i < 3; i++) await innocent.request({ expires_in: 60 });
    world.advance(60_000);
    database.before(2, () =>
      new World().must(204, 'DELETE', `/v1/agents/${leaving.id}`, { token: leaving.account.token }),
    );
    await world.sweep();
    expect(await innocent.account.log('&event_type=expire')).toHaveLength(3);
  },
);

it('the sweep expires due requests even if the erasure of a deleted agent with overdue requests fails', async () => {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const [gone, innocent] = [
    await (await world.account()).agent(),
    await (await world.account()).agent(),
  ];
  for (let i = 0; i < 120; i++) await gone.request({ expires_in: 60 });
  await innocent.request({ expires_in: 60 });
  await gone.account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
  world.advance(60_000);
  database.refuse(/delete from "audit_entries"/);
  await sealLogs(env.DB);
  await world.sweep();
  expect(await innocent.account.log('&event_type=expire')).toHaveLength(1);
  database.refuse(null);
  await sealLogs(env.DB);
  await world.sweep();
  expect(await count('erasures')).toBe(0);
});

it.runIf(depth.isDeep)(
  'the sweep erases 130 small agents in one run, and the log shows none of their entries',
  async () => {
    const world = new World();
    const account = await world.account();
    for (let i = 0; i < 130; i++) {
      const agent = await account.agent();
      if (i % 2) await agent.request();
      await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    }
    await sealLogs(env.DB);
    await world.sweep();
    expect(await count('erasures')).toBe(0);
    expect(await account.log()).toEqual([]);
  },
);

it.runIf(depth.isDeep)(
  'the sweep erases newer deleted agents even if the oldest one cannot be erased',
  async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const stuck: number[] = [];
    for (let i = 0; i < 51; i++) {
      const account = await world.account();
      const agent = await account.agent();
      await agent.request();
      stuck.push(await agentNumber(agent));
      await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    }
    // The window of the 50 oldest erasures includes the first agent, the window of the 50 newest does
    // not.
    database.refuse(new RegExp(`delete from "permissions" where.*"?\\[${stuck[0]}[,\\]]`, 's'));
    await sealLogs(env.DB);
    await world.sweep();
    expect(await count('erasures')).toBe(1);
    expect(await count(`erasures where number = ${stuck[0]}`)).toBe(1);
    database.refuse(null);
    await sealLogs(env.DB);
    await world.sweep();
    expect(await count('erasures')).toBe(0);
  },
);

it('the sweep ignores erasures of an unknown kind', async () => {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  const { results } = await env.DB.prepare(
    'select number from accounts order by number desc limit 1',
  ).all<{
    number: number;
  }>();
  await env.DB.prepare('insert into erasures (kind, account, number) values (2, 0, ?)')
    .bind(results[0]?.number)
    .run();
  await world.sweep();
  await account.must(200, 'GET', '/v1/me');
  await agent.must(200, 'GET', '/v1/permissions');
  await env.DB.prepare('delete from erasures').run();
});

it.runIf(depth.isDeep)(
  'the sweep continues the erasure of a large history in the next run, and no sequence number is reused',
  async () => {
    const world = new World();
    const account = await world.account();
    const [leaving, staying] = [await account.agent(), await account.agent()];
    const leavingNumber = (await agentNumber(staying)) - 1;
    await leaving.request();
    const { results } = await env.DB.prepare(
      'select max(pos) as pos from audit_entries where agent = ?',
    )
      .bind(leavingNumber)
      .all<{ pos: number }>();
    await env.DB.prepare(
      `insert into audit_entries select pos + n.value, agent, permission, previous, event, action, created_at, ip_address,
       user_agent, details, random from audit_entries, (with recursive n(value) as (select 1 union all select value + 1 from n
       where value < 20000) select value from n) as n where pos = ?`,
    )
      .bind(results[0]?.pos)
      .run();
    await account.must(204, 'DELETE', `/v1/agents/${leaving.id}`);
    expect(await account.log()).toEqual([]);
    await sealLogs(env.DB);
    // Simulates a slow database: the time advances with each reading of the clock.
    const now = () => {
      world.now += 40;
      return world.now;
    };
    await runCron(SCHEDULES.every_minute, world.env, { ...world.runtime, now });
    const left = await count(`audit_entries where agent = ${leavingNumber}`);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(20_001);
    await staying.request();
    expect((await account.log()).map(({ sequence }) => sequence)).toEqual([20_002]);
    while ((await count('erasures')) > 0) await world.sweep();
    expect(await count(`audit_entries where agent = ${leavingNumber}`)).toBe(0);
    await staying.request();
    expect((await account.log()).map(({ sequence }) => sequence)).toEqual([20_002, 20_003]);
  },
  60_000,
);

it('the statistics of an agent read no expired requests of other accounts', async () => {
  const world = new World();
  const [careless, careful] = [
    await (await world.account()).agent(),
    await (await world.account()).agent(),
  ];
  for (let i = 0; i < 50; i++) await careless.request({ expires_in: 60 });
  await careful.request({ expires_in: 60 });
  world.advance(60_000);
  const { body, cost } = await careful.account.must(200, 'GET', `/v1/agents/${careful.id}/stats`);
  expect(body).toMatchObject({ total_requests: 1, expired_requests: 1, pending_requests: 0 });
  expect(cost.read).toBeLessThan(40);
});
