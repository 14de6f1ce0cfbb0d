import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { checkIntegrity } from '../support/integrity';
import { type Json, type TestAccount, World } from '../support/world';

const MAIL = { effect: 'approve', name: 'Mail', actions: ['email.*'], resources: ['mailbox:*'] };

async function makePolicy(
  account: TestAccount,
  fields: Record<string, unknown> = {},
): Promise<Json> {
  return (await account.must(201, 'POST', '/v1/policies', { ...MAIL, ...fields })).body;
}

/** An array that is nested this deeply. */
function nest(levels: number): Json {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels));
}

async function makeScene() {
  const world = new World();
  const account = await world.account();
  return { world, account, agent: await account.agent() };
}

describe('a policy', () => {
  it('is created with defaults, read, listed, changed and deleted', async () => {
    const { world, account } = await makeScene();
    const answer = await account.must(201, 'POST', '/v1/policies', MAIL);
    const policy = answer.body;
    expect(answer.headers.get('Location')).toBe(`/v1/policies/${policy.id}`);
    expect(policy).toEqual({
      id: expect.stringMatching(/^policy_[0-9a-z]{26}$/),
      ...MAIL,
      agent_ids: null,
      conditions: {},
      token_ttl: null,
      max_uses: null,
      reason: null,
      priority: 0,
      is_active: true,
      review: null,
      budget: null,
      expires_at: null,
      usage: null,
      created_by: account.id,
      created_at: '2026-01-31T12:00:00.000Z',
      updated_at: '2026-01-31T12:00:00.000Z',
    });
    expect((await account.must(200, 'GET', `/v1/policies/${policy.id}`)).body).toEqual(policy);
    world.advance(1_000);
    const second = await makePolicy(account, { effect: 'deny', priority: -3 });
    const page = (await account.must(200, 'GET', '/v1/policies?limit=1')).body;
    expect(page).toEqual({ data: [second], has_more: true, next_cursor: expect.any(String) });
    const rest = (await account.must(200, 'GET', `/v1/policies?limit=1&cursor=${page.next_cursor}`))
      .body;
    expect(rest).toEqual({ data: [policy], has_more: false, next_cursor: null });
    const changes = {
      conditions: { limit: { max: 5 } },
      token_ttl: 60,
      reason: 'Small ones',
      is_active: false,
    };
    const changed = (await account.must(200, 'PUT', `/v1/policies/${policy.id}`, changes)).body;
    expect(changed).toEqual({ ...policy, ...changes, updated_at: '2026-01-31T12:00:01.000Z' });
    const cleared = { token_ttl: null, reason: null, agent_ids: null };
    expect((await account.must(200, 'PUT', `/v1/policies/${policy.id}`, cleared)).body).toEqual({
      ...changed,
      ...cleared,
    });
    await account.must(204, 'DELETE', `/v1/policies/${policy.id}`);
    await account.must(404, 'GET', `/v1/policies/${policy.id}`);
    await account.must(404, 'PUT', `/v1/policies/${policy.id}`, { name: 'Gone' });
    await account.must(404, 'DELETE', `/v1/policies/${policy.id}`);
  });

  it('is not visible to other accounts and does not apply to their requests', async () => {
    const { world, account } = await makeScene();
    const policy = await makePolicy(account);
    const stranger = await world.account();
    for (const [method, body] of [['GET'], ['PUT', { name: 'Mine' }], ['DELETE']] as const) {
      await stranger.must(404, method, `/v1/policies/${policy.id}`, body);
    }
    expect((await stranger.must(200, 'GET', '/v1/policies')).body.data).toEqual([]);
    const other = await stranger.agent();
    expect((await other.request()).status).toBe('pending');
  });

  it.runIf(depth.isDeep)('cannot be created beyond 200', async () => {
    const { account } = await makeScene();
    for (let i = 0; i < 200; i++) await makePolicy(account);
    const { status, body } = await account.call('POST', '/v1/policies', MAIL);
    expect([status, body.code]).toEqual([409, 'conflict']);
  });

  it.each<[string, Record<string, unknown>]>([
    ['name', { name: '' }],
    ['effect', { effect: 'allow' }],
    ['actions', { actions: [] }],
    ['actions', { actions: 'email.*' }],
    ['actions.0', { actions: [''] }],
    ['actions.0', { actions: ['x'.repeat(129)] }],
    ['resources', { resources: Array(17).fill(`x:${'x'.repeat(498)}`) }],
    ['resources', { resources: [] }],
    ['resources.1', { resources: ['*', 7] }],
    ['resources.0', { resources: ['\ud800'] }],
    ...['Email.*', 'email', 'email.send ', ' *'].map(
      (pattern): [string, Record<string, unknown>] => [
        'actions.1',
        { actions: ['email.*', pattern] },
      ],
    ),
    ...['Database:prod', ' database:*', 'database', '* '].map(
      (pattern): [string, Record<string, unknown>] => [
        'resources.1',
        { resources: ['*', pattern] },
      ],
    ),
    ['agent_ids', { agent_ids: [] }],
    ['agent_ids.0', { agent_ids: ['agent_x'] }],
    ['conditions', { conditions: [] }],
    ['conditions.amount', { conditions: { amount: 5 } }],
    ['conditions.amount', { conditions: { amount: { maximum: 5 } } }],
    ['conditions.amount.max', { conditions: { amount: { max: '5' } } }],
    ['conditions.amount.min', { conditions: { amount: { min: 6, max: 5 } } }],
    ['conditions.amount.in', { conditions: { amount: { in: [] } } }],
    ['conditions.amount', { conditions: { fine: {}, amount: { most: 5 }, other: { most: 5 } } }],
    ['conditions', { conditions: { amount: { equals: nest(9) } } }],
    ['conditions', { conditions: { amount: { equals: nest(60) } } }],
    ['conditions', { conditions: { amount: { equals: nest(6_000) } } }],
    ['conditions', { conditions: { ['x'.repeat(16_378)]: {} } }],
    [
      'conditions',
      { conditions: Object.fromEntries(Array.from({ length: 19_000 }, (_, i) => [`${i}`, 0])) },
    ],
    ['token_ttl', { token_ttl: 29 }],
    ['token_ttl', { token_ttl: 604_801 }],
    ['max_uses', { max_uses: 0 }],
    ['reason', { reason: 'x'.repeat(1_001) }],
    ['priority', { priority: 1.5 }],
    ['priority', { priority: 1e300 }],
    ['priority', { priority: -1e300 }],
    ['is_active', { is_active: 'true' }],
    ['id', { id: 'policy_01h455vb4pex5vsknk084sn02q' }],
  ])('is refused for an invalid value of %s', async (field, wrong) => {
    const { account } = await makeScene();
    const policy = await makePolicy(account);
    for (const [method, path, body] of [
      ['POST', '/v1/policies', { ...MAIL, ...wrong }],
      ['PUT', `/v1/policies/${policy.id}`, wrong],
    ] as const) {
      const answer = await account.call(method, path, body);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
      expect(answer.body.errors.map(({ path: place }: Json) => place)).toEqual([`body.${field}`]);
    }
    expect((await account.must(200, 'GET', '/v1/policies')).body.data).toEqual([policy]);
  });

  it('names only agents of its account', async () => {
    const { world, account, agent } = await makeScene();
    const policy = await makePolicy(account, { agent_ids: [agent.id] });
    const foreign = (await (await world.account()).agent()).id;
    const gone = await account.agent();
    await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
    for (const id of [foreign, gone.id]) {
      for (const [method, path, body] of [
        ['POST', '/v1/policies', { ...MAIL, agent_ids: [agent.id, id] }],
        ['PUT', `/v1/policies/${policy.id}`, { agent_ids: [id], name: 'Other' }],
      ] as const) {
        const answer = await account.call(method, path, body);
        expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, 'body.agent_ids']);
      }
    }
    expect((await account.must(200, 'GET', '/v1/policies')).body.data).toEqual([policy]);
    const second = await account.agent();
    const changes = { agent_ids: [second.id, agent.id] };
    const changed = (await account.must(200, 'PUT', `/v1/policies/${policy.id}`, changes)).body;
    expect(changed).toEqual({ ...policy, ...changes });
    const renamed = (
      await account.must(200, 'PUT', `/v1/policies/${policy.id}`, { ...changes, name: 'New' })
    ).body;
    expect(renamed.name).toBe('New');
  });
});

describe('a request that a policy decides', () => {
  it('is approved immediately, in two round trips, with its token and both entries', async () => {
    const { account, agent } = await makeScene();
    const policy = await makePolicy(account, {
      token_ttl: 60,
      max_uses: 2,
      reason: 'Mail is fine',
    });
    const body = {
      action: 'email.send',
      resource: 'mailbox:support',
      scope: { to: ['a'] },
      max_uses: 5,
    };
    const answer = await agent.must(201, 'POST', '/v1/permissions', body);
    expect(answer.cost.trips).toBe(2);
    expect(answer.cost.written).toBeLessThanOrEqual(32);
    expect(answer.body).toMatchObject({
      status: 'approved',
      granted_scope: { to: ['a'] },
      decided_by: policy.id,
      decided_at: '2026-01-31T12:00:00.000Z',
      decision_reason: 'Mail is fine',
      policy_id: policy.id,
      token: {
        status: 'active',
        max_uses: 2,
        uses: 0,
        expires_at: '2026-01-31T12:01:00.000Z',
        value: expect.any(String),
      },
    });
    await account.must(200, 'POST', '/v1/tokens/use', { token: answer.body.token.value });
    const [request, approve, use] = await account.log();
    expect([request.event_type, approve.event_type, use.event_type]).toEqual([
      'request',
      'approve',
      'use',
    ]);
    expect(request.details).toMatchObject({
      decided_by: null,
      decision_reason: null,
      policy_id: null,
    });
    const decision = {
      decided_by: policy.id,
      decision_reason: 'Mail is fine',
      policy_id: policy.id,
    };
    expect(approve.details).toMatchObject({
      ...decision,
      scope: { to: ['a'] },
      token_id: answer.body.token.id,
    });
    expect(use.details).toMatchObject({
      decided_by: null,
      decision_reason: null,
      policy_id: policy.id,
    });
    const { body: statistics } = await account.must(200, 'GET', `/v1/agents/${agent.id}/stats`);
    expect(statistics).toMatchObject({
      total_requests: 1,
      approved_requests: 1,
      tokens_issued: 1,
      tokens_used: 1,
    });
    expect(await checkIntegrity(env.DB)).toEqual([]);
  });

  it('is denied immediately, even if other policies approve it', async () => {
    const { account, agent } = await makeScene();
    await makePolicy(account, { priority: 1_000 });
    const policy = await makePolicy(account, { effect: 'deny', priority: -1_000, reason: 'Never' });
    const permission = await agent.request();
    expect(permission).toMatchObject({
      status: 'denied',
      token: null,
      granted_scope: null,
      decided_by: policy.id,
      decision_reason: 'Never',
      policy_id: policy.id,
    });
    expect((await account.log()).map(({ event_type }) => event_type)).toEqual(['request', 'deny']);
    const { status, body } = await account.call('POST', `/v1/permissions/${permission.id}/approve`);
    expect([status, body.code]).toEqual([409, 'not_pending']);
  });

  it('never gets a longer lifetime or more uses than it requested', async () => {
    const { account, agent } = await makeScene();
    await makePolicy(account, { token_ttl: 604_800, max_uses: 1_000 });
    const { token } = await agent.request({ token_ttl: 30, max_uses: 1 });
    expect(token).toMatchObject({ max_uses: 1, expires_at: '2026-01-31T12:00:30.000Z' });
  });

  it('stays pending if no active policy applies', async () => {
    const { account, agent } = await makeScene();
    await makePolicy(account, { is_active: false });
    await makePolicy(account, { actions: ['file.*'] });
    await makePolicy(account, { agent_ids: [(await account.agent()).id] });
    expect(await agent.request()).toMatchObject({
      status: 'pending',
      policy_id: null,
      token: null,
    });
  });

  it('keeps its decision when the policy is deleted', async () => {
    const { account, agent } = await makeScene();
    const policy = await makePolicy(account);
    const permission = await agent.request();
    await account.must(204, 'DELETE', `/v1/policies/${policy.id}`);
    const { body } = await account.must(200, 'GET', `/v1/permissions/${permission.id}`);
    expect([body.status, body.policy_id]).toEqual(['approved', policy.id]);
    expect((await agent.request()).status).toBe('pending');
  });
});

describe('a simulation', () => {
  it('shows the decision and the matching policies, and writes no entry', async () => {
    const { account, agent } = await makeScene();
    const low = await makePolicy(account);
    const high = await makePolicy(account, { priority: 7, agent_ids: [agent.id] });
    const asked = { action: 'email.send', resource: 'mailbox:support' };
    const ask = async (fields: Json = {}) =>
      (await account.must(200, 'POST', '/v1/policies/simulate', { ...asked, ...fields })).body;
    const one = { decision: 'approve', policy_id: low.id, matched: [low.id], exhausted: [] };
    expect(await ask()).toEqual(one);
    const both = {
      decision: 'approve',
      policy_id: high.id,
      matched: [high.id, low.id],
      exhausted: [],
    };
    expect(await ask({ agent_id: agent.id })).toEqual(both);
    const deny = await makePolicy(account, {
      effect: 'deny',
      conditions: { amount: { min: 100 } },
    });
    expect(await ask({ agent_id: agent.id, scope: { amount: 99 } })).toEqual(both);
    const denied = {
      decision: 'deny',
      policy_id: deny.id,
      matched: [deny.id, high.id, low.id],
      exhausted: [],
    };
    expect(await ask({ agent_id: agent.id })).toEqual(denied);
    expect(await ask({ action: 'file.read' })).toEqual({
      decision: 'pending',
      policy_id: null,
      matched: [],
      exhausted: [],
    });
    expect(await account.log()).toEqual([]);
  });
});
