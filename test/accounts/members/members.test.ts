import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { idBytes } from '../../../src/lib/typeid';
import { Browser } from '../../support/browser';
import { depth } from '../../support/depth';
import { FaultyDatabase } from '../../support/faults';
import { makeMember, makeToken } from '../../support/members';
import { countRows } from '../../support/tables';
import { type Json, type TestAccount, World } from '../../support/world';

const DAY = 86_400_000;
const operator = env.ADMIN_TOKEN ?? '';

/** Calls as a member, or with another token. */
const by =
  ({ world }: TestAccount, token: string) =>
  (method: string, path: string, body?: unknown) =>
    world.call(method, path, { token, ...(body !== undefined && { body }) });

const code = ({ status, body }: Json) => [status, body?.code];

async function activity(account: TestAccount): Promise<Json[]> {
  return (await account.must(200, 'GET', '/v1/activity?limit=1000')).body.data;
}

describe('an invitation', () => {
  it('makes a member who is invited, and shows its address only once', async () => {
    const account = await new World().account();
    account.world.advance(1);
    const fields = { email: ' Ada@example.com ', name: ' Ada ', role: 'approver' };
    const { body, headers } = await account.must(201, 'POST', '/v1/members', fields);
    const { invitation, ...member } = body;
    expect(member).toEqual({
      id: expect.stringMatching(/^member_[0-9a-hjkmnp-tv-z]{26}$/),
      email: 'Ada@example.com',
      email_proven: false,
      name: 'Ada',
      role: 'approver',
      status: 'invited',
      sign_in: [],
      last_seen_at: null,
      created_at: '2026-01-31T12:00:00.001Z',
      updated_at: '2026-01-31T12:00:00.001Z',
    });
    expect(invitation).toEqual({
      url: expect.stringMatching(
        /^https:\/\/countersign\.test\/console\/invitations\/csi_00[0-9A-Za-z]{38}$/,
      ),
      expires_at: '2026-02-07T12:00:00.001Z',
    });
    expect(headers.get('Location')).toBe(`/v1/members/${member.id}`);
    const shown = await account.must(200, 'GET', `/v1/members/${member.id}`);
    const leaves = { webhooks: [], channels: [], connections: [], policies: [], tokens: [] };
    expect(shown.body).toEqual({ ...member, leaves, passkeys: [] });
    const lesser = await account.limitedToken('account:read');
    expect((await by(account, lesser)('GET', `/v1/members/${member.id}`)).body).toEqual({
      ...member,
      leaves,
    });
    const list = await account.must(200, 'GET', '/v1/members');
    expect(list.body.data.map(({ id, role }: Json) => [id, role])).toEqual([
      [member.id, 'approver'],
      [expect.any(String), 'owner'],
    ]);
    expect([shown.text, list.text].join()).not.toContain('csi_');
    expect(await activity(account)).toContainEqual(
      expect.objectContaining({ action: 'member.invited', target: member.id }),
    );
  });

  it('is stored only as a hash, and is no credential', async () => {
    const account = await new World().account();
    const { body } = await account.must(201, 'POST', '/v1/members', {
      email: 'a@example.com',
      role: 'auditor',
    });
    const secret = body.invitation.url.split('/').at(-1);
    const rows = await env.DB.prepare('select * from members where id = ?')
      .bind(idBytes(body.id))
      .all();
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(code(await by(account, secret)('GET', '/v1/me'))).toEqual([401, 'unauthorized']);
  });

  it('can be made again while the member is invited, and then is another one', async () => {
    const account = await new World().account();
    const { body: member } = await account.must(201, 'POST', '/v1/members', {
      email: 'a@example.com',
      role: 'auditor',
    });
    const hash = () =>
      env.DB.prepare('select hex(invitation_hash) as hash from members where id = ?')
        .bind(idBytes(member.id))
        .first('hash');
    const before = await hash();
    account.world.advance(DAY);
    const { body } = await account.must(201, 'POST', `/v1/members/${member.id}/invitation`);
    expect(body.url).not.toBe(member.invitation.url);
    expect(body.expires_at).toBe('2026-02-08T12:00:00.000Z');
    expect(await hash()).not.toBe(before);
    const active = await makeMember(account, 'auditor');
    expect(code(await account.call('POST', `/v1/members/${active.id}/invitation`))).toEqual([
      409,
      'conflict',
    ]);
    await account.must(204, 'DELETE', `/v1/members/${member.id}`);
    expect(code(await account.call('POST', `/v1/members/${member.id}/invitation`))).toEqual([
      409,
      'conflict',
    ]);
  });

  it('of an owner that has expired is renewed by the operator', async () => {
    const account = await new World().account();
    const { world } = account;
    const invite = (email: string) =>
      world.call('POST', `/v1/admin/users/${account.id}/owner`, {
        token: operator,
        body: { email },
      });
    const first = await invite('second@example.com');
    world.advance(7 * 86_400_000 - 1);
    expect(code(await invite('second@example.com'))).toEqual([409, 'conflict']);
    world.advance(1);
    const { status, body } = await invite('Second@Example.com');
    expect([status, body.id, body.status]).toEqual([201, first.body.id, 'invited']);
    expect((await new Browser(world).get(new URL(first.body.invitation.url).pathname)).status).toBe(
      404,
    );
    expect((await new Browser(world).join(body.invitation.url)).status).toBe(201);
    world.advance(7 * 86_400_000);
    expect(code(await invite('second@example.com'))).toEqual([409, 'conflict']);
  });

  it('of an owner comes from the operator, or from an owner', async () => {
    const account = await new World().account();
    const path = `/v1/admin/users/${account.id}/owner`;
    account.world.advance(1);
    const body = { email: 'second@example.com', name: 'Second' };
    const invited = await account.world.must(201, 'POST', path, { token: operator, body });
    expect(invited.body).toMatchObject({ role: 'owner', status: 'invited', name: 'Second' });
    expect(invited.headers.get('Location')).toBe(`/v1/members/${invited.body.id}`);
    expect((await activity(account))[0]).toMatchObject({
      action: 'member.invited',
      actor: 'operator',
    });
    expect(code(await account.world.call('POST', path, { token: operator, body }))).toEqual([
      409,
      'conflict',
    ]);
    const owner = await makeMember(account, 'owner');
    const third = { email: 'third@example.com', role: 'owner' };
    expect((await by(account, owner.token)('POST', '/v1/members', third)).status).toBe(201);
  });

  it.each([
    [{ role: 'auditor' }, 'body.email'],
    [{ email: 'nobody', role: 'auditor' }, 'body.email'],
    [{ email: 'a@127.0.0.1', role: 'auditor' }, 'body.email'],
    [{ email: '.a@example.com', role: 'auditor' }, 'body.email'],
    [{ email: 'a@example.com' }, 'body.role'],
    [{ email: 'a@example.com', role: 'king' }, 'body.role'],
    [{ email: 'a@example.com', role: 'auditor', name: ' ' }, 'body.name'],
    [{ email: 'a@example.com', role: 'auditor', status: 'active' }, 'body.status'],
  ])('is refused for %j', async (body, path) => {
    const account = await new World().account();
    const answer = await account.call('POST', '/v1/members', body);
    expect([...code(answer), answer.body.errors[0].path]).toEqual([400, 'invalid_request', path]);
  });
});

describe('the e-mail address of a member', () => {
  it('is unique in the account, in upper or lower case, until the member is removed', async () => {
    const account = await new World().account();
    const { body } = await account.must(201, 'POST', '/v1/members', {
      email: 'ada@example.com',
      role: 'auditor',
    });
    const written = { email: 'r&d@müller.de', role: 'auditor' };
    const { body: converted } = await account.must(201, 'POST', '/v1/members', written);
    expect(converted.email).toBe('r&d@xn--mller-kva.de');
    await account.must(409, 'POST', '/v1/members', { ...written, email: 'R&D@MÜLLER.de' });
    const again = { email: 'ADA@example.com', role: 'approver' };
    const refused = await account.call('POST', '/v1/members', again);
    expect([...code(refused), refused.body.errors[0].path]).toEqual([
      409,
      'conflict',
      'body.email',
    ]);
    const other = await account.world.account();
    await other.must(201, 'POST', '/v1/members', again);
    await account.must(204, 'DELETE', `/v1/members/${body.id}`);
    await account.must(201, 'POST', '/v1/members', again);
  });
});

describe('the list of members', () => {
  it('can be filtered and paged, and shows removed members only when they are asked for', async () => {
    const account = await new World().account();
    const ids: string[] = [];
    for (const role of ['auditor', 'approver', 'auditor']) {
      account.world.advance(1);
      ids.unshift((await makeMember(account, role)).id);
    }
    const list = async (query: string) =>
      (await account.must(200, 'GET', `/v1/members?${query}`)).body.data.map(({ id }: Json) => id);
    expect(await list('status=active')).toEqual(ids);
    expect(await list('role=auditor')).toEqual([ids[0], ids[2]]);
    await account.must(204, 'DELETE', `/v1/members/${ids[0]}`);
    expect(await list('role=auditor')).toEqual([ids[2]]);
    expect(await list('status=removed')).toEqual([ids[0]]);
    expect(await list('status=removed&role=approver')).toEqual([]);
    const first = await account.must(200, 'GET', '/v1/members?limit=2');
    expect(first.body.has_more).toBe(true);
    const rest = await list(`limit=2&cursor=${first.body.next_cursor}`);
    expect([...first.body.data.map(({ id }: Json) => id), ...rest].slice(0, 2)).toEqual(
      ids.slice(1),
    );
    const answer = await account.call('GET', '/v1/members?role=king');
    expect([...code(answer), answer.body.errors[0].path]).toEqual([
      400,
      'invalid_request',
      'query.role',
    ]);
  });
});

describe('an account', () => {
  it.runIf(depth.isDeep)(
    'has at most 1,000 members who are not removed, also with concurrent invitations',
    async () => {
      const account = await new World().account();
      await env.DB.prepare(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < 990)
       insert into members (account, id, email, role, status, created_at, updated_at)
       select account, randomblob(16), 'p' || i, 4, 1, 0, 0 from members, n where account =
         (select number from accounts where id = ?)`,
      )
        .bind(idBytes(account.id))
        .run();
      const invite = (i: number) =>
        account.call('POST', '/v1/members', { email: `q${i}@example.com`, role: 'auditor' });
      const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => invite(i)));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(9);
      expect(answers.filter(({ body }) => body.code === 'conflict')).toHaveLength(11);
      const { body } = await account.must(200, 'GET', '/v1/members?limit=1');
      await account.must(204, 'DELETE', `/v1/members/${body.data[0].id}`);
      expect((await invite(99)).status).toBe(201);
    },
  );
});

describe('a member', () => {
  it('is seen at most once a minute, and is shown to the caller with the scopes of the credential', async () => {
    const account = await new World().account();
    const { world } = account;
    const auditor = await makeMember(account, 'auditor');
    const me = async () => (await by(account, auditor.token)('GET', '/v1/me')).body;
    const { member, scopes } = await me();
    expect([member.id, member.role, member.last_seen_at]).toEqual([
      auditor.id,
      'auditor',
      '2026-01-31T12:00:00.000Z',
    ]);
    expect(scopes).toEqual([
      ...[
        'agents:read',
        'permissions:read',
        'policies:read',
        'audit:read',
        'audit:export',
        'webhooks:read',
      ],
      ...['account:read', 'channels:read', 'connections:read'],
    ]);
    world.advance(59_999);
    expect((await me()).member.last_seen_at).toBe('2026-01-31T12:00:00.000Z');
    world.advance(1);
    await me();
    expect((await me()).member.last_seen_at).toBe('2026-01-31T12:01:00.000Z');
    expect((await account.must(200, 'GET', '/v1/me')).body).toMatchObject({
      id: account.id,
      member: null,
    });
  });

  it('decides, changes and revokes under the own id', async () => {
    const account = await new World().account();
    const agent = await account.agent();
    const approver = await makeMember(account, 'approver');
    const as = by(account, approver.token);
    const [first, second] = [await agent.request(), await agent.request()];
    const approved = await as('POST', `/v1/permissions/${first.id}/approve`);
    expect([approved.status, approved.body.decided_by]).toEqual([200, approver.id]);
    expect((await as('POST', `/v1/permissions/${second.id}/deny`)).body.decided_by).toBe(
      approver.id,
    );
    await as('POST', '/v1/tokens/revoke', { token_id: approved.body.token.id });
    const admin = await makeMember(account, 'admin');
    account.world.advance(1);
    await by(account, admin.token)('POST', '/v1/agents', { name: 'Robot' });
    const log = (await account.log()).filter(({ event_type: type }) => type !== 'request');
    expect(
      log.map(({ event_type, details }) => [event_type, details.decided_by, details.decided_via]),
    ).toEqual([
      ['approve', approver.id, 'api'],
      ['deny', approver.id, 'api'],
      ['revoke', approver.id, 'api'],
    ]);
    expect((await activity(account))[0]).toMatchObject({
      actor: admin.id,
      action: 'agent.created',
    });
    await account.must(201, 'POST', '/v1/policies', {
      ...{ name: 'All', effect: 'approve', actions: ['*'], resources: ['*'] },
    });
    await agent.request();
    expect((await account.log()).at(-1)?.details.decided_via).toBe('policy');
  });

  it('owns the tokens that the member makes, and sees only those', async () => {
    const account = await new World().account();
    const [admin, other] = [await makeMember(account, 'admin'), await makeMember(account, 'admin')];
    const { body: made } = await by(account, admin.token)('POST', '/v1/me/tokens', {
      name: 'Mine',
    });
    expect(made.member_id).toBe(admin.id);
    const list = async (token: string) =>
      (await by(account, token)('GET', '/v1/me/tokens')).body.data.map(
        ({ member_id: id }: Json) => id,
      );
    expect(await list(admin.token)).toEqual([admin.id, admin.id]);
    expect(await list(other.token)).toEqual([other.id]);
    expect(new Set(await list(account.token))).toEqual(new Set([null]));
    for (const token of [other.token, account.token]) {
      expect(code(await by(account, token)('DELETE', `/v1/me/tokens/${made.id}`))).toEqual([
        404,
        'not_found',
      ]);
    }
    expect((await by(account, made.token)('DELETE', `/v1/me/tokens/${made.id}`)).status).toBe(204);
  });

  it('registers agents as their owner or for another active member, and can hand them over', async () => {
    const account = await new World().account();
    const [developer, other] = [
      await makeMember(account, 'developer'),
      await makeMember(account, 'auditor'),
    ];
    const as = by(account, developer.token);
    const { body: agent } = await as('POST', '/v1/agents', { name: 'Robot' });
    expect(agent.owner_id).toBe(developer.id);
    const given = await as('POST', '/v1/agents', { name: 'Gift', owner_id: other.id });
    expect([given.status, given.body.owner_id]).toEqual([201, other.id]);
    const path = `/v1/agents/${agent.id}`;
    expect((await as('PUT', path, { owner_id: other.id })).body.owner_id).toBe(other.id);
    expect((await as('PUT', path, { name: 'Droid' })).body.owner_id).toBe(other.id);
    const { body: invited } = await account.must(201, 'POST', '/v1/members', {
      email: 'i@example.com',
      role: 'auditor',
    });
    const stranger = await makeMember(await account.world.account(), 'auditor');
    const unknown = 'member_01h455vb4pex5vsknk084sn02q';
    for (const owner_id of [invited.id, stranger.id, unknown, agent.id, null]) {
      for (const answer of [
        await as('PUT', path, { owner_id }),
        await as('POST', '/v1/agents', { name: 'Lost', owner_id }),
      ]) {
        expect([...code(answer), answer.body.errors?.[0].path]).toEqual([
          400,
          'invalid_request',
          'body.owner_id',
        ]);
      }
    }
    expect((await as('GET', '/v1/agents')).body.data).toHaveLength(2);
    const missing = await as('PUT', '/v1/agents/agent_01h455vb4pex5vsknk084sn02q', {
      owner_id: other.id,
    });
    expect(code(missing)).toEqual([404, 'not_found']);
    await account.must(204, 'DELETE', `/v1/members/${other.id}`);
    expect((await as('GET', path)).body.owner_id).toBe(other.id);
  });

  it('shares idempotency keys between the own tokens, but only with the same scopes', async () => {
    const account = await new World().account();
    const admin = await makeMember(account, 'admin');
    const twin = await makeToken(account, admin);
    const lesser = await makeToken(account, admin, { scopes: ['agents:write', 'account:write'] });
    const send = (token: string, path = '/v1/agents', body: Json = { name: 'Robot' }) =>
      account.world.call('POST', path, { token, body, headers: { 'Idempotency-Key': 'once' } });
    const first = await send(admin.token);
    const again = await send(twin);
    expect([again.text, again.headers.get('Idempotent-Replayed')]).toEqual([first.text, 'true']);
    expect(code(await send(lesser))).toEqual([422, 'idempotency_key_reuse']);
    const other = await makeMember(account, 'admin');
    expect((await send(other.token)).status).toBe(201);
  });
});

describe('the role of a member', () => {
  it('limits the tokens of the member from the moment of a change, also for a request in flight', async () => {
    const database = new FaultyDatabase(env.DB);
    const account = await new World({ DB: database.binding }).account();
    const agent = await account.agent();
    const approver = await makeMember(account, 'approver');
    const { id } = await agent.request();
    const elsewhere = new World();
    const demote = (role: string) =>
      elsewhere.must(200, 'PUT', `/v1/members/${approver.id}`, {
        token: account.token,
        body: { role },
      });
    database.before(2, () => demote('auditor'));
    const late = await by(account, approver.token)('POST', `/v1/permissions/${id}/approve`);
    expect(code(late)).toEqual([403, 'insufficient_scope']);
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('pending');
    await demote('approver');
    expect(
      (await by(account, approver.token)('POST', `/v1/permissions/${id}/approve`)).status,
    ).toBe(200);
  });

  it('can be given only by a caller who has all of its scopes; owners only by owners', async () => {
    const account = await new World().account();
    const [owner, admin] = [await makeMember(account, 'owner'), await makeMember(account, 'admin')];
    const limited = await makeToken(account, owner, { scopes: ['account:read', 'account:write'] });
    const target = await makeMember(account, 'auditor');
    const { body: spare } = await by(account, owner.token)('POST', '/v1/members', {
      email: 'o@example.com',
      role: 'owner',
    });
    const calls = (token: string, role: string): (() => Promise<Json>)[] => [
      () => by(account, token)('PUT', `/v1/members/${target.id}`, { role }),
      () =>
        by(account, token)('POST', '/v1/members', {
          email: `${crypto.randomUUID()}@example.com`,
          role,
        }),
    ];
    const callsOnOwner = (token: string): (() => Promise<Json>)[] => [
      () => by(account, token)('PUT', `/v1/members/${spare.id}`, { name: 'Renamed' }),
      () => by(account, token)('POST', `/v1/members/${spare.id}/invitation`),
      () => by(account, token)('DELETE', `/v1/members/${spare.id}`),
    ];
    const refused = [
      ...calls(admin.token, 'owner'),
      ...calls(account.token, 'owner'),
      ...calls(limited, 'owner'),
      ...calls(limited, 'auditor'),
      ...callsOnOwner(admin.token),
      ...callsOnOwner(account.token),
    ];
    for (const call of refused) expect(code(await call())).toEqual([403, 'insufficient_role']);
    const allowed = [
      ...calls(admin.token, 'admin'),
      ...calls(account.token, 'admin'),
      ...calls(owner.token, 'owner'),
      ...callsOnOwner(owner.token),
    ];
    for (const call of allowed) expect((await call()).status).toBeLessThan(300);
  });
});

describe('the last active owner', () => {
  it.each([
    ['demoted', 'PUT', { role: 'admin' }],
    ['suspended', 'PUT', { status: 'suspended' }],
    ['removed', 'DELETE', undefined],
  ])('cannot be %s, however many try at once', async (_, method, body) => {
    const account = await new World().account();
    const owners = [
      await makeMember(account, 'owner'),
      await makeMember(account, 'owner'),
      await makeMember(account, 'owner'),
    ];
    const answers = await Promise.all(
      owners.map((owner, i) =>
        by(account, owner.token)(method, `/v1/members/${owners[(i + 1) % 3]?.id}`, body as unknown),
      ),
    );
    expect(answers.some(({ status }) => status < 300)).toBe(true);
    const active = async () =>
      (await account.must(200, 'GET', '/v1/members?role=owner&status=active')).body.data.map(
        ({ id }: Json) => id,
      );
    const left = owners.filter(({ id }) => active().then((ids) => ids.includes(id)));
    expect((await active()).length).toBeGreaterThan(0);
    for (const owner of left) {
      for (const { id } of left)
        await by(account, owner.token)(method, `/v1/members/${id}`, body as unknown);
    }
    const [last] = await active();
    expect(await active()).toHaveLength(1);
    const owner = owners.find(({ id }) => id === last);
    const refused = await by(account, owner?.token ?? '')(
      method,
      `/v1/members/${last}`,
      body as unknown,
    );
    expect(code(refused)).toEqual([409, 'last_owner']);
    for (const name of ['Alone', null]) {
      const { body } = await by(account, owner?.token ?? '')('PUT', `/v1/members/${last}`, {
        name,
      });
      expect(body.name).toBe(name);
    }
  });
});

describe('a suspended member', () => {
  it('loses every token for good, and can be active again', async () => {
    const account = await new World().account();
    const admin = await makeMember(account, 'admin');
    const path = `/v1/members/${admin.id}`;
    account.world.advance(1);
    const { body } = await account.must(200, 'PUT', path, { status: 'suspended' });
    expect(body.status).toBe('suspended');
    expect(code(await by(account, admin.token)('GET', '/v1/me'))).toEqual([401, 'unauthorized']);
    expect((await account.must(200, 'PUT', path, { status: 'active' })).body.status).toBe('active');
    expect(code(await by(account, admin.token)('GET', '/v1/me'))).toEqual([401, 'unauthorized']);
    expect(
      (await activity(account)).slice(0, 2).map(({ action, changes }) => [action, changes]),
    ).toEqual([
      ['member.updated', ['status']],
      ['member.updated', ['status']],
    ]);
  });

  it('writes nothing with a request in flight', async () => {
    const database = new FaultyDatabase(env.DB);
    const account = await new World({ DB: database.binding }).account();
    const admin = await makeMember(account, 'admin');
    const suspend = { token: account.token, body: { status: 'suspended' } };
    database.before(2, () => new World().must(200, 'PUT', `/v1/members/${admin.id}`, suspend));
    expect(code(await by(account, admin.token)('POST', '/v1/agents', { name: 'Late' }))).toEqual([
      401,
      'unauthorized',
    ]);
    expect((await account.must(200, 'GET', '/v1/agents')).body.data).toEqual([]);
  });

  it.each(['active', 'suspended'])(
    'is no status for an invited or removed member (%s)',
    async (status) => {
      const account = await new World().account();
      const { body } = await account.must(201, 'POST', '/v1/members', {
        email: 'a@example.com',
        role: 'auditor',
      });
      const path = `/v1/members/${body.id}`;
      expect(code(await account.call('PUT', path, { status }))).toEqual([409, 'conflict']);
      await account.must(204, 'DELETE', path);
      expect(code(await account.call('PUT', path, { status }))).toEqual([409, 'conflict']);
      expect(code(await account.call('PUT', path, { name: 'x' }))).toEqual([409, 'conflict']);
      expect(code(await account.call('PUT', path, { status: 'invited' }))).toEqual([
        400,
        'invalid_request',
      ]);
    },
  );
});

describe('a removed member', () => {
  it('has no access, and can be read as long as an entry may name the member', async () => {
    const account = await new World().account({ plan: 'free' });
    const { world } = account;
    const agent = await account.agent();
    const approver = await makeMember(account, 'approver');
    const { id } = await agent.request();
    await by(account, approver.token)('POST', `/v1/permissions/${id}/approve`);
    const path = `/v1/members/${approver.id}`;
    await account.must(204, 'DELETE', path);
    await account.must(204, 'DELETE', path);
    expect(code(await by(account, approver.token)('GET', '/v1/me'))).toEqual([401, 'unauthorized']);
    const removals = (await activity(account)).filter(({ action }) => action === 'member.removed');
    expect(removals.map(({ target }) => target)).toEqual([approver.id]);
    world.advance(14 * DAY - 1);
    await world.clean();
    expect((await account.must(200, 'GET', path)).body).toMatchObject({
      status: 'removed',
      sign_in: [],
    });
    world.advance(1);
    await world.clean();
    await account.must(404, 'GET', path);
  });

  it('is kept for the retention that the account has then', async () => {
    const account = await new World().account({ plan: 'free' });
    const { world } = account;
    const { id } = await makeMember(account, 'auditor');
    await account.must(204, 'DELETE', `/v1/members/${id}`);
    const patch = { token: operator, body: { plan: 'enterprise', audit_retention_days: 20 } };
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, patch);
    world.advance(27 * DAY - 1);
    await world.clean();
    await account.must(200, 'GET', `/v1/members/${id}`);
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
      token: operator,
      body: { plan: 'free' },
    });
    await world.clean();
    await account.must(404, 'GET', `/v1/members/${id}`);
  });

  it('is erased with the account', async () => {
    const account = await new World().account();
    await makeMember(account, 'auditor');
    await account.world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: operator });
    await account.world.sweep();
    await account.world.sweep();
    const left = await env.DB.prepare(
      'select count(*) as n from members where account not in (select number from accounts)',
    ).first('n');
    expect(left).toBe(0);
    expect((await countRows(env.DB)).members).toBeGreaterThan(0);
  });
});
