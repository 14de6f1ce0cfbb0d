import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { FaultyDatabase } from '../support/faults';
import { type Json, type TestAccount, World } from '../support/world';

const operator = env.ADMIN_TOKEN;
const POLICY = { name: 'Mail', effect: 'approve', actions: ['email.*'], resources: ['*'] };

async function activity(account: TestAccount, search = ''): Promise<Json[]> {
  return (await account.must(200, 'GET', `/v1/activity?limit=1000${search}`)).body.data;
}

/** An account with activity records of many kinds, a second apart. */
async function makeHistory() {
  const world = new World();
  const account = await world.account({ plan: 'enterprise' });
  const tick = async (method: string, path: string, status: number, body?: unknown) => {
    world.advance(1_000);
    return (await account.must(status, method, path, body)).body;
  };
  const agent = await tick('POST', '/v1/agents', 201, { name: 'Bot' });
  await tick('PUT', `/v1/agents/${agent.id}`, 200, { name: 'Robot', description: 'secret text' });
  await tick('POST', `/v1/agents/${agent.id}/rotate-key`, 200, {});
  const policy = await tick('POST', '/v1/policies', 201, POLICY);
  await tick('PUT', `/v1/policies/${policy.id}`, 200, { priority: 3 });
  await tick('DELETE', `/v1/policies/${policy.id}`, 204);
  const token = await tick('POST', '/v1/me/tokens', 201, { name: 'CI' });
  await tick('DELETE', `/v1/me/tokens/${token.id}`, 204);
  await tick('DELETE', `/v1/agents/${agent.id}`, 204);
  world.advance(1_000);
  const headers = { 'CF-Connecting-IP': '2001:db8::7', 'User-Agent': 'console/1' };
  const body = { audit_retention_days: 30, name: 'Renamed' };
  await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
    token: operator,
    body,
    headers,
  });
  return { world, account, agent, policy, token };
}

it('the activity shows who did what to which object, newest first, with field names but never field values', async () => {
  const { account, agent, policy, token } = await makeHistory();
  const records = await activity(account);
  const own = account.tokenId;
  expect(
    records.map(({ action, target, actor, changes }) => [action, target, actor, changes]),
  ).toEqual([
    ['account.updated', account.id, 'operator', ['name', 'audit_retention_days']],
    ['agent.deleted', agent.id, own, []],
    ['user_token.deleted', token.id, own, []],
    ['user_token.created', token.id, own, []],
    ['policy.deleted', policy.id, own, []],
    ['policy.updated', policy.id, own, ['priority']],
    ['policy.created', policy.id, own, []],
    ['agent.key_rotated', agent.id, own, []],
    ['agent.updated', agent.id, own, ['name', 'description']],
    ['agent.created', agent.id, own, []],
    ['user_token.created', own, 'operator', []],
  ]);
  expect(records[0]).toEqual({
    id: expect.stringMatching(/^act_[0-9a-z]{26}$/),
    actor: 'operator',
    action: 'account.updated',
    target: account.id,
    changes: ['name', 'audit_retention_days'],
    ip_address: '2001:db8::7',
    user_agent: 'console/1',
    created_at: '2026-01-31T12:00:10.000Z',
  });
  expect(JSON.stringify(records)).not.toContain('secret text');
});

it('the activity can be filtered by action, target, actor and time, and read in pages', async () => {
  const { account, agent } = await makeHistory();
  const count = async (search: string) => (await activity(account, search)).length;
  expect(await count('&action=agent.updated')).toBe(1);
  expect(await count(`&target=${agent.id}`)).toBe(4);
  expect(await count('&actor=operator')).toBe(2);
  expect(await count(`&actor=operator&target=${account.id}&action=account.updated`)).toBe(1);
  expect(await count('&target=nobody')).toBe(0);
  expect(await count('&start_date=2026-01-31T12:00:03Z')).toBe(8);
  expect(await count('&end_date=2026-01-31T12:00:03Z')).toBe(3);
  expect(await count('&start_date=2026-01-31&end_date=2026-01-31')).toBe(11);
  expect(await count('&start_date=2026-01-31T12:00:03Z&end_date=2026-01-31')).toBe(8);
  expect(await count('&end_date=2026-01-30')).toBe(0);
  const whole = await activity(account);
  const paged: Json[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const search: string = cursor && `&cursor=${cursor}`;
    const { body } = await account.must(200, 'GET', `/v1/activity?limit=4${search}`);
    paged.push(...body.data);
    cursor = body.next_cursor;
  }
  expect(paged).toEqual(whole);
});

it.each([
  ['action=agent.renamed', 'query.action'],
  ['start_date=2026-02-01&end_date=2026-01-31', 'query.start_date'],
  ['start_date=2026-02-01T00:00:00Z&end_date=2026-01-31', 'query.start_date'],
  ['start_date=yesterday', 'query.start_date'],
  ['limit=1001', 'query.limit'],
])('the activity rejects the query %s', async (search, path) => {
  const account = await new World().account();
  const { status, body } = await account.call('GET', `/v1/activity?${search}`);
  expect([status, body.errors[0].path]).toEqual([400, path]);
});

it('the activity covers the retention of the plan, to the millisecond', async () => {
  const world = new World();
  const account = await world.account({ plan: 'free' });
  world.advance(7 * 86_400_000);
  expect(await activity(account)).toHaveLength(1);
  world.advance(1);
  expect(await activity(account)).toEqual([]);
});

describe('a failed request', () => {
  it('leaves no activity record if it changes nothing', async () => {
    const { world, account, agent, policy, token } = await makeHistory();
    const before = await activity(account);
    const stranger = await world.account();
    for (const caller of [account, stranger]) {
      await caller.must(404, 'PUT', `/v1/agents/${agent.id}`, { name: 'x' });
      await caller.must(404, 'DELETE', `/v1/agents/${agent.id}`);
      await caller.must(404, 'POST', `/v1/agents/${agent.id}/rotate-key`);
      await caller.must(404, 'PUT', `/v1/policies/${policy.id}`, { name: 'x' });
      await caller.must(404, 'DELETE', `/v1/policies/${policy.id}`);
      await caller.must(404, 'DELETE', `/v1/me/tokens/${token.id}`);
      await caller.must(400, 'POST', '/v1/agents', {});
    }
    expect(await activity(account)).toEqual(before);
    expect((await activity(stranger)).map(({ action }) => action)).toEqual(['user_token.created']);
  });

  it('leaves an activity record exactly if its change was committed before the database failed', async () => {
    const calls: [string, string, unknown, string][] = [
      ['POST', '/v1/agents', { name: 'Bot' }, 'agents'],
      ['POST', '/v1/policies', POLICY, 'policies'],
      ['POST', '/v1/me/tokens', {}, 'me/tokens'],
    ];
    for (const [method, path, body, list] of calls) {
      for (const mode of ['before', 'after'] as const) {
        const database = new FaultyDatabase(env.DB);
        const account = await new World({ DB: database.binding }).account();
        const things = async () => (await account.must(200, 'GET', `/v1/${list}`)).body.data.length;
        const [before, records] = [await things(), (await activity(account)).length];
        database.arm({ call: 2, mode });
        expect((await account.call(method, path, body)).status).toBe(503);
        database.arm(null);
        expect((await things()) - before).toBe(mode === 'after' ? 1 : 0);
        expect((await activity(account)).length - records).toBe(mode === 'after' ? 1 : 0);
      }
    }
  });
});
