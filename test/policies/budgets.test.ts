import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { makeMember } from '../support/members';
import { orderMove, settleMoves } from '../support/moves';
import { DATABASES } from '../support/shards';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const PAY = { action: 'payment.send', resource: 'account:4711' };
const APPROVE = { name: 'Pay', effect: 'approve', actions: ['payment.*'], resources: ['*'] };
const ANY_AMOUNT = { amount: {} };

/** An account that is not the first, another one beside it, and an agent of it. */
async function makeScene(now = Date.UTC(2026, 0, 31, 12)) {
  const world = new World();
  world.now = now;
  const other = await world.account();
  const account = await world.account();
  return { world, account, other, agent: await account.agent() };
}

async function makePolicy(account: TestAccount, fields: Json): Promise<Json> {
  return (await account.must(201, 'POST', '/v1/policies', { ...APPROVE, ...fields })).body;
}

async function readPolicy(account: TestAccount, { id }: Json): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/policies/${id}`)).body;
}

async function ask(agent: TestAgent, fields: Json = {}): Promise<string> {
  return (await agent.request({ ...PAY, ...fields })).status;
}

/** Asks for amounts, one after the other, and gives the statuses. */
async function askFor(agent: TestAgent, amounts: Json[]): Promise<string[]> {
  const statuses: string[] = [];
  for (const amount of amounts) statuses.push(await ask(agent, { scope: { amount } }));
  return statuses;
}

describe('a budget of requests', () => {
  it('approves so many for all agents together, and leaves the rest to people', async () => {
    const { account, other, agent } = await makeScene();
    const policy = await makePolicy(account, { budget: { per: 'total', requests: 3 } });
    const second = await account.agent();
    const rivals = await makePolicy(other, { budget: { per: 'total', requests: 1 } });
    const stranger = await other.agent();
    expect(await ask(agent)).toBe('approved');
    expect(await ask(second)).toBe('approved');
    expect(await ask(stranger)).toBe('approved');
    expect(await ask(agent)).toBe('approved');
    expect(await ask(second)).toBe('pending');
    expect(await ask(stranger)).toBe('pending');
    expect((await readPolicy(account, policy)).usage.requests).toBe(3);
    expect((await readPolicy(other, rivals)).usage.requests).toBe(1);
  });

  it('gives nothing back for a token that is revoked or expires', async () => {
    const { world, account, agent } = await makeScene();
    await makePolicy(account, { budget: { per: 'total', requests: 2 } });
    const { token } = await agent.request(PAY);
    await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: token.id });
    expect(await ask(agent, { token_ttl: 30 })).toBe('approved');
    world.advance(3_600_000);
    await world.sweep();
    expect(await ask(agent)).toBe('pending');
  });

  it('costs one row more for an approval that it counts, and none otherwise', async () => {
    const { account, agent } = await makeScene();
    const asking = { ...PAY, scope: { amount: 1 } };
    const cost = async () => (await agent.must(201, 'POST', '/v1/permissions', asking)).cost;
    const plain = await makePolicy(account, {});
    await cost();
    const without = await cost();
    await account.must(204, 'DELETE', `/v1/policies/${plain.id}`);
    await cost();
    const waiting = await cost();
    const budget = { per: 'day', requests: 2, sum: { key: 'amount', max: 100 } };
    await makePolicy(account, { budget });
    await cost();
    const counted = await cost();
    const exhausted = await cost();
    expect(counted.written).toBe(without.written + 1);
    expect(counted.trips).toBe(2);
    expect(exhausted).toMatchObject({ written: waiting.written, trips: 2 });
  });

  it('leaves a request without room to the policy that comes next', async () => {
    const { account, agent } = await makeScene();
    const first = await makePolicy(account, { priority: 2, budget: { per: 'day', requests: 1 } });
    const next = await makePolicy(account, { priority: 1, token_ttl: 60 });
    expect((await agent.request(PAY)).policy_id).toBe(first.id);
    expect((await agent.request(PAY)).policy_id).toBe(next.id);
    await account.must(200, 'PUT', `/v1/policies/${next.id}`, { is_active: false });
    await makeMember(account, 'approver');
    const review = await makePolicy(account, { effect: 'review' });
    expect((await agent.request(PAY)).review.approvals_required).toBe(1);
    await account.must(200, 'PUT', `/v1/policies/${review.id}`, { effect: 'deny' });
    expect(await ask(agent)).toBe('denied');
  });
});

describe('a budget of a sum', () => {
  it('counts decimals exactly: 0.1 ten times is 1', async () => {
    const { account, agent } = await makeScene();
    const budget = { per: 'total', sum: { key: 'amount', max: 1 } };
    const policy = await makePolicy(account, { conditions: ANY_AMOUNT, budget });
    expect(await askFor(agent, Array(10).fill(0.1))).toEqual(Array(10).fill('approved'));
    expect((await readPolicy(account, policy)).usage).toMatchObject({ requests: 10, sum: 1 });
    expect(await askFor(agent, [0.000001, 0])).toEqual(['pending', 'approved']);
  });

  it('counts the granted scope times the granted uses', async () => {
    const { account, agent } = await makeScene();
    const budget = { per: 'total', sum: { key: 'amount', max: 10 } };
    const policy = await makePolicy(account, { max_uses: 3, budget });
    expect(await ask(agent, { scope: { amount: 2.5 }, max_uses: 100 })).toBe('approved');
    expect((await readPolicy(account, policy)).usage.sum).toBe(7.5);
    expect(await ask(agent, { scope: { amount: 1.25 }, max_uses: 3 })).toBe('pending');
    expect(await ask(agent, { scope: { amount: 1.25 }, max_uses: 2 })).toBe('approved');
    expect((await readPolicy(account, policy)).usage).toMatchObject({ requests: 2, sum: 10 });
  });

  it('has room for 999999999.999999 once', async () => {
    const { account, agent } = await makeScene();
    const budget = { per: 'total', sum: { key: 'amount', max: 999_999_999.999999 } };
    const policy = await makePolicy(account, { budget });
    const scope = { amount: 999_999_999.999999 };
    expect(await ask(agent, { scope, max_uses: 2 })).toBe('pending');
    expect(await ask(agent, { scope, max_uses: 1_000 })).toBe('pending');
    expect(await ask(agent, { scope })).toBe('approved');
    expect((await readPolicy(account, policy)).usage.sum).toBe(999_999_999.999999);
    expect(await askFor(agent, [0.000001])).toEqual(['pending']);
  });

  it('has no room for a value that is no amount', async () => {
    const { account, agent } = await makeScene();
    const budget = { per: 'total', sum: { key: 'amount', max: 999_999_999 } };
    const policy = await makePolicy(account, { budget });
    const values = [1e308, 1e9, 1e-7, 1.0000001, -1, '5', [], [5], {}, null, true];
    expect(await askFor(agent, values)).toEqual(values.map(() => 'pending'));
    for (const scope of [{}, { Amount: 1 }, { nested: { amount: 1 } }])
      expect(await ask(agent, { scope })).toBe('pending');
    expect((await readPolicy(account, policy)).usage).toMatchObject({ requests: 0, sum: 0 });
  });

  it.each(['__proto__', 'constructor', 'a.b', ' a '])('sums the key %j', async (key) => {
    const { world, account, agent } = await makeScene();
    const policy = await makePolicy(account, { budget: { per: 'total', sum: { key, max: 5 } } });
    expect(await ask(agent)).toBe('pending');
    const raw = `{"action": "payment.send", "resource": "account:1", "scope": {"${key}": 5}}`;
    const call = { token: agent.key, raw, headers: { 'Content-Type': 'application/json' } };
    expect((await world.must(201, 'POST', '/v1/permissions', call)).body.status).toBe('approved');
    expect((await readPolicy(account, policy)).usage.sum).toBe(5);
  });
});

describe('the window of a budget', () => {
  it.each<[string, string, string, string]>([
    ['hour', '2026-01-31T12:59:59.999Z', '2026-01-31T12:00:00.000Z', '2026-01-31T13:00:00.000Z'],
    ['day', '2024-02-28T23:59:59.999Z', '2024-02-28T00:00:00.000Z', '2024-02-29T00:00:00.000Z'],
    ['day', '2024-02-29T23:59:59.999Z', '2024-02-29T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
    ['day', '2026-12-31T23:59:59.999Z', '2026-12-31T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    ['month', '2024-02-29T23:59:59.999Z', '2024-02-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
    ['month', '2025-02-28T23:59:59.999Z', '2025-02-01T00:00:00.000Z', '2025-03-01T00:00:00.000Z'],
    ['month', '2026-12-31T23:59:59.999Z', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
  ])('of a %s ends after %s', async (per, last, start, next) => {
    const { world, account, agent } = await makeScene(Date.parse(last));
    const budget = { per, requests: 2, sum: { key: 'amount', max: 1 } };
    const policy = await makePolicy(account, { budget });
    expect(policy.usage).toEqual({ window_start: start, requests: 0, sum: 0 });
    expect(await askFor(agent, [0.5, 0.5, 0.5])).toEqual(['approved', 'approved', 'pending']);
    const used = { window_start: start, requests: 2, sum: 1 };
    expect((await readPolicy(account, policy)).usage).toEqual(used);
    world.advance(1);
    const fresh = { window_start: next, requests: 0, sum: 0 };
    expect((await readPolicy(account, policy)).usage).toEqual(fresh);
    expect(await askFor(agent, [0.5, 0.5, 0.5])).toEqual(['approved', 'approved', 'pending']);
    expect((await readPolicy(account, policy)).usage).toEqual({ ...used, window_start: next });
  });

  it('of a total never ends, and begins when the budget is set', async () => {
    const { world, account, agent } = await makeScene();
    const policy = await makePolicy(account, { budget: { per: 'total', requests: 1 } });
    expect(policy.usage.window_start).toBe('2026-01-31T12:00:00.000Z');
    expect(await ask(agent)).toBe('approved');
    world.advance(400 * 86_400_000);
    expect(await ask(agent)).toBe('pending');
    expect((await readPolicy(account, policy)).usage).toEqual({ ...policy.usage, requests: 1 });
  });
});

describe('a change of a policy', () => {
  async function makeUsed(budget: Json) {
    const { world, account, agent } = await makeScene();
    const policy = await makePolicy(account, { conditions: ANY_AMOUNT, budget });
    expect(await askFor(agent, [2])).toEqual(['approved']);
    const change = async (fields: Json) =>
      (await account.must(200, 'PUT', `/v1/policies/${policy.id}`, fields)).body;
    return { world, account, agent, policy, change };
  }

  it('keeps the count, unless the period or the key changes', async () => {
    const sum = { key: 'amount', max: 10 };
    const { world, policy, change } = await makeUsed({ per: 'day', requests: 5, sum });
    world.advance(1);
    const used = { ...policy.usage, requests: 1, sum: 2 };
    expect((await change({ name: 'Other', priority: 3 })).usage).toEqual(used);
    expect((await change({ budget: { per: 'day', sum } })).usage).toEqual(used);
    const lower = { per: 'day', requests: 1, sum: { ...sum, max: 1 } };
    expect((await change({ budget: lower })).usage).toEqual(used);
    expect((await change({ is_active: false, budget: lower })).usage).toEqual(used);
    expect((await change({ budget: { ...lower, per: 'hour' } })).usage).toEqual({
      window_start: '2026-01-31T12:00:00.000Z',
      requests: 0,
      sum: 0,
    });
  });

  it.each([
    [{ per: 'total', requests: 5, sum: { key: 'amount', max: 5 } }],
    [{ per: 'day', requests: 5, sum: { key: 'count', max: 5 } }],
    [{ per: 'day', requests: 5 }],
    [null],
  ])('to %j restarts the count', async (budget) => {
    const { change } = await makeUsed({ per: 'day', requests: 5, sum: { key: 'amount', max: 5 } });
    const { usage } = await change({ budget });
    if (budget === null) expect(usage).toBe(null);
    else expect(usage).toMatchObject({ requests: 0, sum: 0 });
  });

  it('to a lower limit leaves no room, and to a higher one gives more', async () => {
    const { agent, change } = await makeUsed({ per: 'day', requests: 1 });
    expect(await askFor(agent, [1])).toEqual(['pending']);
    await change({ budget: { per: 'day', requests: 2 } });
    expect(await askFor(agent, [1, 1])).toEqual(['approved', 'pending']);
    await change({ budget: { per: 'day', requests: 1 } });
    expect(await askFor(agent, [1])).toEqual(['pending']);
    await change({ budget: null });
    expect(await askFor(agent, [1, 1])).toEqual(['approved', 'approved']);
  });

  it.each([
    [{ effect: 'deny' }, ['budget', 'expires_at']],
    [{ effect: 'review', budget: null }, ['expires_at']],
    [{ effect: 'deny', expires_at: null }, ['budget']],
  ])('to %j is refused', async (fields, faults) => {
    const { account } = await makeScene();
    await makeMember(account, 'approver');
    const policy = await makePolicy(account, {
      budget: { per: 'day', requests: 1 },
      expires_at: '2026-02-01T00:00:00Z',
    });
    const { body } = await account.must(400, 'PUT', `/v1/policies/${policy.id}`, fields);
    expect(body.errors.map(({ path }: Json) => path)).toEqual(faults.map((name) => `body.${name}`));
    const without = { ...fields, budget: null, expires_at: null };
    await account.must(200, 'PUT', `/v1/policies/${policy.id}`, without);
    const again = { budget: { per: 'day', requests: 1 } };
    await account.must(400, 'PUT', `/v1/policies/${policy.id}`, again);
    const approving = { ...again, effect: 'approve' };
    await account.must(200, 'PUT', `/v1/policies/${policy.id}`, approving);
  });
});

describe('the expiry of a policy', () => {
  it('ends it at its millisecond, and it may be changed afterwards', async () => {
    const { world, account, agent } = await makeScene();
    const policy = await makePolicy(account, { expires_at: '2026-01-31T12:00:01Z' });
    expect(policy.expires_at).toBe('2026-01-31T12:00:01.000Z');
    world.advance(999);
    expect(await ask(agent)).toBe('approved');
    world.advance(1);
    expect(await ask(agent)).toBe('pending');
    const path = `/v1/policies/${policy.id}`;
    const renamed = { name: 'Renamed', expires_at: policy.expires_at };
    await account.must(200, 'PUT', path, renamed);
    const { body } = await account.must(400, 'PUT', path, { expires_at: '2026-01-31T12:00:00Z' });
    expect(body.errors[0].path).toBe('body.expires_at');
    await account.must(200, 'PUT', path, { expires_at: '2026-01-31T12:00:01.001Z' });
    expect(await ask(agent)).toBe('approved');
    await account.must(200, 'PUT', path, { expires_at: null });
    world.advance(86_400_000);
    expect(await ask(agent)).toBe('approved');
  });
});

describe('an invalid budget', () => {
  it.each<[string, Json]>([
    ['budget', { budget: { per: 'day' } }],
    ['budget', { budget: 5 }],
    ['budget.per', { budget: { requests: 5 } }],
    ['budget.per', { budget: { per: 'week', requests: 5 } }],
    ['budget.requests', { budget: { per: 'day', requests: 0 } }],
    ['budget.requests', { budget: { per: 'day', requests: 1_000_001 } }],
    ['budget.requests', { budget: { per: 'day', requests: 1.5 } }],
    ['budget.requests', { budget: { per: 'day', requests: null } }],
    ['budget.sum.key', { budget: { per: 'day', sum: { key: '', max: 5 } } }],
    ['budget.sum.max', { budget: { per: 'day', sum: { key: 'a', max: -1 } } }],
    ['budget.sum.max', { budget: { per: 'day', sum: { key: 'a', max: 1e9 } } }],
    ['budget.sum.max', { budget: { per: 'day', sum: { key: 'a', max: 1e-7 } } }],
    ['budget.sum.max', { budget: { per: 'day', sum: { key: 'a', max: '5' } } }],
    ['budget.sum.max', { budget: { per: 'day', sum: { key: 'a' } } }],
    ['budget.sum', { budget: { per: 'day', sum: { key: 'a', max: 1, min: 0 } } }],
    ['budget', { budget: { per: 'day', requests: 1, window: 1 } }],
    ['budget', { effect: 'deny', budget: { per: 'day', requests: 1 } }],
    ['budget', { effect: 'review', budget: { per: 'day', requests: 1 } }],
    ['expires_at', { effect: 'deny', expires_at: '2027-01-01T00:00:00Z' }],
    ['expires_at', { effect: 'review', expires_at: '2027-01-01T00:00:00Z' }],
    ['expires_at', { expires_at: '2026-01-31T12:00:00Z' }],
    ['expires_at', { expires_at: '2026-01-31' }],
    ['expires_at', { expires_at: 5 }],
    ['usage', { usage: null }],
  ])('is refused at %s: %j', async (path, fields) => {
    const { account } = await makeScene();
    const { body } = await account.must(400, 'POST', '/v1/policies', { ...APPROVE, ...fields });
    expect(body.errors[0].path).toMatch(new RegExp(`^body\\.(${path.replaceAll('.', '\\.')})`));
    expect((await account.must(200, 'GET', '/v1/policies')).body.data).toEqual([]);
  });
});

describe('what is only tried', () => {
  it('is simulated with the room that is left, and takes none', async () => {
    const { world, account, agent } = await makeScene();
    const sum = { key: 'amount', max: 10 };
    const spent = await makePolicy(account, { priority: 3, budget: { per: 'day', sum } });
    const expiring = { priority: 2, expires_at: '2026-01-31T13:00:00Z' };
    const expired = await makePolicy(account, expiring);
    const last = await makePolicy(account, { priority: 1 });
    const simulate = async (amount: number) => {
      const asked = { ...PAY, agent_id: agent.id, scope: { amount } };
      return (await account.must(200, 'POST', '/v1/policies/simulate', asked)).body;
    };
    const all = [spent.id, expired.id, last.id];
    for (let times = 0; times < 3; times++) {
      const open = { decision: 'approve', policy_id: spent.id, matched: all, exhausted: [] };
      expect(await simulate(10)).toEqual(open);
    }
    expect(await askFor(agent, [6])).toEqual(['approved']);
    world.advance(3_600_000);
    expect(await simulate(4)).toMatchObject({ policy_id: spent.id, exhausted: [expired.id] });
    expect(await simulate(5)).toEqual({
      decision: 'approve',
      policy_id: last.id,
      matched: [last.id],
      exhausted: [spent.id, expired.id],
    });
  });

  it('is replayed without the budget, and says so', async () => {
    const { account, agent } = await makeScene();
    for (let times = 0; times < 3; times++) await ask(agent);
    const replay = async (fields: Json) => {
      const policy = { ...APPROVE, ...fields };
      return (await account.must(200, 'POST', '/v1/policies/replay', { policy })).body;
    };
    const counted = await replay({ budget: { per: 'day', requests: 1 } });
    expect(counted).toMatchObject({ approve: 3, budget_ignored: true });
    const expiring = await replay({ expires_at: '2026-02-01T00:00:00Z' });
    expect(expiring).toMatchObject({ approve: 3 });
    expect(expiring).not.toHaveProperty('budget_ignored');
    const policy = { ...APPROVE, effect: 'deny', budget: { per: 'day', requests: 1 } };
    const { body } = await account.must(400, 'POST', '/v1/policies/replay', { policy });
    expect(body.errors[0].path).toBe('body.policy.budget');
  });
});

it.runIf(depth.isDeep)('a count moves with its account', async () => {
  const { world, account, agent } = await makeScene();
  Object.assign(world.env, { DB_01: DATABASES['01'] });
  const budget = { per: 'total', requests: 5, sum: { key: 'amount', max: 1 } };
  const policy = await makePolicy(account, { budget, expires_at: '2026-03-01T00:00:00Z' });
  expect(await askFor(agent, [0.1, 0.2])).toEqual(['approved', 'approved']);
  const before = await readPolicy(account, policy);
  await orderMove(world, account.id, '01');
  await settleMoves(world);
  expect(await readPolicy(account, policy)).toEqual(before);
  expect(before.usage).toMatchObject({ requests: 2, sum: 0.3 });
  expect(await askFor(agent, [0.7, 0.1])).toEqual(['approved', 'pending']);
  expect((await readPolicy(account, policy)).usage).toMatchObject({ requests: 3, sum: 1 });
});
