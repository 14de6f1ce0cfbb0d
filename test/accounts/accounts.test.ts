import { describe, expect, it } from 'vitest';
import { type Answer, type Json, World } from '../support/world';

const ALL_SCOPES = [
  'agents:read',
  'agents:write',
  'permissions:read',
  'permissions:decide',
  'policies:read',
  'policies:write',
  'audit:read',
  'audit:export',
  'tokens:use',
  'webhooks:read',
  'webhooks:write',
  'account:read',
  'account:write',
  'channels:read',
  'channels:write',
  'connections:read',
  'connections:write',
];

/** A world, and its operator. */
function makeOperator() {
  const world = new World();
  const token = world.env.ADMIN_TOKEN ?? '';
  const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
    world.call(method, path, { token, ...(body !== undefined && { body }) });
  const must = (status: number, method: string, path: string, body?: unknown): Promise<Answer> =>
    world.must(status, method, path, { token, ...(body !== undefined && { body }) });
  const create = async (fields: Json = {}): Promise<Json> =>
    (await must(201, 'POST', '/v1/admin/users', { email: 'owner@example.com', ...fields })).body;
  return { world, call, must, create };
}

describe('an operator', () => {
  it('creates an account with a first token that has every scope', async () => {
    const { must } = makeOperator();
    const answer = await must(201, 'POST', '/v1/admin/users', {
      email: ' owner@example.com ',
      name: '  Owner  ',
    });
    const { id, token } = answer.body;
    expect(answer.headers.get('Location')).toBe(`/v1/admin/users/${id}`);
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^user_[0-9a-hjkmnp-tv-z]{26}$/),
      email: 'owner@example.com',
      name: 'Owner',
      plan: 'free',
      audit_retention_days: 7,
      is_active: true,
      stopped: null,
      witnessed: false,
      created_at: '2026-01-31T12:00:00.000Z',
      updated_at: '2026-01-31T12:00:00.000Z',
      token: {
        id: expect.stringMatching(/^utok_[0-9a-hjkmnp-tv-z]{26}$/),
        name: null,
        token: expect.stringMatching(/^csu_00[0-9A-Za-z]{38}$/),
        token_prefix: token.token.slice(0, 12),
        scopes: expect.toSatisfy(
          (scopes: string[]) => scopes.toSorted().join() === ALL_SCOPES.toSorted().join(),
        ),
        member_id: null,
        expires_at: null,
        last_used_at: null,
        created_by: 'operator',
        created_at: '2026-01-31T12:00:00.000Z',
      },
      owner: {
        email_proven: false,
        id: expect.stringMatching(/^member_[0-9a-hjkmnp-tv-z]{26}$/),
        email: 'owner@example.com',
        name: null,
        role: 'owner',
        status: 'invited',
        sign_in: [],
        last_seen_at: null,
        created_at: '2026-01-31T12:00:00.000Z',
        updated_at: '2026-01-31T12:00:00.000Z',
        invitation: {
          url: expect.stringMatching(
            /^https:\/\/countersign\.test\/console\/invitations\/csi_00[0-9A-Za-z]{38}$/,
          ),
          expires_at: '2026-02-07T12:00:00.000Z',
        },
      },
    });
  });

  it.each([
    ['free', 7],
    ['pro', 90],
    ['team', 365],
    ['enterprise', 2557],
  ])('creates an account on plan %s with a retention of %d days', async (plan, days) => {
    const { create, must } = makeOperator();
    const { id } = await create({ plan });
    const { body } = await must(200, 'GET', `/v1/admin/users/${id}`);
    expect([body.plan, body.audit_retention_days]).toEqual([plan, days]);
  });

  it.each(['free', 'pro', 'team'])('cannot set the retention on plan %s', async (plan) => {
    const { call, create } = makeOperator();
    const created = await call('POST', '/v1/admin/users', {
      email: 'a@example.com',
      plan,
      audit_retention_days: 7,
    });
    expect([created.status, created.body.code]).toEqual([403, 'plan_required']);
    const { id } = await create({ plan });
    const updated = await call('PATCH', `/v1/admin/users/${id}`, { audit_retention_days: 7 });
    expect([updated.status, updated.body.code]).toEqual([403, 'plan_required']);
  });

  it.each([1, 30, 2557])('can set a retention of %d days on plan enterprise', async (days) => {
    const { create, must } = makeOperator();
    const account = await create({ plan: 'enterprise', audit_retention_days: days });
    expect(account.audit_retention_days).toBe(days);
    const { id } = await create({ plan: 'team' });
    const change = { plan: 'enterprise', audit_retention_days: days };
    const { body } = await must(200, 'PATCH', `/v1/admin/users/${id}`, change);
    expect(body.audit_retention_days).toBe(days);
  });

  it('removes the retention of an account by changing to a plan that does not allow it', async () => {
    const { create, must } = makeOperator();
    const { id } = await create({ plan: 'enterprise', audit_retention_days: 30 });
    const path = `/v1/admin/users/${id}`;
    expect((await must(200, 'PATCH', path, { name: 'Other' })).body.audit_retention_days).toBe(30);
    expect((await must(200, 'PATCH', path, { plan: 'pro' })).body.audit_retention_days).toBe(90);
    expect((await must(200, 'PATCH', path, { plan: 'enterprise' })).body.audit_retention_days).toBe(
      2557,
    );
  });

  it('changes only the given fields of an account', async () => {
    const { world, create, must } = makeOperator();
    const { token: _, owner: __, ...account } = await create({ name: 'Before', plan: 'pro' });
    world.advance(1_500);
    const renamed = (await must(200, 'PATCH', `/v1/admin/users/${account.id}`, { name: ' After ' }))
      .body;
    expect(renamed).toEqual({ ...account, name: 'After', updated_at: '2026-01-31T12:00:01.500Z' });
    expect((await must(200, 'GET', `/v1/admin/users/${account.id}`)).body).toEqual(renamed);
    expect(
      (await must(200, 'PATCH', `/v1/admin/users/${account.id}`, { name: null })).body.name,
    ).toBeNull();
  });

  it('cannot send an update without fields', async () => {
    const { create, call } = makeOperator();
    const { id } = await create();
    const answer = await call('PATCH', `/v1/admin/users/${id}`, {});
    expect([answer.status, answer.body.code, answer.body.errors[0].path]).toEqual([
      400,
      'invalid_request',
      'body',
    ]);
  });

  it('can create two accounts with the same e-mail address, and finds both by it', async () => {
    const { world, create, must } = makeOperator();
    const email = 'twice@example.com';
    const first = await create({ email });
    world.advance(1);
    const second = await create({ email, plan: 'pro' });
    await create({ email: 'twice@example.org' });
    const ids = async (query: string) =>
      (await must(200, 'GET', `/v1/admin/users?${query}`)).body.data.map(({ id }: Json) => id);
    expect(await ids(`email=${email}`)).toEqual([second.id, first.id]);
    expect(await ids(`email=${email}&plan=pro`)).toEqual([second.id]);
    expect(await ids('email=twice')).toEqual([]);
    const third = await create({ email: 'ada@müller.de' });
    expect(third.email).toBe('ada@xn--mller-kva.de');
    for (const written of ['ada@müller.de', 'ada@xn--mller-kva.de']) {
      expect(await ids(`email=${encodeURIComponent(written)}`)).toEqual([third.id]);
    }
  });

  it('pages through accounts, newest first, while more are added', async () => {
    const { world, create, must } = makeOperator();
    const email = 'paged@example.com';
    const made: string[] = [];
    for (let i = 0; i < 5; i++) {
      world.advance(1);
      made.unshift((await create({ email })).id);
    }
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await must(200, 'GET', `/v1/admin/users?email=${email}&limit=2${cursor}`);
      seen.push(...body.data.map(({ id }: Json) => id));
      expect(body.next_cursor === null).toBe(!body.has_more);
      if (!body.has_more) break;
      cursor = `&cursor=${body.next_cursor}`;
      world.advance(1);
      await create({ email });
    }
    expect(seen).toEqual(made);
  });

  it('gets a list of accounts without secrets', async () => {
    const { create, must } = makeOperator();
    const { token } = await create();
    const { text, body } = await must(200, 'GET', '/v1/admin/users?limit=1');
    expect(text).not.toContain(token.token);
    expect(Object.keys(body.data[0])).toEqual([
      ...[
        'id',
        'email',
        'name',
        'plan',
        'audit_retention_days',
        'is_active',
        'stopped',
        'witnessed',
        'created_at',
        'updated_at',
      ],
    ]);
  });

  it('creates more tokens, by default with every scope', async () => {
    const { world, create, must } = makeOperator();
    const { id } = await create();
    const all = await must(201, 'POST', `/v1/admin/users/${id}/tokens`);
    expect(all.body.scopes.toSorted()).toEqual(ALL_SCOPES.toSorted());
    expect(all.headers.get('Location')).toBe(`/v1/me/tokens/${all.body.id}`);
    const some = await must(201, 'POST', `/v1/admin/users/${id}/tokens`, {
      name: 'CI',
      scopes: ['account:read'],
    });
    expect([some.body.name, some.body.scopes]).toEqual(['CI', ['account:read']]);
    const { body } = await world.must(200, 'GET', '/v1/me', { token: some.body.token });
    expect(body.id).toBe(id);
  });

  it.each([
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/tokens'],
    ['POST', '/owner'],
  ])('gets not_found for an unknown account (%s %s)', async (method, suffix) => {
    const { call } = makeOperator();
    for (const id of [
      'user_01h455vb4pex5vsknk084sn02q',
      'agent_01h455vb4pex5vsknk084sn02q',
      'x',
      '%00',
      '%ff',
    ]) {
      const body = {
        PATCH: { name: 'x' },
        POST: suffix === '/owner' ? { email: 'a@example.com' } : {},
      }[method];
      const answer = await call(method, `/v1/admin/users/${id}${suffix}`, body);
      expect([id, answer.status, answer.body.code]).toEqual([id, 404, 'not_found']);
    }
  });
});

describe('an account that is switched off', () => {
  it('is refused with all its user tokens and agent keys until it is switched on', async () => {
    const { world, must } = makeOperator();
    const account = await world.account();
    const agent = await account.agent();
    await must(200, 'PATCH', `/v1/admin/users/${account.id}`, { is_active: false });
    const answers = [
      await account.call('GET', '/v1/me'),
      await account.call('POST', '/v1/agents', { name: 'x' }),
      await agent.call('GET', '/v1/permissions'),
      await agent.call('POST', '/v1/permissions', { action: 'a.b', resource: 'c:d' }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      Array(4).fill([403, 'account_inactive']),
    );
    const { body } = await must(200, 'PATCH', `/v1/admin/users/${account.id}`, { is_active: true });
    expect(body.is_active).toBe(true);
    await account.must(200, 'GET', '/v1/me');
    await agent.must(200, 'GET', '/v1/permissions');
  });
});

it('a user token can read its own account', async () => {
  const { world, create } = makeOperator();
  const { token, owner: _, ...account } = await create({ plan: 'team', name: 'Own' });
  const { body } = await world.must(200, 'GET', '/v1/me', { token: token.token });
  expect(body).toEqual({ ...account, member: null, scopes: token.scopes });
});
