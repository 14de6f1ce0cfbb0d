import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { makeMember } from '../support/members';
import { type Json, World } from '../support/world';

describe('a user token', () => {
  it('has the scopes of the token that creates it by default', async () => {
    const account = await new World().account();
    const asking = await account.limitedToken('account:write', 'account:read', 'audit:read');
    const { body } = await account.world.must(201, 'POST', '/v1/me/tokens', { token: asking });
    expect(body.scopes.toSorted()).toEqual(['account:read', 'account:write', 'audit:read']);
  });

  it('shows its secret only in the answer to its creation', async () => {
    const account = await new World().account();
    const fields = {
      name: ' CI ',
      scopes: ['audit:read', 'audit:read'],
      expires_at: '2026-02-01T13:00:00+01:00',
    };
    const { body, headers } = await account.must(201, 'POST', '/v1/me/tokens', fields);
    const { token, ...shown } = body;
    expect(headers.get('Location')).toBe(`/v1/me/tokens/${body.id}`);
    expect(shown).toEqual({
      id: expect.stringMatching(/^utok_/),
      name: 'CI',
      token_prefix: token.slice(0, 12),
      scopes: ['audit:read'],
      member_id: null,
      expires_at: '2026-02-01T12:00:00.000Z',
      last_used_at: null,
      created_by: account.id,
      created_at: '2026-01-31T12:00:00.000Z',
    });
    const list = await account.must(200, 'GET', '/v1/me/tokens');
    expect(list.body.data.find(({ id }: Json) => id === body.id)).toEqual(shown);
    expect(list.text).not.toContain(token);
  });

  it('cannot grant a scope that it lacks', async () => {
    const account = await new World().account();
    const asking = await account.limitedToken('account:write', 'audit:read');
    for (const scopes of [['agents:read'], ['audit:read', 'agents:read']]) {
      const answer = await account.world.call('POST', '/v1/me/tokens', {
        token: asking,
        body: { scopes },
      });
      expect([answer.status, answer.body.code]).toEqual([403, 'insufficient_scope']);
    }
    await account.world.must(201, 'POST', '/v1/me/tokens', {
      token: asking,
      body: { scopes: ['audit:read'] },
    });
  });

  it('cannot expire after the token that creates it', async () => {
    const account = await new World().account();
    const { world } = account;
    const end = '2026-01-31T13:00:00.000Z';
    const { token: asking } = (
      await account.must(201, 'POST', '/v1/me/tokens', { expires_at: end })
    ).body;
    const make = (body: unknown) => world.call('POST', '/v1/me/tokens', { token: asking, body });
    const refused = await make({ expires_at: '2026-01-31T13:00:00.001Z' });
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request']);
    expect(refused.body.errors).toEqual([
      {
        path: 'body.expires_at',
        message: `must not be after ${end}, when the calling credential expires`,
      },
    ]);
    expect((await make({})).body.expires_at).toBe(end);
    expect((await make({ expires_at: end })).body.expires_at).toBe(end);
    expect((await make({ expires_at: '2026-01-31T12:30:00Z' })).body.expires_at).toBe(
      '2026-01-31T12:30:00.000Z',
    );
    expect((await account.must(201, 'POST', '/v1/me/tokens', {})).body.expires_at).toBeNull();
  });

  it.each([[[]], [['everything']], [['audit:read', 'AUDIT:READ']]])(
    'cannot have the scopes %j',
    async (scopes) => {
      const account = await new World().account();
      const answer = await account.call('POST', '/v1/me/tokens', { scopes });
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
      expect(answer.body.errors[0].path).toMatch(/^body\.scopes/);
    },
  );

  it('works until its expiry, and not one millisecond longer', async () => {
    const account = await new World().account();
    const { world } = account;
    const { token } = (
      await account.must(201, 'POST', '/v1/me/tokens', { expires_at: '2026-01-31T12:01:00.500Z' })
    ).body;
    world.advance(60_499);
    await world.must(200, 'GET', '/v1/me', { token });
    world.advance(1);
    const answer = await world.call('GET', '/v1/me', { token });
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthorized']);
    expect(answer.headers.get('WWW-Authenticate')).toBe('Bearer');
  });

  it('cannot expire in the past', async () => {
    const account = await new World().account();
    const expiring = (expires_at: string) => account.call('POST', '/v1/me/tokens', { expires_at });
    expect((await expiring('2026-01-31T12:00:00.000Z')).body.errors[0].path).toBe(
      'body.expires_at',
    );
    expect((await expiring('2026-01-31T12:00:00.001Z')).status).toBe(201);
  });

  it('records its last use, at most once a minute', async () => {
    const account = await new World().account();
    const { world } = account;
    const observer = (
      await account.must(201, 'POST', '/v1/me/tokens', { scopes: ['account:read'] })
    ).body.token;
    const lastUsed = async () => {
      const { body } = await world.must(200, 'GET', '/v1/me/tokens', { token: observer });
      return body.data.find(({ id }: Json) => id === account.tokenId).last_used_at;
    };
    expect(await lastUsed()).toBe('2026-01-31T12:00:00.000Z');
    world.advance(59_999);
    await account.must(200, 'GET', '/v1/me');
    expect(await lastUsed()).toBe('2026-01-31T12:00:00.000Z');
    world.advance(1);
    expect(await lastUsed()).toBe('2026-01-31T12:00:00.000Z');
    await account.must(200, 'GET', '/v1/me');
    expect(await lastUsed()).toBe('2026-01-31T12:01:00.000Z');
  });

  it('is refused immediately after it is deleted, even if it deleted itself', async () => {
    const account = await new World().account();
    const { body } = await account.must(201, 'POST', '/v1/me/tokens');
    const { text } = await account.must(204, 'DELETE', `/v1/me/tokens/${body.id}`);
    expect(text).toBe('');
    await account.world.must(401, 'GET', '/v1/me', { token: body.token });
    await account.must(404, 'DELETE', `/v1/me/tokens/${body.id}`);
    await account.must(204, 'DELETE', `/v1/me/tokens/${account.tokenId}`);
    await account.must(401, 'GET', '/v1/me');
  });

  it('can delete itself, and no other token, without account:write', async () => {
    const world = new World();
    const account = await world.account();
    const { body } = await account.must(201, 'POST', '/v1/me/tokens', { scopes: ['account:read'] });
    const refused = await world.must(403, 'DELETE', `/v1/me/tokens/${account.tokenId}`, {
      token: body.token,
    });
    expect(refused.body.code).toBe('insufficient_scope');
    await account.must(200, 'GET', '/v1/me');
    await world.must(204, 'DELETE', `/v1/me/tokens/${body.id}`, { token: body.token });
    await world.must(401, 'GET', '/v1/me', { token: body.token });
  });

  it('cannot be read or deleted by another account', async () => {
    const world = new World();
    const [account, other] = [await world.account(), await world.account()];
    const { body } = await account.must(201, 'POST', '/v1/me/tokens');
    for (const id of [
      body.id,
      'utok_01h455vb4pex5vsknk084sn02q',
      body.id.replace('utok', 'user'),
      'x',
    ]) {
      expect((await other.call('DELETE', `/v1/me/tokens/${id}`)).body.code).toBe('not_found');
    }
    await world.must(200, 'GET', '/v1/me', { token: body.token });
    const { body: list } = await other.must(200, 'GET', '/v1/me/tokens');
    expect(list.data.map(({ id }: Json) => id)).toEqual([other.tokenId]);
  });
});

describe('the user tokens of an account', () => {
  it.runIf(depth.isDeep)('are at most 100', async () => {
    const account = await new World().account();
    const create = () => account.call('POST', '/v1/me/tokens', { scopes: ['audit:read'] });
    const answers = await Promise.all(Array.from({ length: 110 }, create));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(99);
    const refused = answers
      .filter(({ status }) => status !== 201)
      .map(({ status, body }) => [status, body.code]);
    expect(refused).toEqual(Array(11).fill([409, 'conflict']));
    const admin = { token: account.world.env.ADMIN_TOKEN ?? '' };
    const byOperator = await account.world.call(
      'POST',
      `/v1/admin/users/${account.id}/tokens`,
      admin,
    );
    expect([byOperator.status, byOperator.body.code]).toEqual([409, 'conflict']);
    // The tokens of a member count for that member only.
    const owner = await makeMember(account, 'owner');
    const token = owner.token;
    const own = () => account.world.call('POST', '/v1/me/tokens', { token, body: {} });
    const statuses = (await Promise.all(Array.from({ length: 105 }, own))).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status === 201)).toHaveLength(99);
    await makeMember(account, 'approver');
    await account.must(204, 'DELETE', `/v1/me/tokens/${made[0]?.body.id}`);
    expect((await create()).status).toBe(201);
  });

  it('that have expired do not count, and are deleted by the sweep', async () => {
    const account = await new World().account();
    const { world } = account;
    const expires_at = new Date(world.now + 60_000).toISOString();
    await Promise.all(
      Array.from({ length: 99 }, () => account.must(201, 'POST', '/v1/me/tokens', { expires_at })),
    );
    expect((await account.call('POST', '/v1/me/tokens', {})).body.code).toBe('conflict');
    world.advance(60_000);
    await account.must(201, 'POST', '/v1/me/tokens', {});
    await world.sweep();
    const { body } = await account.must(200, 'GET', '/v1/me/tokens?limit=100');
    expect(body.data.map(({ expires_at }: Json) => expires_at)).toEqual([null, null]);
  });

  it('are listed newest first, page by page, while more are created', async () => {
    const account = await new World().account();
    const made = [account.tokenId];
    const create = async () => {
      account.world.advance(1);
      return (await account.must(201, 'POST', '/v1/me/tokens')).body.id;
    };
    for (let i = 0; i < 24; i++) made.unshift(await create());
    const first = (await account.must(200, 'GET', '/v1/me/tokens')).body;
    expect(first.data.map(({ id }: Json) => id)).toEqual(made.slice(0, 20));
    expect(first.has_more).toBe(true);
    await create();
    const second = (
      await account.must(200, 'GET', `/v1/me/tokens?limit=5&cursor=${first.next_cursor}`)
    ).body;
    expect(second.data.map(({ id }: Json) => id)).toEqual(made.slice(20));
    expect([second.has_more, second.next_cursor]).toEqual([false, null]);
  });
});
