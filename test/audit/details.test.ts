import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const ASKED = {
  action: 'payment.send',
  resource: 'account:“a” 😀',
  scope: { amount: 100, to: ['x', 'y'] },
};
const GRANTED = { amount: 50, to: ['x'], until: 'noon' };
const NO_DECISION = { decided_by: null, decision_reason: null, policy_id: null };
const NO_DIGESTS = { input_digest: null, preview_digest: null };

interface Scene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
}

async function makeScene(): Promise<Scene> {
  const account = await new World().account();
  return { world: account.world, account, agent: await account.agent() };
}

async function approve({ agent }: Scene): Promise<Json> {
  return agent.approved({ ...ASKED, max_uses: 2 }, { scope: GRANTED, reason: 'as agreed' });
}

/** The newest entry, which must be of the given type and on this permission. */
async function lastEntry(
  { account, agent }: Scene,
  type: string,
  permission: string,
): Promise<Json> {
  const [entry] = (await account.must(200, 'GET', '/v1/audit?limit=1')).body.data;
  expect(entry).toEqual({
    id: expect.stringMatching(/^audit_[0-9a-hjkmnp-tv-z]{26}$/),
    sequence: expect.any(Number),
    user_id: account.id,
    agent_id: agent.id,
    permission_request_id: permission,
    event_type: type,
    details: expect.any(Object),
    ip_address: expect.any(String),
    user_agent: expect.any(String),
    created_at: expect.any(String),
  });
  return entry.details;
}

it('the entry of a request has what was requested', async () => {
  const scene = await makeScene();
  const { id } = await scene.agent.request({ ...ASKED, reason: 'please' });
  expect(await lastEntry(scene, 'request', id)).toEqual({
    ...ASKED,
    ...NO_DECISION,
    ...NO_DIGESTS,
  });
});

it('the entry of an approval has what was granted, who approved it, why, and the token', async () => {
  const scene = await makeScene();
  const { id, token } = await approve(scene);
  expect(await lastEntry(scene, 'approve', id)).toEqual({
    ...ASKED,
    scope: GRANTED,
    decided_by: scene.account.id,
    decided_via: 'api',
    decision_reason: 'as agreed',
    policy_id: null,
    ...NO_DIGESTS,
    token_id: token.id,
  });
});

it('the entry of an approval without a reason has a null reason', async () => {
  const scene = await makeScene();
  const { id, token } = await scene.agent.approved(ASKED);
  const decision = {
    decided_by: scene.account.id,
    decided_via: 'api',
    decision_reason: null,
    policy_id: null,
    ...NO_DIGESTS,
  };
  expect(await lastEntry(scene, 'approve', id)).toEqual({
    ...ASKED,
    ...decision,
    token_id: token.id,
  });
});

it('the entry of a denial has what was requested, who denied it and why', async () => {
  const scene = await makeScene();
  const { id } = await scene.agent.request(ASKED);
  await scene.account.must(200, 'POST', `/v1/permissions/${id}/deny`, { reason: 'too much' });
  expect(await lastEntry(scene, 'deny', id)).toEqual({
    ...ASKED,
    decided_by: scene.account.id,
    decided_via: 'api',
    decision_reason: 'too much',
    policy_id: null,
    ...NO_DIGESTS,
  });
});

it.each(['account', 'agent'] as const)(
  'the entry of a use by the %s has what was granted, and no decision',
  async (caller) => {
    const scene = await makeScene();
    const { id, token } = await approve(scene);
    await scene[caller].must(200, 'POST', '/v1/tokens/use', { token: token.value });
    expect(await lastEntry(scene, 'use', id)).toEqual({
      ...ASKED,
      ...NO_DECISION,
      scope: GRANTED,
      token_id: token.id,
    });
  },
);

it.each(['account', 'agent'] as const)(
  'the entry of a revocation says that the %s revoked, and why',
  async (caller) => {
    const scene = await makeScene();
    const { id, token } = await approve(scene);
    await scene[caller].must(200, 'POST', '/v1/tokens/revoke', {
      token_id: token.id,
      reason: ' over ',
    });
    expect(await lastEntry(scene, 'revoke', id)).toEqual({
      ...ASKED,
      scope: GRANTED,
      decided_by: scene[caller].id,
      decided_via: 'api',
      decision_reason: 'over',
      policy_id: null,
      token_id: token.id,
    });
  },
);

it('the entry of an expired request has what was requested', async () => {
  const scene = await makeScene();
  const { id } = await scene.agent.request(ASKED);
  scene.world.advance(3_600_000);
  await scene.world.sweep();
  expect(await lastEntry(scene, 'expire', id)).toEqual({
    ...ASKED,
    ...NO_DECISION,
    expired: 'request',
  });
});

it('the entry of an expired token has what was granted', async () => {
  const scene = await makeScene();
  const { id, token } = await approve(scene);
  scene.world.advance(3_600_000);
  await scene.world.sweep();
  expect(await lastEntry(scene, 'expire', id)).toEqual({
    ...ASKED,
    ...NO_DECISION,
    scope: GRANTED,
    token_id: token.id,
    expired: 'token',
  });
});

it('every entry has the client and the time of its event', async () => {
  const { world, account, agent } = await makeScene();
  let step = 0;
  const send = (token: string, path: string, body: Json = {}) => {
    step += 1;
    world.advance(1_000);
    const headers = {
      'CF-Connecting-IP': `2001:db8::${step}`,
      'User-Agent': `client/${step} (x; y)`,
    };
    return world.call('POST', path, { token, body, headers });
  };
  const asked = { ...ASKED, max_uses: 2 };
  const { id } = (await send(agent.key, '/v1/permissions', asked)).body;
  await send(account.token, `/v1/permissions/${id}/approve`);
  const { token } = (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body;
  await send(account.token, '/v1/tokens/use', { token: token.value });
  await send(agent.key, '/v1/tokens/revoke', { token: token.value });
  const denied = (await send(agent.key, '/v1/permissions', asked)).body;
  await send(account.token, `/v1/permissions/${denied.id}/deny`);
  await send(agent.key, '/v1/permissions', asked);
  world.advance(3_600_000);
  await world.sweep();
  const log = await account.log();
  expect(
    log.map((entry) => [entry.event_type, entry.ip_address, entry.user_agent, entry.created_at]),
  ).toEqual([
    ['request', '2001:db8::1', 'client/1 (x; y)', '2026-01-31T12:00:01.000Z'],
    ['approve', '2001:db8::2', 'client/2 (x; y)', '2026-01-31T12:00:02.000Z'],
    ['use', '2001:db8::3', 'client/3 (x; y)', '2026-01-31T12:00:03.000Z'],
    ['revoke', '2001:db8::4', 'client/4 (x; y)', '2026-01-31T12:00:04.000Z'],
    ['request', '2001:db8::5', 'client/5 (x; y)', '2026-01-31T12:00:05.000Z'],
    ['deny', '2001:db8::6', 'client/6 (x; y)', '2026-01-31T12:00:06.000Z'],
    ['request', '2001:db8::7', 'client/7 (x; y)', '2026-01-31T12:00:07.000Z'],
    ['expire', '', 'countersign', '2026-01-31T13:00:07.000Z'],
  ]);
});

it('an entry of a client without an address and a user agent has empty strings', async () => {
  const { account, agent } = await makeScene();
  await agent.request();
  const [{ ip_address, user_agent }] = await account.log();
  expect([ip_address, user_agent]).toEqual(['', '']);
});

it('an entry whose random bytes were emptied in the database hides no other', async () => {
  const world = new World();
  await (await (await world.account({ email: 'other@example.com' })).agent()).request();
  const account = await world.account();
  const agent = await account.agent();
  await agent.request();
  await agent.request();
  await env.DB.prepare("update audit_entries set random = x'' where pos % 4294967296 = 1").run();
  for (const path of ['/v1/audit', '/v1/audit?order=asc'])
    expect((await account.must(200, 'GET', path)).body.data).toHaveLength(2);
});
