import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { runCron, SCHEDULES } from '../../src/background/run-cron';
import { countRows, emptyTables } from '../support/tables';
import { type Json, type TestAgent, World } from '../support/world';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const NOTHING = {
  total_requests: 0,
  approved_requests: 0,
  denied_requests: 0,
  pending_requests: 0,
  expired_requests: 0,
  tokens_issued: 0,
  tokens_used: 0,
  tokens_revoked: 0,
  avg_approval_time_ms: 0,
};

beforeEach(() => emptyTables(env.DB));

async function makeAgent() {
  const account = await new World().account();
  return { world: account.world, account, agent: await account.agent() };
}

async function statistics({ account, id }: TestAgent, period?: string): Promise<Json> {
  const query = period === undefined ? '' : `?period=${period}`;
  return (await account.must(200, 'GET', `/v1/agents/${id}/stats${query}`)).body;
}

async function total(agent: TestAgent, period: string): Promise<number> {
  return (await statistics(agent, period)).total_requests;
}

it('all counts of a new agent are zero, and the default period is 30 days', async () => {
  const { agent } = await makeAgent();
  expect(await statistics(agent)).toEqual({ period: '30d', ...NOTHING });
});

it('requests are counted by their status, and the counts add up', async () => {
  const { world, account, agent } = await makeAgent();
  const decide = async (decision: string) => {
    const { id } = await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${id}/${decision}`);
  };
  for (const decision of ['approve', 'approve', 'approve', 'deny', 'deny']) await decide(decision);
  await agent.request({ expires_in: 60 });
  world.advance(60_000);
  await agent.request();
  for (const sweep of [async () => undefined, () => world.sweep()]) {
    await sweep();
    const counts = {
      total_requests: 7,
      approved_requests: 3,
      denied_requests: 2,
      expired_requests: 1,
    };
    expect(await statistics(agent, '1d')).toEqual({
      period: '1d',
      ...NOTHING,
      ...counts,
      pending_requests: 1,
      tokens_issued: 3,
    });
  }
});

it('a request counts as expired from the exact millisecond, before and after the sweep', async () => {
  const { world, agent } = await makeAgent();
  await agent.request({ expires_in: 60 });
  const states = async () => {
    const { pending_requests, expired_requests } = await statistics(agent);
    return [pending_requests, expired_requests];
  };
  world.advance(59_999);
  expect(await states()).toEqual([1, 0]);
  world.advance(1);
  expect(await states()).toEqual([0, 1]);
  await world.sweep();
  expect(await states()).toEqual([0, 1]);
});

it('a request counts in the period in which it was made, whenever it was decided', async () => {
  const { world, account, agent } = await makeAgent();
  const { id } = await agent.request({ expires_in: 604_800 });
  world.advance(2 * DAY);
  await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
  const today = { ...NOTHING, period: '1d', tokens_issued: 1 };
  expect(await statistics(agent, '1d')).toEqual(today);
  expect(await statistics(agent, '3d')).toEqual({
    ...today,
    period: '3d',
    total_requests: 1,
    approved_requests: 1,
    avg_approval_time_ms: 2 * DAY,
  });
});

it('an expired request from before the period does not count', async () => {
  const { world, agent } = await makeAgent();
  await agent.request({ expires_in: 60 });
  world.advance(DAY);
  expect(await statistics(agent, '1d')).toEqual({ period: '1d', ...NOTHING });
  await world.sweep();
  expect(await statistics(agent, '1d')).toEqual({ period: '1d', ...NOTHING });
  expect((await statistics(agent, '2d')).expired_requests).toBe(1);
});

it('a token counts when it is issued, first used and revoked', async () => {
  const { world, account, agent } = await makeAgent();
  const { token } = await agent.approved({ max_uses: 3, token_ttl: 86_400 });
  world.advance(HOUR);
  for (let i = 0; i < 2; i++)
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  world.advance(HOUR);
  await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  const second = (await agent.approved({ token_ttl: 86_400 })).token;
  world.advance(HOUR);
  for (let i = 0; i < 2; i++)
    await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: second.id });
  const tokens = async (period: string) => {
    const { tokens_issued, tokens_used, tokens_revoked } = await statistics(agent, period);
    return [tokens_issued, tokens_used, tokens_revoked];
  };
  expect(await tokens('1h')).toEqual([1, 0, 1]);
  expect(await tokens('2h')).toEqual([1, 1, 1]);
  expect(await tokens('3h')).toEqual([2, 1, 1]);
});

it('an expired token counts only as issued', async () => {
  const { world, agent } = await makeAgent();
  await agent.approved();
  world.advance(HOUR);
  await world.sweep();
  expect(await statistics(agent)).toEqual({
    ...NOTHING,
    period: '30d',
    total_requests: 1,
    approved_requests: 1,
    tokens_issued: 1,
  });
});

it('the approval time is the mean of the times from request to approval', async () => {
  const { world, account, agent } = await makeAgent();
  for (const wait of [100, 200, 600]) {
    const { id } = await agent.request();
    world.advance(wait);
    await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
  }
  const { id } = await agent.request();
  world.advance(50_000);
  await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
  expect((await statistics(agent)).avg_approval_time_ms).toBe(300);
});

describe('a period', () => {
  it('of one day is today in UTC', async () => {
    const { world, agent } = await makeAgent();
    world.now = Date.UTC(2026, 1, 1) - 1;
    await agent.request();
    expect(await total(agent, '1d')).toBe(1);
    world.advance(1);
    expect([await total(agent, '1d'), await total(agent, '2d')]).toEqual([0, 1]);
    await agent.request();
    world.now = Date.UTC(2026, 1, 2) - 1;
    expect([await total(agent, '1d'), await total(agent, '2d')]).toEqual([1, 2]);
  });

  it('of several hours includes the current hour and the full hours before it', async () => {
    const { world, agent } = await makeAgent();
    world.now = Date.UTC(2026, 0, 31, 13) - 1;
    await agent.request();
    world.now = Date.UTC(2026, 0, 31, 14) - 1;
    expect(await total(agent, '1h')).toBe(1);
    world.advance(1);
    expect([await total(agent, '1h'), await total(agent, '2h')]).toEqual([0, 1]);
  });

  it('of 365 days includes exactly these days', async () => {
    const { world, agent } = await makeAgent();
    await agent.request();
    world.now = Date.UTC(2027, 0, 30, 23, 59, 59, 999);
    await world.sweep();
    expect([await total(agent, '365d'), await total(agent, '364d')]).toEqual([1, 0]);
    world.advance(1);
    expect(await total(agent, '365d')).toBe(0);
  });

  it('of 720 hours includes exactly these hours', async () => {
    const { world, agent } = await makeAgent();
    await agent.request();
    world.now = Date.UTC(2026, 0, 31, 12) + 721 * HOUR - 1;
    expect([await total(agent, '720h'), await total(agent, '719h')]).toEqual([1, 0]);
    world.advance(1);
    expect(await total(agent, '720h')).toBe(0);
  });

  it.each(['1d', '30d', '365d', '1h', '24h', '720h'])('may be %s', async (period) => {
    const { agent } = await makeAgent();
    expect((await statistics(agent, period)).period).toBe(period);
  });

  it.each([
    '0d',
    '366d',
    '0h',
    '721h',
    '1',
    'd',
    '',
    '1m',
    '-1d',
    '1.5d',
    '1e1d',
    '01d',
    '1D',
    ' 1d',
    '1d1h',
    '30d,30d',
  ])('cannot be %j', async (period) => {
    const { account, agent } = await makeAgent();
    const answer = await account.call(
      'GET',
      `/v1/agents/${agent.id}/stats?period=${encodeURIComponent(period)}`,
    );
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.errors[0].path).toBe('query.period');
  });
});

it('each agent has counts of its own, which outlast the retention of the log', async () => {
  const { world, account, agent } = await makeAgent();
  const other = await account.agent();
  await agent.request();
  await other.request();
  await other.request();
  world.advance(20 * DAY);
  await world.sweep();
  expect(await account.log('&event_type=request')).toEqual([]);
  expect([await total(agent, '30d'), await total(other, '30d')]).toEqual([1, 2]);
});

it('the hourly cron keeps the counters that a period can include, and deletes older ones', async () => {
  const { world, agent } = await makeAgent();
  await agent.request();
  await world.sweep();
  const clear = () => runCron(SCHEDULES.every_hour, world.env, world.runtime);
  world.advance(720 * HOUR);
  await clear();
  expect(await total(agent, '720h')).toBe(1);
  world.now = Date.UTC(2027, 0, 30);
  await clear();
  expect([await total(agent, '365d'), await countRows(env.DB)]).toMatchObject([
    1,
    { agent_statistics: 1 },
  ]);
  world.advance(3 * DAY);
  await clear();
  expect((await countRows(env.DB)).agent_statistics).toBe(0);
});
