import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { type TestAccount, World } from '../support/world';

async function makeAgent() {
  const account = await new World().account();
  return { world: account.world, account, agent: await account.agent() };
}

describe('a permission', () => {
  it('is requested with an action and a resource, and is then pending', async () => {
    const { agent } = await makeAgent();
    const answer = await agent.must(201, 'POST', '/v1/permissions', {
      action: 'email.send',
      resource: 'mailbox:a',
    });
    expect(answer.headers.get('Location')).toBe(`/v1/permissions/${answer.body.id}`);
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^perm_[0-9a-hjkmnp-tv-z]{26}$/),
      agent_id: agent.id,
      action: 'email.send',
      resource: 'mailbox:a',
      scope: {},
      granted_scope: null,
      reason: null,
      status: 'pending',
      decided_by: null,
      decided_at: null,
      decision_reason: null,
      policy_id: null,
      token: null,
      expires_at: '2026-01-31T13:00:00.000Z',
      created_at: '2026-01-31T12:00:00.000Z',
      updated_at: '2026-01-31T12:00:00.000Z',
      title: null,
      input_digest: null,
      preview_digest: null,
      external_id: null,
      connection_id: null,
      series: null,
      granted_series: null,
      review: null,
      outcome: null,
      input: null,
      preview: null,
    });
  });

  it('shows what was requested', async () => {
    const { account, agent } = await makeAgent();
    const scope = JSON.parse(
      '{"amount": 0.5, "to": ["a", "a"], "__proto__": {"x": null}, "": "😀"}',
    );
    const asked = { action: 'a-1.b_2.c', resource: 'k-1_x:any: text “é😀”', scope, expires_in: 60 };
    const { id } = await agent.request({
      ...asked,
      reason: '  because  ',
      token_ttl: 30,
      max_uses: 1_000,
    });
    for (const caller of [agent, account]) {
      const { body } = await caller.must(200, 'GET', `/v1/permissions/${id}`);
      expect([body.action, body.resource, body.reason]).toEqual([
        asked.action,
        asked.resource,
        'because',
      ]);
      expect(JSON.stringify(body.scope)).toBe(JSON.stringify(scope));
      expect(body.expires_at).toBe('2026-01-31T12:01:00.000Z');
    }
  });

  it('reads the same for its agent and for the account', async () => {
    const { account, agent } = await makeAgent();
    const asked = await agent.request();
    expect((await agent.must(200, 'GET', `/v1/permissions/${asked.id}`)).body).toEqual(asked);
    expect((await account.must(200, 'GET', `/v1/permissions/${asked.id}`)).body).toEqual(asked);
  });

  it('is invisible to other agents and other accounts', async () => {
    const { world, account, agent } = await makeAgent();
    const stranger = await world.account();
    const others = [await account.agent(), stranger, await stranger.agent()];
    const { id } = await agent.request();
    for (const caller of others) {
      const { status, body } = await caller.call('GET', `/v1/permissions/${id}`);
      expect([status, body.code]).toEqual([404, 'not_found']);
    }
    for (const decision of ['approve', 'deny']) {
      const { status, body } = await stranger.call('POST', `/v1/permissions/${id}/${decision}`);
      expect([status, body.code]).toEqual([404, 'not_found']);
    }
    expect((await agent.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('pending');
  });

  it.each([
    'perm_01h455vb4pex5vsknk084sn02q',
    'token_01h455vb4pex5vsknk084sn02q',
    'perm_',
    'x',
    '%00',
    '%ff',
  ])('is not found by the id %s', async (id) => {
    const { account, agent } = await makeAgent();
    const answers = [
      await agent.call('GET', `/v1/permissions/${id}`),
      await account.call('GET', `/v1/permissions/${id}`),
      await account.call('POST', `/v1/permissions/${id}/approve`),
      await account.call('POST', `/v1/permissions/${id}/deny`),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      Array(4).fill([404, 'not_found']),
    );
  });

  it('expires at the exact millisecond, and cannot be decided afterwards', async () => {
    const { world, account, agent } = await makeAgent();
    const [early, late] = [
      await agent.request({ expires_in: 60 }),
      await agent.request({ expires_in: 60 }),
    ];
    const status = async () =>
      (await agent.must(200, 'GET', `/v1/permissions/${late.id}`)).body.status;
    world.advance(59_999);
    expect(await status()).toBe('pending');
    await account.must(200, 'POST', `/v1/permissions/${early.id}/approve`);
    world.advance(1);
    expect(await status()).toBe('expired');
    for (const sweep of [async () => undefined, () => world.sweep()]) {
      await sweep();
      for (const decision of ['approve', 'deny']) {
        const answer = await account.call('POST', `/v1/permissions/${late.id}/${decision}`);
        expect([answer.status, answer.body.code]).toEqual([409, 'not_pending']);
      }
    }
    expect(await status()).toBe('expired');
    expect((await account.must(200, 'GET', `/v1/permissions/${early.id}`)).body.status).toBe(
      'approved',
    );
  });
});

describe('a long-polling client', () => {
  const LOOKS = [500, 1_000, 2_000, 3_000, 4_000, 5_000, 5_000];

  it.each([
    [0, []],
    [1, [500, 500]],
    [3, [500, 1_000, 1_500]],
    [15, [500, 1_000, 2_000, 3_000, 4_000, 4_500]],
    [25, [...LOOKS, 4_500]],
  ])(
    'that waits %d seconds gets the pending permission after the expected pauses',
    async (wait, pauses) => {
      const { world, agent } = await makeAgent();
      const { id } = await agent.request();
      const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}?wait=${wait}`);
      expect(body.status).toBe('pending');
      expect(world.pauses).toEqual(pauses);
    },
  );

  it.each(['agent', 'account'] as const)(
    'is answered at the first check after the decision (%s)',
    async (reader) => {
      const { world, account, agent } = await makeAgent();
      const { id } = await agent.request();
      world.whileAsleep = async () => {
        if (world.pauses.length !== 3) return;
        await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
      };
      const { body } = await { agent, account }[reader].must(
        200,
        'GET',
        `/v1/permissions/${id}?wait=25`,
      );
      expect(world.pauses).toEqual([500, 1_000, 2_000]);
      expect([body.status, body.token.status]).toEqual(['approved', 'active']);
      expect(typeof body.token.value).toBe({ agent: 'string', account: 'undefined' }[reader]);
    },
  );

  it('is answered when the request is denied', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request();
    world.whileAsleep = () => account.call('POST', `/v1/permissions/${id}/deny`, { reason: 'no' });
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}?wait=25`);
    expect([body.status, body.decision_reason, world.pauses]).toEqual(['denied', 'no', [500]]);
  });

  it('is answered when the request expires meanwhile', async () => {
    const { world, agent } = await makeAgent();
    const { id } = await agent.request({ expires_in: 60 });
    world.advance(58_000);
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}?wait=25`);
    expect([body.status, world.pauses]).toEqual(['expired', [500, 1_000, 2_000]]);
  });

  it.each<[string, number, string, (account: TestAccount, agentId: string) => Promise<unknown>]>([
    [
      'agent is deleted',
      401,
      'unauthorized',
      (account, id) => account.must(204, 'DELETE', `/v1/agents/${id}`),
    ],
    [
      'key is revoked',
      401,
      'unauthorized',
      (account, id) =>
        account.must(200, 'POST', `/v1/agents/${id}/rotate-key`, { revoke_immediately: true }),
    ],
    [
      'agent is switched off',
      403,
      'agent_inactive',
      (account, id) => account.must(200, 'PUT', `/v1/agents/${id}`, { is_active: false }),
    ],
    ['account is switched off', 403, 'account_inactive', (account) => switchOff(account)],
  ])('gets an error instead of the token when the %s meanwhile', async (_, status, code, end) => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request();
    world.whileAsleep = async () => {
      await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
      await end(account, agent.id);
    };
    const answer = await agent.call('GET', `/v1/permissions/${id}?wait=25`);
    expect([answer.status, answer.body.code, world.pauses]).toEqual([status, code, [500]]);
    expect(answer.text).not.toContain('eyJ');
  });

  it('waits no longer than requested when the clock is set back', async () => {
    const { world, agent } = await makeAgent();
    const { id } = await agent.request();
    world.whileAsleep = async () => world.advance(-600_000);
    await agent.must(200, 'GET', `/v1/permissions/${id}?wait=3`);
    expect(world.pauses).toEqual([500, 1_000, 1_500]);
  });

  it('does not wait for a permission that is already decided', async () => {
    const { world, agent } = await makeAgent();
    const { id } = await agent.approved();
    expect((await agent.must(200, 'GET', `/v1/permissions/${id}?wait=25`)).body.status).toBe(
      'approved',
    );
    expect(world.pauses).toEqual([]);
  });
});

function switchOff({ world, id }: TestAccount) {
  return world.must(200, 'PATCH', `/v1/admin/users/${id}`, {
    token: env.ADMIN_TOKEN,
    body: { is_active: false },
  });
}
