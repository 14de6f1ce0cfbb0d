import { env } from 'cloudflare:test';
import { decodeJwt, exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, inject, it, vi } from 'vitest';
import { SCOPES } from '../../src/http/context';
import { idBytes } from '../../src/lib/typeid';
import { depth } from '../support/depth';
import { FaultyDatabase } from '../support/faults';
import { AUDIENCE, CLIENT } from '../support/identity-client';
import { awaitWindow } from '../support/limiter';
import { makeMember } from '../support/members';
import { orderMove, settleMoves } from '../support/moves';
import { DATABASES } from '../support/shards';
import { type Json, TestAccount, World } from '../support/world';

const ISSUER = 'https://id.example.com/tenant';
const MINUTE = 60_000;

const pair = await generateKeyPair('RS256', { extractable: true });
const others = await generateKeyPair('RS256', { extractable: true });
/** The public key, used as a shared secret. */
const secret = new TextEncoder().encode(await exportSPKI(pair.publicKey));
const onCurve = await generateKeyPair('ES256', { extractable: true });

const symmetric = {
  kty: 'oct',
  kid: 'first',
  k: secret.toBase64({ alphabet: 'base64url', omitPadding: true }),
};

/** A public key as the provider publishes it. */
async function publicKey(fields: Json = {}, { publicKey: key } = pair): Promise<Json> {
  return { ...(await exportJWK(key)), kid: 'first', use: 'sig', alg: 'RS256', ...fields };
}

/** A world whose users sign in with an identity provider, and that provider. */
class Scene {
  readonly world: World;
  /** The keys that the provider publishes. */
  keys: Json[] = [];
  /** The provider's discovery document. */
  configuration: Json = { issuer: ISSUER, jwks_uri: 'https://keys.example.com/jwks' };
  isDown = false;

  private constructor(overrides: object) {
    this.world = new World({ OIDC_ISSUER: ISSUER, OIDC_AUDIENCE: AUDIENCE, ...overrides });
    this.world.internet.on('id.example.com', ({ url }) => {
      const isThere = url === `${ISSUER}/.well-known/openid-configuration` && !this.isDown;
      return isThere ? Response.json(this.configuration) : new Response(null, { status: 503 });
    });
    this.world.internet.on('keys.example.com', () => Response.json({ keys: this.keys }));
  }

  static async open(overrides: object = {}): Promise<Scene> {
    // All worlds of this file share the stored keys.
    await env.DB.prepare('delete from provider_keys').run();
    const scene = new Scene(overrides);
    scene.keys = [{ ...(await exportJWK(pair.publicKey)), kid: 'first', use: 'sig', alg: 'RS256' }];
    return scene;
  }

  /** How often the provider's keys were fetched. */
  get asked(): number {
    return this.world.internet.sentTo('id.example.com').length;
  }

  /** A token of the provider for a new person, or with these claims. */
  async token(
    claims: Record<string, unknown> = {},
    header: object = {},
    key: CryptoKey | Uint8Array = pair.privateKey,
  ) {
    const now = Math.floor(this.world.now / 1_000);
    const usual = {
      iss: ISSUER,
      aud: AUDIENCE,
      sub: crypto.randomUUID(),
      iat: now,
      nbf: now,
      exp: now + 600,
    };
    return new SignJWT({ ...usual, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'first', ...header })
      .sign(key);
  }

  /** A signed token with any header and claims, also invalid ones. */
  async forge(header: Json = {}, claims: Json = {}, key = pair.privateKey): Promise<string> {
    const [first, second] = (await this.token()).split('.').slice(0, 2).map(readPart);
    const signed = [
      { ...first, ...header },
      { ...second, ...claims },
    ]
      .map(writePart)
      .join('.');
    const signature = await crypto.subtle.sign(
      'RSASSA-PKCS1-v1_5',
      key,
      new TextEncoder().encode(signed),
    );
    return `${signed}.${new Uint8Array(signature).toBase64({ alphabet: 'base64url', omitPadding: true })}`;
  }

  call(
    token: string,
    method = 'GET',
    path = '/v1/me',
    body?: unknown,
    headers: Record<string, string> = {},
  ) {
    return this.world.call(method, path, { token, headers, ...(body !== undefined && { body }) });
  }

  must(status: number, token: string, method = 'GET', path = '/v1/me', body?: unknown) {
    return this.world.must(status, method, path, { token, ...(body !== undefined && { body }) });
  }
}

/** The account of a person who signed in. */
function accountOf({ world }: Scene, { id }: Json, token: string): TestAccount {
  return new TestAccount(world, id, token, '');
}

async function countAccounts(): Promise<number> {
  const counts = await Promise.all(
    [env.DB, env.DB_01].map((database) =>
      database.prepare('select count(*) as n from accounts').first<{ n: number }>(),
    ),
  );
  return counts.reduce((sum, row) => sum + (row?.n ?? 0), 0);
}

describe('a token of a real provider', () => {
  const issuer = inject('issuer');

  function openWorld() {
    const world = new World({ OIDC_ISSUER: issuer, OIDC_AUDIENCE: AUDIENCE });
    world.now = Date.now();
    world.internet.on('127.0.0.1', ({ url }) => fetch(url));
    return world;
  }

  async function getToken(scope?: string): Promise<string> {
    const response = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa(`${CLIENT.id}:${CLIENT.secret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) }),
    });
    const { access_token } = (await response.json()) as { access_token: string };
    return access_token;
  }

  it('works as a user token within its scopes, before and after a rotation of the keys', async () => {
    const world = openWorld();
    const token = await getToken('account:read');
    const { body } = await world.must(200, 'GET', '/v1/me', { token });
    expect(body.plan).toBe('free');
    await world.must(403, 'GET', '/v1/agents', { token });
    await world.must(200, 'GET', '/v1/agents', {
      token: await getToken('agents:read account:read'),
    });
    await fetch(`${issuer}/rotate`, { method: 'POST' });
    world.advance(MINUTE);
    const again = await world.must(200, 'GET', '/v1/me', { token: await getToken('account:read') });
    expect(again.body.id).toBe(body.id);
    await world.must(401, 'GET', '/v1/me', { token });
  });
});

describe('a token of the provider', () => {
  it('creates an account on the first request, and uses the same account afterwards', async () => {
    const scene = await Scene.open();
    const { world } = scene;
    const before = await countAccounts();
    const token = await scene.token({ sub: 'ada', email: 'ada@example.com', name: '  Ada  ' });
    const { body: account } = await scene.must(200, token);
    expect(account).toEqual({
      id: expect.stringMatching(/^user_/),
      email: 'ada@example.com',
      name: 'Ada',
      plan: 'free',
      audit_retention_days: 7,
      is_active: true,
      stopped: null,
      created_at: '2026-01-31T12:00:00.000Z',
      updated_at: '2026-01-31T12:00:00.000Z',
      member: {
        id: expect.stringMatching(/^member_/),
        email: 'ada@example.com',
        email_proven: false,
        name: 'Ada',
        role: 'owner',
        status: 'active',
        sign_in: ['oidc'],
        last_seen_at: null,
        created_at: '2026-01-31T12:00:00.000Z',
        updated_at: '2026-01-31T12:00:00.000Z',
      },
      scopes: SCOPES,
      witnessed: false,
    });
    world.advance(MINUTE);
    const again = await scene.must(
      200,
      await scene.token({ sub: 'ada', email: 'other@example.com' }),
    );
    expect(again.body).toEqual({
      ...account,
      member: { ...account.member, last_seen_at: '2026-01-31T12:00:00.000Z' },
    });
    expect(again.cost.trips).toBe(2);
    expect(await countAccounts()).toBe(before + 1);
    const { body: found } = await world.must(200, 'GET', `/v1/admin/users/${account.id}`, {
      token: world.env.ADMIN_TOKEN ?? '',
    });
    const { member: _, scopes: __, ...shown } = account;
    expect(found).toEqual(shown);
  });

  it('is never linked to an account by its e-mail address', async () => {
    const scene = await Scene.open();
    const victim = await scene.world.account({ email: 'owner@example.com' });
    const { body } = await scene.must(200, await scene.token({ email: 'owner@example.com' }));
    expect(body.id).not.toBe(victim.id);
  });

  it.each([
    ['missing', undefined],
    ['not a string', 7],
    ['too long', `${'a'.repeat(250)}@example.com`],
  ])('creates an account without an e-mail address if the claim is %s', async (_, email) => {
    const scene = await Scene.open();
    const { body } = await scene.must(200, await scene.token({ email, name: '\u0000' }));
    expect(body).toMatchObject({ email: '', name: null });
  });

  it.runIf(depth.isDeep)('creates one account for concurrent first requests', async () => {
    const scene = await Scene.open({ DB_01: env.DB_01 });
    const before = await countAccounts();
    const token = await scene.token();
    const answers = await Promise.all(Array.from({ length: 20 }, () => scene.must(200, token)));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await countAccounts()).toBe(before + 1);
  });

  it.runIf(depth.isDeep)('creates the same account after a crash during its creation', async () => {
    const scene = await Scene.open();
    const token = await scene.token();
    const { body } = await scene.must(200, token);
    await env.DB.prepare(
      'delete from accounts where id = (select account from identities order by created_at desc limit 1)',
    ).run();
    const again = await scene.must(200, token);
    expect(again.body).toEqual({
      ...body,
      member: { ...body.member, last_seen_at: expect.any(String) },
    });
  });

  it('acts for its account: agents, idempotent requests, activity records', async () => {
    const scene = await Scene.open();
    const token = await scene.token();
    const { body: account } = await scene.must(200, token);
    const key = { 'Idempotency-Key': 'once' };
    const first = await scene.call(token, 'POST', '/v1/agents', { name: 'Mailer' }, key);
    const second = await scene.call(token, 'POST', '/v1/agents', { name: 'Mailer' }, key);
    expect([first.status, second.text]).toEqual([201, first.text]);
    const { body: activity } = await scene.must(200, token, 'GET', '/v1/activity');
    expect(activity.data.map(({ actor, action }: Json) => [actor, action])).toEqual([
      [account.member.id, 'agent.created'],
    ]);
    const other = await scene.must(200, await scene.token(), 'GET', '/v1/agents');
    expect(other.body.data).toEqual([]);
  });

  it('needs at most two round trips if its account is on the first shard', async () => {
    const scene = await Scene.open();
    const token = await scene.token();
    await scene.must(200, token);
    const made = await scene.must(201, token, 'POST', '/v1/agents', { name: 'Mailer' });
    expect(made.cost.trips).toBe(2);
    const read = await scene.must(200, token, 'GET', `/v1/agents/${made.body.id}`);
    expect(read.cost.trips).toBeLessThanOrEqual(2);
  });

  it('works on any shard', async () => {
    const scene = await Scene.open({ DB_01: env.DB_01 });
    const homes = new Set<string>();
    for (let person = 0; person < 12 && homes.size < 2; person++) {
      const token = await scene.token();
      await scene.must(201, token, 'POST', '/v1/agents', { name: 'Mailer' });
      const { body } = await scene.must(200, token, 'GET', '/v1/agents');
      expect(body.data).toHaveLength(1);
      const { body: issued } = await scene.must(201, token, 'POST', '/v1/me/tokens', {
        scopes: ['agents:read'],
      });
      homes.add(issued.token.slice(4, 6));
      await scene.must(200, issued.token, 'GET', '/v1/agents');
    }
    // The shard with the most room gets each account.
    expect([...homes].every((home) => ['00', '01'].includes(home))).toBe(true);
  });

  it.runIf(depth.isDeep)(
    'finds its account after each move, and never gets another one',
    async () => {
      const first = new FaultyDatabase(env.DB);
      const scene = await Scene.open();
      const { body } = await scene.must(200, await scene.token({ sub: 'grace' }));
      Object.assign(scene.world.env, { DB: first.binding, DB_01: env.DB_01, DB_02: env.DB_02 });
      const places = ['00', '01', '02', '00', '02'];
      for (const [i, place] of places.slice(1).entries()) {
        await orderMove(scene.world, body.id, place, DATABASES[places[i] ?? '']);
        first.refuse(/update "identities"/);
        scene.world.advance(60_000);
        await scene.world.sweep();
        await scene.must(503, await scene.token({ sub: 'grace' }), 'POST', '/v1/me/tokens', {});
        first.refuse(null);
        await settleMoves(scene.world);
        const token = await scene.token({ sub: 'grace' });
        expect((await scene.must(200, token)).body.id).toBe(body.id);
        const { token: issued } = (await scene.must(201, token, 'POST', '/v1/me/tokens', {})).body;
        expect(issued.slice(4, 6)).toBe(place);
      }
    },
  );

  it('acts as an owner, whose role limits it from the moment of a change', async () => {
    const scene = await Scene.open();
    const token = await scene.token();
    const { body: me } = await scene.must(200, token);
    const second = await makeMember(accountOf(scene, me, token), 'owner');
    const path = `/v1/members/${me.member.id}`;
    await scene.must(200, second.token, 'PUT', path, { role: 'auditor' });
    const { body: now } = await scene.must(200, token);
    expect([now.member.role, now.scopes.includes('agents:write')]).toEqual(['auditor', false]);
    expect((await scene.must(403, token, 'POST', '/v1/agents', { name: 'x' })).body.code).toBe(
      'insufficient_scope',
    );
  });

  it.runIf(depth.isDeep)(
    'writes nothing if its member is demoted or suspended while the request is in flight',
    async () => {
      for (const change of [{ role: 'auditor' }, { status: 'suspended' }]) {
        const first = new FaultyDatabase(env.DB);
        const scene = await Scene.open({ DB: first.binding });
        const token = await scene.token();
        const { body: me } = await scene.must(200, token);
        const second = await makeMember(accountOf(scene, me, token), 'owner');
        const path = `/v1/members/${me.member.id}`;
        first.before(2, () =>
          new World().must(200, 'PUT', path, { token: second.token, body: change }),
        );
        const late = await scene.call(token, 'POST', '/v1/agents', { name: 'Late' });
        expect([late.status, late.body.code]).toEqual([
          403,
          change.role ? 'insufficient_scope' : 'account_inactive',
        ]);
        expect((await scene.must(200, second.token, 'GET', '/v1/agents')).body.data).toEqual([]);
      }
    },
  );

  it('is refused while its member is suspended', async () => {
    const scene = await Scene.open();
    const token = await scene.token();
    const { body: me } = await scene.must(200, token);
    const second = await makeMember(accountOf(scene, me, token), 'owner');
    const path = `/v1/members/${me.member.id}`;
    await scene.must(200, second.token, 'PUT', path, { status: 'suspended' });
    expect((await scene.must(403, token)).body.code).toBe('account_inactive');
    await scene.must(200, second.token, 'PUT', path, { status: 'active' });
    expect((await scene.must(200, token)).body.id).toBe(me.id);
  });

  it.each([0, 30])(
    'gets an account of its own after its member was removed %d days ago',
    async (days) => {
      const scene = await Scene.open();
      const { world } = scene;
      const sub = crypto.randomUUID();
      const token = await scene.token({ sub });
      const { body: me } = await scene.must(200, token);
      const second = await makeMember(accountOf(scene, me, token), 'owner');
      await scene.must(204, second.token, 'DELETE', `/v1/members/${me.member.id}`);
      world.advance(days * 86_400_000);
      await world.clean();
      const operator = { token: world.env.ADMIN_TOKEN ?? '' };
      const { body: issued } = await world.must(
        201,
        'POST',
        `/v1/admin/users/${me.id}/tokens`,
        operator,
      );
      await scene.must(days === 0 ? 200 : 404, issued.token, 'GET', `/v1/members/${me.member.id}`);
      const { body: own } = await scene.must(200, await scene.token({ sub }));
      expect(own.id).not.toBe(me.id);
      expect(own.member.role).toBe('owner');
      expect((await scene.must(200, await scene.token({ sub }))).body.id).toBe(own.id);
      await scene.must(200, issued.token);
    },
  );

  it('becomes the owner of an account that it made before accounts had members', async () => {
    const scene = await Scene.open();
    const token = await scene.token({ email: 'old@example.com' });
    const { body: me } = await scene.must(200, token);
    await env.DB.prepare('delete from members where id = ?').bind(idBytes(me.member.id)).run();
    const path = `/v1/admin/users/${me.id}/owner`;
    const body = { email: 'OLD@example.com' };
    await scene.world.must(201, 'POST', path, { token: scene.world.env.ADMIN_TOKEN ?? '', body });
    const answers = await Promise.all(Array.from({ length: 10 }, () => scene.must(200, token)));
    expect(new Set(answers.map(({ body }) => body.member.id)).size).toBe(1);
    expect(answers[0]?.body).toMatchObject({ id: me.id, member: { role: 'owner', email: null } });
  });

  it('is refused while its account is inactive', async () => {
    const scene = await Scene.open();
    const token = await scene.token();
    const { body } = await scene.must(200, token);
    const operator = { token: scene.world.env.ADMIN_TOKEN ?? '', body: { is_active: false } };
    await scene.world.must(200, 'PATCH', `/v1/admin/users/${body.id}`, operator);
    expect((await scene.must(403, token)).body.code).toBe('account_inactive');
  });

  it.each([{}, { DB_01: env.DB_01 }])(
    'creates another account after its account is deleted (case %#)',
    async (overrides) => {
      const scene = await Scene.open(overrides);
      const token = await scene.token();
      const { body } = await scene.must(200, token);
      await scene.must(201, token, 'POST', '/v1/agents', { name: 'Mailer' });
      await scene.world.must(202, 'DELETE', `/v1/admin/users/${body.id}`, {
        token: scene.world.env.ADMIN_TOKEN ?? '',
      });
      const { body: renewed } = await scene.must(200, token);
      expect(renewed.id).not.toBe(body.id);
      expect((await scene.must(200, token, 'GET', '/v1/agents')).body.data).toEqual([]);
    },
  );

  it('belongs to another person if another provider names the same subject', async () => {
    const scene = await Scene.open();
    const { body } = await scene.must(200, await scene.token({ sub: 'eve' }));
    const issuer = 'https://elsewhere.example.com';
    scene.world.restart({ OIDC_ISSUER: issuer });
    const configuration = { issuer, jwks_uri: 'https://keys.example.com/jwks' };
    scene.world.internet.on('elsewhere.example.com', () => Response.json(configuration));
    const other = await scene.must(200, await scene.token({ sub: 'eve', iss: issuer }));
    expect(other.body.id).not.toBe(body.id);
  });

  it.each([
    ['several audiences', { aud: ['https://elsewhere.example.com', AUDIENCE] }, {}],
    ['another authorized party', { azp: 'https://elsewhere.example.com' }, {}],
    ['the type of RFC 9068', {}, { typ: 'at+jwt' }],
    ['the media type of RFC 9068', {}, { typ: 'application/AT+JWT' }],
    ['the type JWT', {}, { typ: 'JWT' }],
    ['a subject of 255 characters', { sub: '\u0000"\\é😀'.repeat(42) }, {}],
  ])('may have %s', async (_, claims, header) => {
    const scene = await Scene.open();
    const sub = crypto.randomUUID();
    const { body } = await scene.must(200, await scene.token({ sub, ...claims }, header));
    const again = await scene.must(200, await scene.token({ sub, ...claims }, header));
    expect(again.body.id).toBe(body.id);
  });

  it('shares idempotency keys and rate limits with other tokens of the same person', async () => {
    await awaitWindow();
    const scene = await Scene.open({
      RATE_LIMITS: 'on',
      CREDENTIAL_LIMITER: env.LIMITER_OF_3,
      ADDRESS_LIMITER: env.LIMITER_OF_3,
      ACCOUNT_LIMITER: env.ACCOUNT_LIMITER,
    });
    const tokens = await Promise.all(
      [1, 2, 3, 4, 5].map((jti) => scene.token({ sub: 'bea', jti: `${jti}` })),
    );
    const key = { 'Idempotency-Key': 'once' };
    const answers: Json[] = [];
    for (const token of tokens)
      answers.push(await scene.call(token, 'POST', '/v1/agents', { name: 'Mailer' }, key));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 429, 429]);
    expect(new Set(answers.slice(0, 3).map(({ text }) => text)).size).toBe(1);
    expect(answers[1].headers.get('Idempotent-Replayed')).toBe('true');
    expect(answers[3].headers.get('Retry-After')).toBe('10');
    // Other people have limits of their own, and forged tokens do not count against the person that
    // they name.
    await scene.must(200, await scene.token({ sub: 'cyd' }));
    for (const jti of ['6', '7', '8']) {
      const forged = await scene.token({ sub: 'dot', jti }, {}, others.privateKey);
      expect([401, 429]).toContain((await scene.call(forged)).status);
    }
    await scene.must(200, await scene.token({ sub: 'dot' }));
  });

  it('is never logged, nor are the claims about its person', async () => {
    const scene = await Scene.open();
    const logs = (['log', 'info', 'warn', 'error', 'debug'] as const).map((level) =>
      vi.spyOn(console, level),
    );
    const person = { sub: 'sub-of-ada', email: 'ada@example.com', name: 'Ada Lovelace' };
    const token = await scene.token(person);
    await scene.must(200, token);
    const forged = await scene.token(person, {}, others.privateKey);
    await scene.must(401, forged);
    await scene.must(401, await scene.token({ ...person, exp: 1 }));
    scene.isDown = true;
    scene.world.advance(61 * MINUTE);
    const late = await scene.token(person);
    await scene.must(503, late);
    scene.isDown = false;
    scene.world.advance(MINUTE);
    scene.keys = [{ kty: 'RSA', kid: 'first', n: 'AQAB', e: 'AQAB' }];
    await scene.must(401, late);
    const lines = logs.flatMap(({ mock }) => mock.calls.flat().map(String));
    for (const log of logs) log.mockRestore();
    expect(lines.length).toBeGreaterThan(0);
    for (const secret of [...token.split('.'), ...forged.split('.'), ...Object.values(person)]) {
      expect(lines.filter((line) => line.includes(secret))).toEqual([]);
    }
  });

  it('is not an operator token', async () => {
    const scene = await Scene.open();
    const answer = await scene.must(403, await scene.token(), 'GET', '/v1/admin/users');
    expect(answer.body.code).toBe('wrong_credential');
  });

  it('cannot create a user token that expires after it', async () => {
    const scene = await Scene.open();
    const token = await scene.token();
    const { exp } = decodeJwt(token);
    const end = new Date((exp ?? 0) * 1_000);
    expect((await scene.must(201, token, 'POST', '/v1/me/tokens', {})).body.expires_at).toBe(
      end.toISOString(),
    );
    const later = new Date(end.getTime() + 1).toISOString();
    const { body } = await scene.must(400, token, 'POST', '/v1/me/tokens', { expires_at: later });
    expect(body.errors[0].path).toBe('body.expires_at');
  });

  it.runIf(depth.isDeep)(
    'writes nothing if its account becomes inactive or the token expires while a request is in flight',
    async () => {
      const first = new FaultyDatabase(env.DB);
      const scene = await Scene.open({ DB: first.binding });
      const token = await scene.token();
      const { body: account } = await scene.must(200, token);
      const elsewhere = new World();
      elsewhere.now = scene.world.now;
      const setActive = (isActive: boolean) =>
        elsewhere.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
          token: env.ADMIN_TOKEN,
          body: { is_active: isActive },
        });
      first.before(2, () => setActive(false));
      const refused = await scene.must(403, token, 'POST', '/v1/agents', { name: 'Mailer' });
      expect(refused.body.code).toBe('account_inactive');
      await setActive(true);
      expect((await scene.must(200, token, 'GET', '/v1/agents')).body.data).toEqual([]);
      const { body: agent } = await scene.must(201, token, 'POST', '/v1/agents', {
        name: 'Mailer',
      });
      const ask = {
        token: agent.api_key,
        body: { action: 'file.read', resource: 'file:a', expires_in: 86_400 },
      };
      const { body: permission } = await elsewhere.must(201, 'POST', '/v1/permissions', ask);
      first.before(2, async () => {
        elsewhere.now = (decodeJwt(token).exp ?? 0) * 1_000;
        await elsewhere.must(201, 'POST', '/v1/permissions', ask);
      });
      await scene.must(503, token, 'POST', `/v1/permissions/${permission.id}/approve`);
      const { body: pending } = await elsewhere.must(
        200,
        'GET',
        `/v1/permissions/${permission.id}`,
        {
          token: agent.api_key,
        },
      );
      expect(pending.status).toBe('pending');
    },
  );

  it('gets no stored answer of a token with other scopes, even with the same idempotency key', async () => {
    const scene = await Scene.open();
    const sub = crypto.randomUUID();
    const key = { 'Idempotency-Key': 'make-token' };
    const whole = await scene.token({ sub });
    const made = await scene.call(whole, 'POST', '/v1/me/tokens', {}, key);
    const again = await scene.call(await scene.token({ sub }), 'POST', '/v1/me/tokens', {}, key);
    expect([again.text, again.headers.get('Idempotent-Replayed')]).toEqual([made.text, 'true']);
    const lesser = await scene.token({ sub, scope: 'account:write' });
    const other = await scene.call(lesser, 'POST', '/v1/me/tokens', {}, key);
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reuse']);
  });

  it.runIf(depth.isDeep)(
    'creates no new account if its own is deleted while a request is in flight',
    async () => {
      const first = new FaultyDatabase(env.DB);
      const scene = await Scene.open({ DB: first.binding });
      const token = await scene.token();
      const { body: account } = await scene.must(200, token);
      const path = `/v1/admin/users/${account.id}`;
      let before = 0;
      first.before(2, async () => {
        await new World().must(202, 'DELETE', path, { token: env.ADMIN_TOKEN });
        before = await countAccounts();
      });
      await scene.must(401, token, 'POST', '/v1/agents', { name: 'Mailer' });
      expect(await countAccounts()).toBe(before);
    },
  );
});

describe('the scope claim', () => {
  it.each([
    ['one known scope', 'agents:read', 200, 403],
    ['known and foreign scopes', 'openid agents:read profile account:read', 200, 200],
    ['only foreign scopes', 'openid profile', 403, 403],
    ['no scope', '', 403, 403],
    ['an array', ['agents:read'], 403, 403],
    ['no value', undefined, 200, 200],
  ])('decides what a token may do when it has %s', async (_, scope, agents, account) => {
    const scene = await Scene.open();
    const token = await scene.token({ scope });
    await scene.must(agents, token, 'GET', '/v1/agents');
    await scene.must(account, token, 'GET', '/v1/me');
  });

  it('limits the scopes of user tokens that it creates', async () => {
    const scene = await Scene.open();
    const token = await scene.token({ scope: 'account:write agents:read' });
    await scene.must(403, token, 'POST', '/v1/me/tokens', { scopes: ['agents:write'] });
    const { body } = await scene.must(201, token, 'POST', '/v1/me/tokens', {});
    expect(body.scopes.toSorted()).toEqual(['account:write', 'agents:read']);
  });
});

describe('an invalid token', () => {
  const now = Date.UTC(2026, 0, 31, 12) / 1_000;
  const refused: [string, (scene: Scene) => Promise<string>][] = [
    ['signed with another key', (scene) => scene.token({}, {}, others.privateKey)],
    [
      'signed with the public key as a secret',
      (scene) => scene.token({}, { alg: 'HS256' }, secret),
    ],
    ['without a signature', async (scene) => withoutSignature(await scene.token())],
    ['of another issuer', (scene) => scene.token({ iss: 'https://id.example.com' })],
    ['of an issuer with an added slash', (scene) => scene.token({ iss: `${ISSUER}/` })],
    ['for another audience', (scene) => scene.token({ aud: 'https://elsewhere.example.com' })],
    ['for no audience', (scene) => scene.token({ aud: undefined })],
    ['expired', (scene) => scene.token({ exp: now })],
    ['without an expiry', (scene) => scene.token({ exp: undefined })],
    ['not valid yet', (scene) => scene.token({ nbf: now + 1 })],
    ['without a subject', (scene) => scene.token({ sub: undefined })],
    ['with an empty subject', (scene) => scene.token({ sub: '' })],
    [
      'with a subject that is not a string',
      (scene) => scene.token({ sub: 7 as unknown as string }),
    ],
    ['with a subject that is too long', (scene) => scene.token({ sub: 'a'.repeat(256) })],
    ['with an unknown key id', (scene) => scene.token({}, { kid: 'second' })],
    [
      'with a critical header that is not understood',
      (scene) => scene.forge({ crit: ['x'], x: 1 }),
    ],
    ['of several issuers', (scene) => scene.forge({}, { iss: [ISSUER] })],
    [
      'for several other audiences',
      (scene) => scene.token({ aud: ['https://a.example.com', `${AUDIENCE}/`] }),
    ],
    ['with an expiry that is a string', (scene) => scene.forge({}, { exp: String(now + 600) })],
    ['with an expiry that is null', (scene) => scene.forge({}, { exp: null })],
    ['with the algorithm in lower case', (scene) => scene.forge({ alg: 'rs256' })],
    ['of a type for another use', (scene) => scene.token({}, { typ: 'logout+jwt' })],
    [
      'of a media type for another use',
      (scene) => scene.token({}, { typ: 'application/secevent+jwt' }),
    ],
    ...['jku', 'x5u'].map((header): [string, (scene: Scene) => Promise<string>] => [
      `with the URL of a key in \`${header}\``,
      (scene) =>
        scene.forge(
          { kid: 'theirs', [header]: 'https://evil.example.com/jwks' },
          {},
          others.privateKey,
        ),
    ]),
    [
      'with a changed claim',
      async (scene) => withClaim(await scene.token(), { sub: 'somebody else' }),
    ],
    [
      'with a key of its own in the header',
      async (scene) =>
        scene.token({}, { jwk: await exportJWK(others.publicKey) }, others.privateKey),
    ],
    [
      'signed with another algorithm than that of the key',
      (scene) => scene.token({}, { alg: 'ES256' }, onCurve.privateKey),
    ],
  ];

  it.each(refused)('is refused if it is %s', async (_, make) => {
    const scene = await Scene.open();
    await scene.must(200, await scene.token());
    const before = await countAccounts();
    const answer = await scene.must(401, await make(scene));
    expect(answer.body.code).toBe('unauthorized');
    expect(answer.headers.get('WWW-Authenticate')).toBe('Bearer');
    expect(await countAccounts()).toBe(before);
    expect(scene.world.internet.sentTo('evil.example.com')).toEqual([]);
    // Routes that accept no user token refuse it as well.
    await scene.must(401, await make(scene), 'GET', '/v1/admin/users');
  });

  it.each([
    ['it has another issuer', (scene: Scene) => scene.token({ iss: 'https://id.example.com' })],
    ['it has a symmetric algorithm', (scene: Scene) => scene.token({}, { alg: 'HS256' }, secret)],
    ['it is too long', (scene: Scene) => scene.token({ padding: 'a'.repeat(8_192) })],
    ['it is not a JWT', async () => 'a.b.c'],
    [
      'its subject has ten thousand characters',
      (scene: Scene) => scene.token({ sub: 'a'.repeat(10_000) }),
    ],
    ['it is encrypted', async (scene: Scene) => `${await scene.token()}.tag.more`],
    ['it begins like a user token', async (scene: Scene) => `csu_00${await scene.token()}`],
    ['it has an additional character', async (scene: Scene) => `${await scene.token()}=`],
  ])('is refused without a database query if %s', async (_, make) => {
    const scene = await Scene.open();
    expect((await scene.must(401, await make(scene))).cost.trips).toBe(0);
    expect(scene.asked).toBe(0);
  });

  it('is refused if no provider is configured', async () => {
    const scene = await Scene.open({ OIDC_ISSUER: undefined, OIDC_AUDIENCE: undefined });
    expect((await scene.must(401, await scene.token())).cost.trips).toBe(0);
  });
});

describe.runIf(depth.isDeep)('the keys of the provider', () => {
  it('are stored for ten minutes', async () => {
    const scene = await Scene.open();
    const token = await scene.token({ exp: scene.world.now / 1_000 + 3_600 });
    await scene.must(200, token);
    scene.world.advance(10 * MINUTE - 1);
    await scene.must(200, token);
    expect(scene.asked).toBe(1);
    scene.world.advance(1);
    await scene.must(200, token);
    expect(scene.asked).toBe(2);
  });

  it('are fetched when a token names a new key, at most once in half a minute', async () => {
    const scene = await Scene.open();
    await scene.must(200, await scene.token());
    const unknown = await scene.token({}, { kid: 'second' }, others.privateKey);
    await scene.must(401, unknown);
    expect(scene.asked).toBe(1);
    scene.world.advance(30_000);
    for (let time = 0; time < 5; time++) await scene.must(401, unknown);
    expect(scene.asked).toBe(2);
    scene.keys = [{ ...(await exportJWK(others.publicKey)), kid: 'second', alg: 'RS256' }];
    scene.world.advance(30_000);
    await scene.must(200, unknown);
    // Tokens of the withdrawn key are refused.
    await scene.must(401, await scene.token());
  });

  it('are used for at most an hour while the provider is down', async () => {
    const scene = await Scene.open();
    const token = await scene.token({ exp: scene.world.now / 1_000 + 7_200 });
    await scene.must(200, token);
    scene.isDown = true;
    scene.world.advance(60 * MINUTE - 1);
    await scene.must(200, token);
    scene.world.advance(1);
    const answer = await scene.must(503, token);
    expect(answer.headers.has('Retry-After')).toBe(true);
    scene.isDown = false;
    scene.world.advance(MINUTE);
    await scene.must(200, token);
  });

  it.each([
    [
      'names another issuer',
      { issuer: 'https://other.example.com', jwks_uri: 'https://keys.example.com/jwks' },
    ],
    ['has a key URL without https', { issuer: ISSUER, jwks_uri: 'http://keys.example.com/jwks' }],
    ['has no key URL', { issuer: ISSUER }],
    ['is not an object', 'configuration'],
  ])('are not fetched if the discovery document %s', async (_, configuration) => {
    const scene = await Scene.open();
    scene.configuration = configuration;
    await scene.must(503, await scene.token());
  });

  it('are not accepted from an endless response, which is read only in part', async () => {
    const scene = await Scene.open();
    let given = 0;
    const endless = new ReadableStream({
      pull: (controller) => {
        given += 1;
        controller.enqueue(new Uint8Array(65_536).fill(32));
        // Ends the response before it takes too much memory of the test itself.
        if (given === 100) controller.close();
      },
    });
    scene.world.internet.on('keys.example.com', () => new Response(endless));
    await scene.must(503, await scene.token());
    expect(given).toBeLessThan(10);
  });

  it.each([
    ['http://keys.example.com/jwks', false],
    ['https://10.0.0.1/jwks', false],
    ['https://169.254.169.254/latest', false],
    ['https://0x7f000001/jwks', false],
    ['https://localhost/jwks', false],
    ['http://localhost/jwks', false],
    ['http://127.0.0.1/jwks', false],
    ['https://keys.internal/jwks', false],
    ['https://user:pass@keys.example.com/jwks', false],
    ['file:///jwks', false],
    ['https://keys.example.com/jwks', true],
    ['https://id.example.com/jwks', true],
  ])('are fetched from %s: %s', async (address, isTaken) => {
    const scene = await Scene.open();
    scene.configuration = { issuer: ISSUER, jwks_uri: address };
    const { hostname } = new URL(address);
    const discovery = ({ url }: { url: string }) =>
      Response.json(url.endsWith('/jwks') ? { keys: scene.keys } : scene.configuration);
    scene.world.internet.on(hostname, discovery);
    scene.world.internet.on('id.example.com', discovery);
    await scene.must(isTaken ? 200 : 503, await scene.token());
    expect(scene.world.internet.requests.filter(({ url }) => url === address)).toHaveLength(
      isTaken ? 1 : 0,
    );
  });

  it.each<[string, number, () => Json[] | Promise<Json[]>]>([
    ['the key twice', 200, async () => [await publicKey(), await publicKey()]],
    [
      'another key of the same id before it',
      200,
      async () => [await publicKey({}, others), await publicKey()],
    ],
    [
      'another key of the same id after it',
      200,
      async () => [await publicKey(), await publicKey({}, others)],
    ],
    [
      'no id',
      200,
      async () => [{ ...(await publicKey()), kid: undefined }, await publicKey({}, others)],
    ],
    [
      'malformed keys beside it',
      200,
      async () => [null, 7, 'key', [], {}, { kid: 'first' }, await publicKey()],
    ],
    [
      'a key of an unknown type beside it',
      200,
      async () => [{ kty: 'NEW', kid: 'first' }, await publicKey()],
    ],
    ['a symmetric key of the same id beside it', 200, async () => [symmetric, await publicKey()]],
    [
      'only other keys of the same id',
      401,
      async () => [await publicKey({}, others), await publicKey({}, others)],
    ],
    ['the key for encryption', 401, async () => [await publicKey({ use: 'enc' })]],
    [
      'the key for key wrapping',
      401,
      async () => [await publicKey({ use: undefined, key_ops: ['wrapKey'] })],
    ],
    ['the key for another algorithm', 401, async () => [await publicKey({ alg: 'PS256' })]],
    [
      'the private key',
      401,
      async () => [{ ...(await exportJWK(pair.privateKey)), kid: 'first', alg: 'RS256' }],
    ],
    ['a key that is too short', 401, () => [{ kty: 'RSA', kid: 'first', n: 'AQAB', e: 'AQAB' }]],
    ['only a symmetric key', 401, () => [symmetric]],
    ['no key', 401, () => []],
  ])('with %s make the service answer %i', async (_, status, makeKeys) => {
    const scene = await Scene.open();
    scene.keys = await makeKeys();
    const answer = await scene.call(
      await scene.forge(scene.keys[0]?.kid === undefined ? { kid: undefined } : {}),
    );
    expect(answer.status).toBe(status);
    await scene.must(401, await scene.token({}, { alg: 'HS256' }, secret));
  });

  it.runIf(depth.isDeep)('are fetched by one of several concurrent requests', async () => {
    const scene = await Scene.open();
    await scene.must(200, await scene.token());
    scene.world.advance(MINUTE);
    const unknown = await Promise.all(
      Array.from({ length: 20 }, (_, i) => scene.token({}, { kid: `new-${i}` })),
    );
    const refused = await Promise.all(unknown.map((token) => scene.call(token)));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([401]));
    expect(scene.asked).toBe(2);
    scene.world.advance(11 * MINUTE);
    const token = await scene.token();
    await Promise.all(Array.from({ length: 20 }, () => scene.must(200, token)));
    expect(scene.asked).toBe(3);
  });

  it.runIf(depth.isDeep)(
    'are fetched by one of several concurrent requests while none are stored, and the others wait',
    async () => {
      const scene = await Scene.open();
      for (const asked of [1, 2]) {
        const token = await scene.token();
        const answers = await Promise.all(Array.from({ length: 20 }, () => scene.call(token)));
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
        expect(scene.asked).toBe(asked);
        scene.world.advance(60 * MINUTE);
      }
    },
  );

  it.each([
    ['were never fetched', 0],
    ['are too old', 61 * MINUTE],
  ])(
    'that %s are requested at most once in half a minute while the provider is down',
    async (_, age) => {
      const scene = await Scene.open();
      const { world } = scene;
      if (age > 0) await scene.must(200, await scene.token());
      world.advance(age);
      scene.isDown = true;
      const before = scene.asked;
      const flood = async () => {
        const tokens = Array.from({ length: 20 }, (_, i) =>
          scene.token({}, { kid: `new-${i}` }, others.privateKey),
        );
        const answers = await Promise.all(
          (await Promise.all(tokens)).map((token) => scene.call(token)),
        );
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
      };
      const start = world.now;
      await flood();
      expect(scene.asked).toBe(before + 1);
      // The failure is remembered, so no request waits.
      world.now = start + 29_999;
      world.pauses = [];
      await flood();
      expect([scene.asked, world.pauses]).toEqual([before + 1, []]);
      world.advance(1);
      await flood();
      expect(scene.asked).toBe(before + 2);
    },
  );

  it.runIf(depth.isDeep)(
    'delay a concurrent request by at most 1.75 s while the provider does not answer',
    async () => {
      const scene = await Scene.open();
      const { world } = scene;
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
      world.internet.on('id.example.com', async () => {
        ask();
        await released;
        return Response.json(scene.configuration);
      });
      const first = scene.call(await scene.token());
      await asked;
      const second = await scene.must(503, await scene.token());
      expect(second.headers.get('Retry-After')).toBe('1');
      expect(world.pauses).toEqual([250, 500, 1_000]);
      release();
      expect((await first).status).toBe(200);
      await scene.must(200, await scene.token());
      expect(scene.asked).toBe(1);
    },
  );

  it.runIf(depth.isDeep)('are fetched again after a crash during a fetch', async () => {
    const scene = await Scene.open();
    await env.DB.prepare('insert into provider_keys values (?, null, 0, ?, 1)')
      .bind(ISSUER, scene.world.now)
      .run();
    await scene.must(503, await scene.token());
    scene.world.advance(30_000);
    await scene.must(200, await scene.token());
    expect(scene.asked).toBe(1);
  });

  it('are fetched with one timeout for the discovery document and the keys', async () => {
    const scene = await Scene.open();
    await scene.must(200, await scene.token());
    const [configuration, keys] = scene.world.internet.requests.map(
      ({ options }) => options.signal,
    );
    expect(configuration).toBeInstanceOf(AbortSignal);
    expect(keys).toBe(configuration);
  });

  it.runIf(depth.isDeep)(
    'are not replaced by older ones after a concurrent fetch fails',
    async () => {
      const scene = await Scene.open();
      const token = await scene.token({ exp: scene.world.now / 1_000 + 7_200 });
      await scene.must(200, token);
      scene.world.advance(61 * MINUTE);
      // The stored keys are too old. The first fetch fails late, after a concurrent one has
      // succeeded.
      let first = true;
      scene.world.internet.on('id.example.com', async () => {
        if (!first) return Response.json(scene.configuration);
        first = false;
        scene.world.advance(30_000);
        scene.keys = [await publicKey({ kid: 'second' })];
        const fresh = new World({ OIDC_ISSUER: ISSUER, OIDC_AUDIENCE: AUDIENCE });
        Object.assign(fresh.internet, scene.world.internet);
        fresh.now = scene.world.now;
        await fresh.must(200, 'GET', '/v1/me', { token: await scene.token({}, { kid: 'second' }) });
        scene.world.advance(1);
        return new Response(null, { status: 500 });
      });
      await scene.call(token);
      const kept = await env.DB.prepare('select keys from provider_keys').first<string>('keys');
      expect(JSON.parse(kept ?? '').keys.map(({ kid }: Json) => kid)).toEqual(['second']);
    },
  );

  it('are fetched without following redirects', async () => {
    const scene = await Scene.open();
    await scene.must(200, await scene.token());
    expect(scene.world.internet.requests.map(({ options }) => options.redirect)).toEqual([
      'manual',
      'manual',
    ]);
  });
});

describe('a service with an invalid OIDC configuration', () => {
  it.each([
    ['only an issuer', { OIDC_AUDIENCE: undefined }],
    ['only an audience', { OIDC_ISSUER: undefined }],
    ['an issuer without https', { OIDC_ISSUER: 'http://id.example.com' }],
  ])('answers 503: %s', async (_, overrides) => {
    const scene = await Scene.open(overrides);
    await scene.world.must(503, 'GET', '/v1/me', { token: await scene.token() });
  });
});

function readPart(part: string): Json {
  return JSON.parse(
    new TextDecoder().decode(Uint8Array.fromBase64(part, { alphabet: 'base64url' })),
  );
}

function writePart(value: Json): string {
  return new TextEncoder()
    .encode(JSON.stringify(value))
    .toBase64({ alphabet: 'base64url', omitPadding: true });
}

function withoutSignature(token: string): string {
  const [, payload] = token.split('.');
  return `${btoa(JSON.stringify({ alg: 'none', kid: 'first' })).replaceAll('=', '')}.${payload}.`;
}

function withClaim(token: string, claims: object): string {
  const [header, payload = '', signature] = token.split('.');
  const changed = {
    ...JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))),
    ...claims,
  };
  return `${header}.${btoa(JSON.stringify(changed)).replaceAll('=', '').replaceAll('+', '-').replaceAll('/', '_')}.${signature}`;
}
