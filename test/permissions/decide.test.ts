import { describe, expect, it } from 'vitest';
import { type Json, World, withoutContents } from '../support/world';

async function makeRequest(fields: Json = {}) {
  const account = await new World().account();
  const agent = await account.agent();
  const permission = await agent.request(fields);
  const decide = (decision: string, body?: Json) =>
    account.call('POST', `/v1/permissions/${permission.id}/${decision}`, body);
  return { world: account.world, account, agent, permission, decide };
}

describe('an approval', () => {
  it('grants what was requested, and issues a token', async () => {
    const { world, account, agent, permission, decide } = await makeRequest({
      scope: { amount: 5 },
      max_uses: 3,
    });
    world.advance(2_000);
    const { status, body } = await decide('approve', { reason: ' fine ' });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...withoutContents(permission),
      status: 'approved',
      granted_scope: { amount: 5 },
      decided_by: account.id,
      decided_at: '2026-01-31T12:00:02.000Z',
      decision_reason: 'fine',
      updated_at: '2026-01-31T12:00:02.000Z',
      token: {
        id: permission.id.replace('perm_', 'token_'),
        status: 'active',
        max_uses: 3,
        uses: 0,
        expires_at: '2026-01-31T12:15:02.000Z',
      },
    });
    const { body: shown } = await account.must(200, 'GET', `/v1/permissions/${permission.id}`);
    expect(withoutContents(shown)).toEqual(body);
    const { token, ...rest } = (await agent.must(200, 'GET', `/v1/permissions/${permission.id}`))
      .body;
    expect({ ...withoutContents(rest), token: { ...token, value: undefined } }).toEqual(body);
    expect(token.value).toEqual(expect.any(String));
  });

  it('may narrow the scope, the lifetime and the uses', async () => {
    const scope = { amount: 100, to: ['a', 'b', 'b'], limit: { day: 5 }, mode: 'x' };
    const { account, agent, permission, decide } = await makeRequest({
      scope,
      token_ttl: 600,
      max_uses: 10,
    });
    const granted = { amount: 99, to: ['b', 'a'], limit: { day: 0 }, mode: 'x', until: 'noon' };
    const { body } = await decide('approve', { scope: granted, token_ttl: 30, max_uses: 1 });
    expect([body.scope, body.granted_scope]).toEqual([scope, granted]);
    expect([body.token.max_uses, body.token.expires_at]).toEqual([1, '2026-01-31T12:00:30.000Z']);
    const { token } = (await agent.must(200, 'GET', `/v1/permissions/${permission.id}`)).body;
    const use = (await account.must(200, 'POST', '/v1/tokens/use', { token: token.value })).body;
    expect([use.scope, use.remaining_uses]).toEqual([granted, 0]);
  });

  it.each<[string, Json, string]>([
    ['a larger number', { scope: { amount: 101, to: ['a', 'b'] } }, 'body.scope.amount'],
    ['another type', { scope: { amount: '1', to: ['a', 'b'] } }, 'body.scope.amount'],
    ['a missing key', { scope: { to: ['a'] } }, 'body.scope.amount'],
    ['a text instead of an array', { scope: { amount: 100, to: 'a' } }, 'body.scope.to'],
    ['a member that was not requested', { scope: { amount: 100, to: ['c'] } }, 'body.scope.to'],
    ['a duplicate member', { scope: { amount: 100, to: ['a', 'a'] } }, 'body.scope.to'],
    ['an empty array', { scope: { amount: 100, to: [] } }, 'body.scope.to'],
    ['a longer lifetime', { token_ttl: 901 }, 'body.token_ttl'],
    ['more uses', { max_uses: 2 }, 'body.max_uses'],
  ])('is refused with %s', async (_, body, path) => {
    const { account, permission, decide } = await makeRequest({
      scope: { amount: 100, to: ['a', 'b'] },
    });
    const answer = await decide('approve', body);
    expect([answer.status, answer.body.code]).toEqual([400, 'scope_widened']);
    expect(answer.body.errors).toEqual([{ path, message: expect.any(String) }]);
    expect((await account.must(200, 'GET', `/v1/permissions/${permission.id}`)).body).toEqual(
      permission,
    );
    expect(await account.log()).toHaveLength(1);
  });

  it('is refused with a message for every widened field', async () => {
    const { decide } = await makeRequest({
      scope: { amount: 100, to: ['a'], where: { country: 'PT' }, dry: true },
    });
    const { body } = await decide('approve', {
      scope: { amount: 101, where: { country: 'ES', city: 'Porto' }, dry: false },
      token_ttl: 901,
    });
    expect(body.errors).toEqual([
      { path: 'body.scope.amount', message: 'must be a number of at most the requested 100' },
      { path: 'body.scope.to', message: 'is missing: repeat or narrow the requested value' },
      { path: 'body.scope.where.city', message: 'was not requested' },
      { path: 'body.scope.where.country', message: 'must equal what was requested' },
      { path: 'body.scope.dry', message: 'must equal what was requested' },
      { path: 'body.token_ttl', message: 'must be at most the requested 900' },
    ]);
  });

  it('is refused with the path of every widened field: scope, lifetime and uses', async () => {
    const { decide } = await makeRequest({ scope: { amount: 1 } });
    const { body } = await decide('approve', { scope: { amount: 2 }, token_ttl: 901, max_uses: 2 });
    expect(body.errors.map(({ path }: Json) => path)).toEqual([
      'body.scope.amount',
      'body.token_ttl',
      'body.max_uses',
    ]);
  });
});

describe('a denial', () => {
  it('ends the request without a token', async () => {
    const { world, account, agent, permission, decide } = await makeRequest();
    world.advance(1);
    const { status, body } = await decide('deny', { reason: ' not now ' });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...withoutContents(permission),
      status: 'denied',
      decided_by: account.id,
      decided_at: '2026-01-31T12:00:00.001Z',
      decision_reason: 'not now',
      updated_at: '2026-01-31T12:00:00.001Z',
    });
    const read = (await agent.must(200, 'GET', `/v1/permissions/${permission.id}`)).body;
    expect(withoutContents(read)).toEqual(body);
  });
});

describe('a decision', () => {
  it.each(['approve', 'deny'])('needs no reason (%s)', async (decision) => {
    const bodies = [undefined, {}, { reason: '' }, { reason: '  ' }];
    for (const body of bodies) {
      const { decide } = await makeRequest();
      const answer = await decide(decision, body);
      expect([answer.status, answer.body.decision_reason]).toEqual([200, null]);
    }
  });

  it.each([
    ['approve', 'approve'],
    ['approve', 'deny'],
    ['deny', 'approve'],
    ['deny', 'deny'],
  ])('is final: %s cannot be followed by %s', async (first, second) => {
    const { account, permission, decide } = await makeRequest();
    const decided = (await decide(first)).body;
    const answer = await decide(second);
    expect([answer.status, answer.body.code]).toEqual([409, 'not_pending']);
    const read = (await account.must(200, 'GET', `/v1/permissions/${permission.id}`)).body;
    expect(withoutContents(read)).toEqual(decided);
    expect(await account.log()).toHaveLength(2);
  });

  it('is refused with not_pending on a decided permission, even if it would widen it', async () => {
    const { decide } = await makeRequest();
    await decide('deny');
    const answer = await decide('approve', { max_uses: 1_000, scope: { amount: 1 } });
    expect([answer.status, answer.body.code]).toEqual([409, 'not_pending']);
  });

  it.each(['approve', 'deny'])('cannot be made by an agent (%s)', async (decision) => {
    const { account, agent, permission } = await makeRequest();
    for (const caller of [agent, await account.agent()]) {
      const answer = await caller.call('POST', `/v1/permissions/${permission.id}/${decision}`, {});
      expect([answer.status, answer.body.code]).toEqual([403, 'wrong_credential']);
    }
    expect((await account.must(200, 'GET', `/v1/permissions/${permission.id}`)).body.status).toBe(
      'pending',
    );
  });

  it('needs the scope permissions:decide, and a request needs an agent key', async () => {
    const { world, account, permission } = await makeRequest();
    const token = await account.limitedToken('permissions:read', 'tokens:use');
    for (const decision of ['approve', 'deny']) {
      const answer = await world.call('POST', `/v1/permissions/${permission.id}/${decision}`, {
        token,
      });
      expect([answer.status, answer.body.code]).toEqual([403, 'insufficient_scope']);
    }
    const asked = await account.call('POST', '/v1/permissions', { action: 'a.b', resource: 'c:d' });
    expect([asked.status, asked.body.code]).toEqual([403, 'wrong_credential']);
  });
});
