import { describe, expect, it } from 'vitest';
import { type Json, type TestAccount, type TestAgent, World } from '../../support/world';

async function makeToken(fields: Json = {}) {
  const account = await new World().account();
  const agent = await account.agent();
  const permission = await agent.approved({ max_uses: 3, ...fields });
  return { world: account.world, account, agent, permission, token: permission.token };
}

async function state(account: TestAccount, id: string): Promise<string> {
  return (await account.must(200, 'GET', `/v1/permissions/${id}`)).body.token.status;
}

async function events(account: TestAccount): Promise<string[]> {
  return (await account.log()).map(({ event_type }) => event_type);
}

describe('a revocation', () => {
  const callers = ['account', 'agent'] as const;
  const names: [string, (token: Json) => Json][] = [
    ['the token', ({ value }) => ({ token: value })],
    ['the token and a hint', ({ value }) => ({ token: value, token_type_hint: 'access_token' })],
    ['the token id', ({ id }) => ({ token_id: id })],
    ['the token id and a reason', ({ id }) => ({ token_id: id, reason: 'over' })],
  ];

  it.each(callers.flatMap((caller) => names.map(([name, body]) => ({ caller, name, body }))))(
    'by the $caller, with $name, ends the token',
    async ({ caller, body }) => {
      const scene = await makeToken();
      await scene[caller].must(200, 'POST', '/v1/tokens/revoke', body(scene.token));
      expect(await state(scene.account, scene.permission.id)).toBe('revoked');
      expect(await events(scene.account)).toEqual(['request', 'approve', 'revoke']);
    },
  );

  it('ends a token that has uses left', async () => {
    const { account, permission, token } = await makeToken();
    await account.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: token.id });
    const { body } = await account.must(200, 'GET', `/v1/permissions/${permission.id}`);
    expect([body.token.status, body.token.uses, body.status]).toEqual(['revoked', 1, 'approved']);
  });

  it('writes one entry, however often it is repeated', async () => {
    const { account, agent, token } = await makeToken();
    const revocations = Array.from({ length: 10 }, (_, i) =>
      (i % 2 ? account : agent).must(200, 'POST', '/v1/tokens/revoke', { token_id: token.id }),
    );
    await Promise.all(revocations);
    expect(await events(account)).toEqual(['request', 'approve', 'revoke']);
  });

  it.each(['used', 'expired'])('of a token that is %s changes nothing', async (status) => {
    const { world, account, permission, token } = await makeToken({ max_uses: 1 });
    const end = {
      used: () => account.must(200, 'POST', '/v1/tokens/use', { token: token.value }),
      expired: async () => world.advance(900_000),
    }[status];
    await end?.();
    const before = await events(account);
    await account.must(200, 'POST', '/v1/tokens/revoke', { token: token.value });
    expect(await state(account, permission.id)).toBe(status);
    expect(await events(account)).toEqual(before);
  });

  it.each<[string, Json]>([
    ['a foreign token', { token: 'x.y.z' }],
    ['a malformed id', { token_id: 'x' }],
    ['an unknown id', { token_id: 'token_01h455vb4pex5vsknk084sn02q' }],
    ['an id of another kind', { token_id: 'agent_01h455vb4pex5vsknk084sn02q' }],
  ])('of %s is answered with 200 and writes no entry', async (_, body) => {
    const { account, agent } = await makeToken();
    const before = await events(account);
    const answers = [
      await account.must(200, 'POST', '/v1/tokens/revoke', body),
      await agent.must(200, 'POST', '/v1/tokens/revoke', body),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await events(account)).toEqual(before);
  });

  it("of another account's or another agent's token is answered as for an unknown one and changes nothing", async () => {
    const { world, account, permission, token } = await makeToken();
    const stranger = await world.account();
    const others: (TestAccount | TestAgent)[] = [
      await account.agent(),
      stranger,
      await stranger.agent(),
    ];
    const { text: unknown } = await account.must(200, 'POST', '/v1/tokens/revoke', {
      token_id: 'x',
    });
    for (const caller of others) {
      for (const body of [{ token: token.value }, { token_id: token.id }]) {
        expect((await caller.must(200, 'POST', '/v1/tokens/revoke', body)).text).toBe(unknown);
      }
    }
    expect(await state(account, permission.id)).toBe('active');
    expect(await events(stranger)).toEqual([]);
  });

  it('of the future token of a pending request changes nothing', async () => {
    const { account, agent } = await makeToken();
    const { id } = await agent.request();
    await account.must(200, 'POST', '/v1/tokens/revoke', {
      token_id: id.replace('perm_', 'token_'),
    });
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('pending');
    expect(await events(account)).toEqual(['request', 'approve', 'request']);
  });

  it.each<[string, Json]>([
    ['neither token nor id', {}],
    ['both token and id', { token: 'x', token_id: 'x' }],
  ])('with %s is refused', async (_, body) => {
    const { account } = await makeToken();
    const answer = await account.call('POST', '/v1/tokens/revoke', body);
    expect([answer.status, answer.body.code, answer.body.errors[0].path]).toEqual([
      400,
      'invalid_request',
      'body.token',
    ]);
  });

  it('by a user needs the scope permissions:decide', async () => {
    const { world, account, permission, token } = await makeToken();
    const limited = await account.limitedToken('tokens:use', 'permissions:read');
    const body = { token_id: token.id };
    const answer = await world.call('POST', '/v1/tokens/revoke', { token: limited, body });
    expect([answer.status, answer.body.code]).toEqual([403, 'insufficient_scope']);
    expect(await state(account, permission.id)).toBe('active');
  });
});
