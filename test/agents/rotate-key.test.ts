import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { countRows, emptyTables } from '../support/tables';
import { type TestAgent, World } from '../support/world';

beforeEach(() => emptyTables(env.DB));

function rotate({ account, id }: TestAgent, body?: Record<string, unknown>) {
  return account.must(200, 'POST', `/v1/agents/${id}/rotate-key`, body);
}

/** Whether each key is accepted now. */
function works(world: World, ...keys: string[]): Promise<boolean[]> {
  return Promise.all(
    keys.map(async (token) => {
      const { status } = await world.call('GET', '/v1/permissions', { token });
      expect([200, 401]).toContain(status);
      return status === 200;
    }),
  );
}

async function makeAgent() {
  const account = await new World().account();
  return { world: account.world, account, agent: await account.agent() };
}

it('a rotation returns a new key, and the old key works for a day by default', async () => {
  const { world, account, agent } = await makeAgent();
  world.advance(7);
  const { body } = await rotate(agent);
  expect(body).toEqual({
    id: agent.id,
    api_key: expect.stringMatching(/^csa_00[0-9A-Za-z]{38}$/),
    api_key_prefix: body.api_key.slice(0, 12),
    old_key_expires_at: '2026-02-01T12:00:00.007Z',
  });
  const { body: shown } = await account.must(200, 'GET', `/v1/agents/${agent.id}`);
  expect([shown.api_key_prefix, shown.updated_at]).toEqual([
    body.api_key_prefix,
    '2026-01-31T12:00:00.007Z',
  ]);
  world.advance(86_399_999);
  expect(await works(world, agent.key, body.api_key)).toEqual([true, true]);
  world.advance(1);
  expect(await works(world, agent.key, body.api_key)).toEqual([false, true]);
});

it.each([1, 60, 2_592_000])(
  'the old key works for a grace period of %d seconds, and not one millisecond longer',
  async (seconds) => {
    const { world, agent } = await makeAgent();
    const { body } = await rotate(agent, { grace_period: seconds });
    expect(body.old_key_expires_at).toBe(new Date(world.now + seconds * 1_000).toISOString());
    world.advance(seconds * 1_000 - 1);
    expect(await works(world, agent.key, body.api_key)).toEqual([true, true]);
    world.advance(1);
    expect(await works(world, agent.key, body.api_key)).toEqual([false, true]);
  },
);

it('a rotation does not change the deadlines of keys that were replaced earlier', async () => {
  const { world, agent } = await makeAgent();
  const second = (await rotate(agent, { grace_period: 300 })).body.api_key;
  const third = (await rotate(agent, { grace_period: 100 })).body.api_key;
  const fourth = (await rotate(agent, { grace_period: 200 })).body.api_key;
  const keys = [agent.key, second, third, fourth];
  const seen: boolean[][] = [];
  for (const wait of [99_999, 1, 99_999, 1, 99_999, 1]) {
    world.advance(wait);
    seen.push(await works(world, ...keys));
  }
  expect(seen).toEqual([
    [true, true, true, true],
    [true, false, true, true],
    [true, false, true, true],
    [true, false, false, true],
    [true, false, false, true],
    [false, false, false, true],
  ]);
});

it.each([
  { revoke_immediately: true },
  { grace_period: 0 },
  { revoke_immediately: true, grace_period: 3_600 },
  { revoke_immediately: false, grace_period: 0 },
])('all older keys end immediately with %j', async (input) => {
  const { world, agent } = await makeAgent();
  const second = (await rotate(agent, { grace_period: 3_600 })).body.api_key;
  world.advance(1_234);
  const { body } = await rotate(agent, input);
  expect(body.old_key_expires_at).toBe('2026-01-31T12:00:01.234Z');
  expect(await works(world, agent.key, second, body.api_key)).toEqual([false, false, true]);
});

it('the grace period applies if revoke_immediately is false', async () => {
  const { world, agent } = await makeAgent();
  const { body } = await rotate(agent, { revoke_immediately: false, grace_period: 5 });
  expect(body.old_key_expires_at).toBe('2026-01-31T12:00:05.000Z');
  expect(await works(world, agent.key, body.api_key)).toEqual([true, true]);
});

it('all keys of an agent that is switched off are refused, including replaced ones', async () => {
  const { world, account, agent } = await makeAgent();
  const { api_key } = (await rotate(agent)).body;
  await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: false });
  for (const token of [agent.key, api_key]) {
    const { status, body } = await world.call('GET', '/v1/permissions', { token });
    expect([status, body.code]).toEqual([403, 'agent_inactive']);
  }
});

it('a new key is shown in no other answer', async () => {
  const { account, agent } = await makeAgent();
  const { api_key } = (await rotate(agent)).body;
  const answers = [
    await account.must(200, 'GET', `/v1/agents/${agent.id}`),
    await account.must(200, 'GET', '/v1/agents'),
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { name: 'x' }),
  ];
  for (const { text } of answers)
    expect([text.includes(api_key), text.includes(agent.key)]).toEqual([false, false]);
});

it('the sweep after the grace period erases the old key', async () => {
  const { world, agent } = await makeAgent();
  expect((await countRows(env.DB)).agent_keys).toBe(1);
  const { api_key } = (await rotate(agent, { grace_period: 60 })).body;
  world.advance(59_999);
  await world.sweep();
  expect((await countRows(env.DB)).agent_keys).toBe(2);
  world.advance(1);
  await world.sweep();
  expect(await works(world, agent.key, api_key)).toEqual([false, true]);
  expect((await countRows(env.DB)).agent_keys).toBe(1);
});
