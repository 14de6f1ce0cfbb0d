import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { FaultyDatabase } from '../support/faults';
import { checkIntegrity } from '../support/integrity';
import { type TestAccount, World } from '../support/world';

const operator = env.ADMIN_TOKEN;

/**
 * A world in which another request can run between the authentication and the write of a request. For
 * uses in one round trip see `test/permissions/tokens/use-in-one-trip.test.ts`.
 */
async function makeScene() {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const account = await world.account();
  const agent = await account.agent();
  // The other request has its own world, so that its database calls are not counted.
  const other = new World();
  const meanwhile = (happens: () => Promise<unknown>) => {
    world.restart();
    database.before(2, happens);
  };
  return { world, account, agent, other, meanwhile };
}

function setActive(world: World, account: TestAccount, isActive: boolean) {
  return world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
    token: operator,
    body: { is_active: isActive },
  });
}

it('a token cannot be used when its account is deactivated concurrently', async () => {
  const { world, account, agent, other, meanwhile } = await makeScene();
  const { token } = await agent.approved();
  meanwhile(() => setActive(other, account, false));
  const answer = await account.call('POST', '/v1/tokens/use', { token: token.value });
  expect([answer.status, answer.body.code]).toEqual([403, 'account_inactive']);
  await setActive(world, account, true);
  expect(await account.log('&event_type=use')).toEqual([]);
  await account.must(200, 'POST', '/v1/tokens/use', { token: token.value });
});

it('a token cannot be used when its agent is deactivated concurrently', async () => {
  const { account, agent, other, meanwhile } = await makeScene();
  const { token } = await agent.approved();
  meanwhile(() =>
    other.must(200, 'PUT', `/v1/agents/${agent.id}`, {
      token: account.token,
      body: { is_active: false },
    }),
  );
  const { status, body } = await account.call('POST', '/v1/tokens/use', { token: token.value });
  expect([status, body.reason]).toEqual([409, 'agent_inactive']);
  expect(await account.log('&event_type=use')).toEqual([]);
});

it.each([
  [
    'deactivated',
    (id: string) => ['PUT', `/v1/agents/${id}`, { is_active: false }] as const,
    [403, 'agent_inactive'],
  ],
  [
    'deleted',
    (id: string) => ['DELETE', `/v1/agents/${id}`, undefined] as const,
    [401, 'unauthorized'],
  ],
])('an agent cannot request a permission when it is %s concurrently', async (_, end, refusal) => {
  const { account, agent, other, meanwhile } = await makeScene();
  const [method, path, body] = end(agent.id);
  meanwhile(() => other.call(method, path, { token: account.token, ...(body && { body }) }));
  const answer = await agent.call('POST', '/v1/permissions', {
    action: 'file.read',
    resource: 'file:a',
  });
  expect([answer.status, answer.body.code]).toEqual(refusal);
  expect(await account.log()).toEqual([]);
});

it('a request cannot be approved when its agent is deleted concurrently', async () => {
  const { account, agent, other, meanwhile } = await makeScene();
  const { id } = await agent.request();
  meanwhile(() => other.must(204, 'DELETE', `/v1/agents/${agent.id}`, { token: account.token }));
  const answer = await account.call('POST', `/v1/permissions/${id}/approve`);
  expect([answer.status, answer.body.code]).toEqual([409, 'not_pending']);
});

it('an account cannot get a custom retention when it leaves the enterprise plan concurrently', async () => {
  const { world, other, meanwhile } = await makeScene();
  const account = await world.account({ plan: 'enterprise' });
  const path = `/v1/admin/users/${account.id}`;
  meanwhile(() => other.must(200, 'PATCH', path, { token: operator, body: { plan: 'pro' } }));
  const answer = await world.call('PATCH', path, {
    token: operator,
    body: { audit_retention_days: 30 },
  });
  expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
  await world.must(200, 'PATCH', path, { token: operator, body: { plan: 'enterprise' } });
  expect((await account.must(200, 'GET', '/v1/me')).body.audit_retention_days).toBe(2557);
});

it('an account can be renamed when its plan changes concurrently', async () => {
  const { world, account, other, meanwhile } = await makeScene();
  const path = `/v1/admin/users/${account.id}`;
  const body = { plan: 'enterprise', audit_retention_days: 30 };
  meanwhile(() => other.must(200, 'PATCH', path, { token: operator, body }));
  await world.must(200, 'PATCH', path, { token: operator, body: { name: 'New' } });
  expect((await account.must(200, 'GET', '/v1/me')).body).toMatchObject({ ...body, name: 'New' });
});

it('a use that loses the last use to a concurrent one fails with the reason `used` after two database calls', async () => {
  const { account, agent, other, meanwhile } = await makeScene();
  const { token } = await agent.approved();
  meanwhile(() =>
    other.must(200, 'POST', '/v1/tokens/use', {
      token: account.token,
      body: { token: token.value },
    }),
  );
  const answer = await account.call('POST', '/v1/tokens/use', { token: token.value });
  expect([answer.status, answer.body.reason, answer.cost.trips]).toEqual([409, 'used', 2]);
  expect(await account.log('&event_type=use')).toHaveLength(1);
  expect(await checkIntegrity(env.DB)).toEqual([]);
});

it('a use fails with the reason `revoked`, read in a third database call, when the token is revoked concurrently', async () => {
  const { account, agent, other, meanwhile } = await makeScene();
  const { token } = await agent.approved();
  meanwhile(() =>
    other.must(200, 'POST', '/v1/tokens/revoke', {
      token: account.token,
      body: { token_id: token.id },
    }),
  );
  const answer = await account.call('POST', '/v1/tokens/use', { token: token.value });
  expect([answer.status, answer.body.reason, answer.cost.trips]).toEqual([409, 'revoked', 3]);
  expect(await account.log('&event_type=use')).toEqual([]);
});
