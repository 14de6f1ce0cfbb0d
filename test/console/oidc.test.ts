import { env } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import '../support/shards';
import { Mover } from '../../src/accounts/move/mover';
import type { MoverShard } from '../../src/accounts/move/shard';
import { Cost, Database } from '../../src/db/database';
import { idBytes } from '../../src/lib/typeid';
import { Browser } from '../support/browser';
import { depth } from '../support/depth';
import { FaultyDatabase } from '../support/faults';
import { isMoving, orderMove, settleMoves } from '../support/moves';
import { otherPair, type Person, SignInProvider } from '../support/sign-in-provider';
import { countRows } from '../support/tables';
import { type Answer, type Json, ORIGIN, type TestAccount, World } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const SIGN_IN = '/console/oidc/sign-in';
const CALLBACK = '/console/oidc/callback';
const operator = env.ADMIN_TOKEN ?? '';

/** A world whose members sign in with an identity provider, and that provider. */
async function open(overrides: object = {}) {
  // All worlds of this file share the stored keys.
  await env.DB.prepare('delete from provider_keys').run();
  const world = new World(overrides);
  return { world, provider: new SignInProvider(world), browser: new Browser(world) };
}

type Scene = Awaited<ReturnType<typeof open>>;

/** A scene whose database can fail, or do something else before a call. */
async function openFaulty() {
  const database = new FaultyDatabase(env.DB);
  return { database, scene: await open({ DB: database.binding }) };
}

const newPerson = (fields: Partial<Person> = {}): Person => ({
  sub: crypto.randomUUID(),
  ...fields,
});
const ada = (fields: Partial<Person> = {}) =>
  newPerson({ email: 'ada@example.com', email_verified: true, name: 'Ada', ...fields });

/** Begins to sign in, and returns the address of the provider. */
async function begin(browser: Browser, path = SIGN_IN): Promise<string> {
  const page = await browser.press(path);
  if (page.status !== 200) throw new Error(`${path} answered ${page.status}: ${page.text}`);
  return page.headers.get('Refresh')?.replace('0; url=', '') ?? '';
}

/** Comes back from the provider. */
function comeBack(browser: Browser, query: string): Promise<Answer> {
  return browser.send('GET', `${CALLBACK}?${query}`, { headers: { Accept: 'text/html' } });
}

async function signIn(
  { provider, browser }: Scene,
  person: Person,
  path = SIGN_IN,
): Promise<Answer> {
  return comeBack(browser, provider.signIn(await begin(browser, path), person));
}

async function mustSignIn(scene: Scene, person: Person, path = SIGN_IN): Promise<void> {
  const answer = await signIn(scene, person, path);
  expect([answer.status, answer.headers.get('Location')]).toEqual([303, '/console']);
}

async function invite(account: TestAccount, email = 'ada@example.com', role = 'approver') {
  const { body } = await account.must(201, 'POST', '/v1/members', { email, role });
  account.world.advance(SECOND);
  return {
    id: body.id as string,
    path: `${new URL(body.invitation.url).pathname}/oidc`,
    url: body.invitation.url,
  };
}

/** The account and the member of the one who is signed in. */
async function whoAmI({ world, browser }: Scene): Promise<Json> {
  return (await world.must(200, 'GET', '/v1/me', { token: await browser.makeToken() })).body;
}

async function actions(account: TestAccount): Promise<string[]> {
  const { body } = await account.must(200, 'GET', '/v1/activity?limit=100');
  return body.data.map(({ action }: Json) => action);
}

/**
 * How many members are active with each identity, in all databases: an identity is in at most one
 * account.
 */
async function activeIdentities(): Promise<number[]> {
  const counts = new Map<string, number>();
  for (const database of [env.DB, env.DB_01, env.DB_02]) {
    const { results } = await database
      .prepare(
        'select hex(identity) as identity from members where identity is not null and status = 1',
      )
      .all<{ identity: string }>();
    for (const { identity } of results) counts.set(identity, (counts.get(identity) ?? 0) + 1);
  }
  return [...counts.values()];
}

/** How many active members have neither a passkey nor an identity. */
function strandedMembers(): Promise<number | null> {
  return env.DB.prepare(
    `select count(*) as n from members where status = 1 and identity is null and not exists (
       select 1 from passkeys where passkeys.account = members.account and passkeys.member = members.id)`,
  ).first<number>('n');
}

/** The rows of all tables but those that store what the provider publishes. */
async function countChanges(): Promise<Json> {
  const { provider_keys: _, ...rows } = await countRows(env.DB);
  return rows;
}

describe('the sign-in page', () => {
  it('offers the identity provider only if it is configured', async () => {
    const { world, browser } = await open();
    expect((await browser.get('/console/sign-in')).text).toContain('Sign in with id.example.com');
    for (const name of ['OIDC_CLIENT_ID', 'OIDC_ISSUER']) delete world.env[name as 'OIDC_ISSUER'];
    world.restart();
    expect((await browser.get('/console/sign-in')).text).not.toContain('Sign in with id.');
    expect((await browser.press(SIGN_IN)).status).toBe(404);
    expect((await comeBack(browser, 'code=x&state=y')).status).toBe(404);
  });

  it('leads back to the page that was asked for, also by the longest address, and to no other site', async () => {
    const { provider, browser } = await open();
    const person = newPerson();
    const longest = `/console/pair?name=${'x'.repeat(1_981)}`;
    for (const [wanted, expected] of [
      [longest, longest],
      [`${longest}x`, '/console'],
      ['https://evil.test/', '/console'],
    ] as const) {
      const page = await browser.send('POST', SIGN_IN, {
        raw: new URLSearchParams({ return: wanted }).toString(),
        headers: {
          Origin: ORIGIN,
          Accept: 'text/html',
          'Content-Type': 'application/x-www-form-urlencoded',
        },
      });
      // Browsers keep no longer cookie.
      expect(page.headers.getSetCookie()[0]?.length).toBeLessThan(4_096);
      const answer = await comeBack(
        browser,
        provider.signIn(page.headers.get('Refresh')?.replace('0; url=', '') ?? '', person),
      );
      expect([answer.status, answer.headers.get('Location')]).toEqual([303, expected]);
    }
  });

  it('leads to the provider with state, nonce and PKCE, and keeps them from everybody else', async () => {
    const { browser } = await open();
    const page = await browser.press(SIGN_IN);
    const [cookie = ''] = page.headers.getSetCookie();
    expect(cookie).toMatch(
      /^__Host-countersign-oidc=[\w-]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    expect(page.headers.get('Content-Security-Policy')).toContain("form-action 'self'");
    const address = page.headers.get('Refresh')?.replace('0; url=', '') ?? '';
    expect(page.text).toContain(`href="${address.replaceAll('&', '&amp;')}"`);
    const { searchParams } = new URL(address);
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(searchParams.get(name)).toMatch(/^[\w-]{43}$/);
      expect(cookie).not.toContain(searchParams.get(name));
    }
    expect(new Set([...searchParams.values()]).size).toBe([...searchParams].length);
    const again = new URL(await begin(browser)).searchParams;
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(again.get(name)).not.toBe(searchParams.get(name));
  });

  it('starts nothing for a page of another site', async () => {
    const { world, browser } = await open();
    for (const Origin of ['https://evil.example.com', 'null']) {
      expect((await browser.send('POST', SIGN_IN, { headers: { Origin } })).status).toBe(403);
    }
    expect((await browser.get(SIGN_IN)).status).toBe(405);
    expect(world.internet.requests).toEqual([]);
  });
});

describe('a sign-in with the identity provider', () => {
  it('proves the e-mail address once the provider says that it has verified this one', async () => {
    const scene = await open();
    const person = ada({ email_verified: 'true' });
    const provenAfter = async (fields: Partial<Person>) => {
      scene.browser.cookie = '';
      await mustSignIn(scene, ada({ ...person, ...fields }));
      return (await whoAmI(scene)).member.email_proven;
    };
    expect(await provenAfter({})).toBe(false);
    expect(await provenAfter({ email_verified: undefined })).toBe(false);
    expect(await provenAfter({ email_verified: true, email: 'other@example.com' })).toBe(false);
    expect(await provenAfter({ email_verified: true, email: 'ADA@example.com' })).toBe(true);
    expect(await provenAfter({ email_verified: false })).toBe(true);
  });

  it('that makes an account proves the verified e-mail address of its owner', async () => {
    const scene = await open();
    await mustSignIn(scene, ada());
    expect((await whoAmI(scene)).member.email_proven).toBe(true);
  });

  it('makes an account with the person as its owner, and finds it from then on', async () => {
    const scene = await open();
    const { world, browser } = scene;
    const person = ada();
    await mustSignIn(scene, person);
    expect([browser.flow, browser.cookie.startsWith('__Host-countersign=css_')]).toEqual([
      '',
      true,
    ]);
    const me = await whoAmI(scene);
    expect(me).toMatchObject({ email: 'ada@example.com', name: 'Ada', plan: 'free' });
    expect(me.member).toMatchObject({
      role: 'owner',
      status: 'active',
      email: 'ada@example.com',
      sign_in: ['oidc'],
    });
    const first = browser.cookie;
    world.advance(MINUTE);
    await mustSignIn(scene, ada({ ...person, email: 'other@example.com' }));
    expect(browser.cookie).not.toBe(first);
    const again = await whoAmI(scene);
    expect([again.id, again.member.id]).toEqual([me.id, me.member.id]);
    const { body } = await world.must(200, 'GET', '/v1/activity', {
      token: await browser.makeToken(),
    });
    expect(body.data.map(({ actor, action }: Json) => [actor, action])).toContainEqual([
      me.member.id,
      'session.created',
    ]);
    const page = await browser.get('/console/me');
    expect(page.text).toContain('You can sign in with id.example.com');
  });

  it('is of the same member as a bearer JWT', async () => {
    const scene = await open({ OIDC_AUDIENCE: 'https://countersign.test' });
    const { world, provider } = scene;
    const person = ada();
    await mustSignIn(scene, person);
    const me = await whoAmI(scene);
    const token = await provider.makeAccessToken(person.sub, 'https://countersign.test');
    const { body } = await world.must(200, 'GET', '/v1/me', { token });
    expect([body.id, body.member.id]).toEqual([me.id, me.member.id]);
  });

  it.runIf(depth.isDeep)('makes one account for concurrent first sign-ins', async () => {
    const scene = await open();
    const person = ada();
    const browsers = Array.from({ length: 8 }, () => new Browser(scene.world));
    const answers = await Promise.all(
      browsers.map((browser) => signIn({ ...scene, browser }, person)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 303));
    const ids = await Promise.all(
      browsers.map(async (browser) => (await whoAmI({ ...scene, browser })).id),
    );
    expect(new Set(ids).size).toBe(1);
  });

  it('needs no OIDC_AUDIENCE, without which no JWT is a user token', async () => {
    const scene = await open();
    await mustSignIn(scene, ada());
    const token = await scene.provider.makeAccessToken('somebody', 'console');
    expect((await scene.world.call('GET', '/v1/me', { token })).status).toBe(401);
  });

  it.each([
    ['by HTTP Basic unless the provider says otherwise', undefined, true],
    ['by HTTP Basic if both are possible', ['client_secret_post', 'client_secret_basic'], true],
    ['in the form if only that is possible', ['client_secret_post'], false],
  ])('sends the secret of the client %s', async (_, methods, isBasic) => {
    const scene = await open({ OIDC_CLIENT_SECRET: 'the client secret' });
    Object.assign(scene.provider, { secret: 'the+client+secret' });
    if (!isBasic) scene.provider.secret = 'the client secret';
    if (methods) scene.provider.configuration = { token_endpoint_auth_methods_supported: methods };
    await mustSignIn(scene, ada());
    const [exchange] = scene.provider.exchanges;
    expect(exchange?.headers.has('Authorization')).toBe(isBasic);
    expect(exchange?.body.includes('client_secret=')).toBe(!isBasic);
  });

  it('reads the address and the name from the UserInfo endpoint if the ID token lacks them', async () => {
    const scene = await open();
    scene.provider.leavesOutProfile = true;
    await mustSignIn(scene, ada());
    expect((await whoAmI(scene)).member).toMatchObject({ email: 'ada@example.com', name: 'Ada' });
  });

  it('may be without the iss parameter of a provider that sends none, and of a provider without UserInfo', async () => {
    const scene = await open();
    const { provider, browser } = scene;
    provider.configuration = {
      authorization_response_iss_parameter_supported: undefined,
      userinfo_endpoint: undefined,
    };
    const query = new URLSearchParams(provider.signIn(await begin(browser), newPerson()));
    query.delete('iss');
    expect((await comeBack(browser, query.toString())).status).toBe(303);
  });

  it('is refused for a suspended member and for an inactive account, and makes an account after a removal', async () => {
    const scene = await open();
    const { world } = scene;
    const account = await world.account();
    const person = ada();
    const { id, path } = await invite(account);
    await mustSignIn(scene, person, path);
    const before = await countChanges();
    await account.must(200, 'PUT', `/v1/members/${id}`, { status: 'suspended' });
    const suspended = await signIn(scene, person);
    expect([suspended.status, suspended.text.includes('Your membership is suspended')]).toEqual([
      403,
      true,
    ]);
    await account.must(200, 'PUT', `/v1/members/${id}`, { status: 'active' });
    const patch = { token: operator, body: { is_active: false } };
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, patch);
    const inactive = await signIn(scene, person);
    expect([inactive.status, inactive.text.includes('The account is inactive')]).toEqual([
      403,
      true,
    ]);
    expect((await countChanges()).accounts).toBe(before.accounts);
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
      token: operator,
      body: { is_active: true },
    });
    await account.must(204, 'DELETE', `/v1/members/${id}`);
    await mustSignIn(scene, person);
    const me = await whoAmI(scene);
    expect([me.id === account.id, me.member.role]).toEqual([false, 'owner']);
    expect(Math.max(...(await activeIdentities()))).toBe(1);
  });

  it('is refused if the member is suspended while the answer is on its way', async () => {
    const { database, scene } = await openFaulty();
    const account = await scene.world.account();
    const person = ada();
    const { id, path } = await invite(account);
    await mustSignIn(scene, person, path);
    const query = scene.provider.signIn(await begin(scene.browser), person);
    const suspend = () =>
      new World().must(200, 'PUT', `/v1/members/${id}`, {
        token: account.token,
        body: { status: 'suspended' },
      });
    // After the keys, the directory and the member were read.
    database.before(4, suspend);
    expect((await comeBack(scene.browser, query)).status).toBe(401);
    expect((await countRows(env.DB)).sessions).toBe(
      await env.DB.prepare('select count(*) as n from sessions where member <> ?')
        .bind(idBytes(id))
        .first('n'),
    );
  });

  it.runIf(depth.isDeep)('finds its account after each move', async () => {
    const scene = await open({ DB_01: env.DB_01, DB_02: env.DB_02 });
    const { world } = scene;
    const person = ada();
    await mustSignIn(scene, person);
    const { id } = await whoAmI(scene);
    const databases: Record<string, D1Database> = {
      '00': env.DB,
      '01': env.DB_01,
      '02': env.DB_02,
    };
    let place = scene.browser.cookie.slice('__Host-countersign=css_'.length).slice(0, 2);
    for (const next of ['01', '02', '00'].filter((name) => name !== place)) {
      await orderMove(world, id, next, databases[place]);
      await settleMoves(world);
      place = next;
      await mustSignIn(scene, person);
      expect((await whoAmI(scene)).id).toBe(id);
    }
  });

  it.runIf(depth.isDeep)(
    'counts as fresh for ten minutes, and as a way to sign in when a passkey is removed',
    async () => {
      const scene = await open();
      const { world, browser } = scene;
      await mustSignIn(scene, ada());
      const add = async () => {
        const { body: options } = await browser.change('POST', '/console/me/passkeys/options');
        const response = await browser.authenticator.create(options);
        return browser.change('POST', '/console/me/passkeys', { name: 'Laptop', response });
      };
      world.advance(10 * MINUTE - 1);
      const { body: passkey } = await add();
      expect((await whoAmI(scene)).member.sign_in).toEqual(['passkey', 'oidc']);
      const { OIDC_CLIENT_ID } = world.env;
      delete world.env.OIDC_CLIENT_ID;
      world.restart({ OIDC_AUDIENCE: 'https://countersign.test' });
      expect((await browser.change('DELETE', `/console/me/passkeys/${passkey.id}`)).status).toBe(
        409,
      );
      Object.assign(world.env, { OIDC_CLIENT_ID });
      world.restart();
      expect((await browser.change('DELETE', `/console/me/passkeys/${passkey.id}`)).status).toBe(
        204,
      );
      world.advance(1);
      expect((await browser.change('POST', '/console/me/passkeys/options')).status).toBe(401);
    },
  );
});

describe.runIf(depth.isDeep)('a sign-in that goes wrong', () => {
  type Change = (scene: Scene, address: string) => string | Promise<string>;

  const person = () => ada();
  const withParameters = (change: Json): Change => {
    return ({ provider }, address) => {
      const query = new URLSearchParams(provider.signIn(address, person()));
      for (const [name, value] of Object.entries(change)) {
        if (value === undefined) query.delete(name);
        else query.set(name, String(value));
      }
      return query.toString();
    };
  };
  const withProvider = (change: Json): Change => {
    return ({ provider }, address) => {
      Object.assign(provider, change);
      return provider.signIn(address, person());
    };
  };
  const withClaims = (claims: Json) => withProvider({ claims });

  it.each<[string, number, Change]>([
    [
      'the person declines',
      401,
      ({ provider }, address) => provider.sendBack(address, { error: 'access_denied' }),
    ],
    [
      'the provider reports an error',
      401,
      ({ provider }, address) =>
        provider.sendBack(address, {
          error: '<script>alert(1)</script>',
          error_description: '<b>no</b>',
        }),
    ],
    [
      'an error comes with another state',
      401,
      withParameters({ error: 'access_denied', state: 'x' }),
    ],
    ['the state is another one', 401, withParameters({ state: 'A'.repeat(43) })],
    ['the state is missing', 401, withParameters({ state: undefined })],
    ['the issuer is another one', 401, withParameters({ iss: 'https://evil.example.com' })],
    ['the issuer is missing', 401, withParameters({ iss: undefined })],
    ['the code is unknown', 401, withParameters({ code: 'guessed' })],
    ['the code is missing', 401, withParameters({ code: undefined })],
    ['an ID token comes with the code', 401, withParameters({ id_token: 'a.b.c' })],
    [
      'the cookie is missing',
      401,
      (scene, address) => {
        scene.browser.flow = '';
        return scene.provider.signIn(address, person());
      },
    ],
    [
      'the cookie is that of another flow',
      401,
      async (scene, address) => {
        await begin(scene.browser);
        return scene.provider.signIn(address, person());
      },
    ],
    [
      'the cookie was changed',
      401,
      (scene, address) => {
        scene.browser.flow = scene.browser.flow.replace(/.{4}$/, 'AAAA');
        return scene.provider.signIn(address, person());
      },
    ],
    [
      'the flow has expired',
      401,
      (scene, address) => {
        scene.world.advance(10 * MINUTE);
        return scene.provider.signIn(address, person());
      },
    ],
    ['the nonce is another one', 401, withClaims({ nonce: 'A'.repeat(43) })],
    ['the nonce is missing', 503, withClaims({ nonce: undefined })],
    ['the ID token is for another client', 401, withClaims({ aud: 'another' })],
    [
      'the ID token is for several clients and was given to another one',
      401,
      withClaims({ aud: ['console', 'x'], azp: 'x' }),
    ],
    ['the ID token is of another issuer', 401, withClaims({ iss: 'https://id.example.com' })],
    [
      'the ID token has expired',
      401,
      (scene, address) => withClaims({ exp: scene.world.now / 1_000 - 60 })(scene, address),
    ],
    ['the ID token never expires', 503, withClaims({ exp: undefined })],
    ['the ID token has no subject', 503, withClaims({ sub: undefined })],
    ['the ID token is signed with another key', 401, withProvider({ key: otherPair.privateKey })],
    ['the client is not accepted', 503, withProvider({ secret: 'another' })],
    ['the token endpoint fails', 503, withProvider({ broken: ['/token'] })],
    [
      'the discovery document is not answered',
      503,
      withProvider({ broken: ['/.well-known/openid-configuration'] }),
    ],
    ['the keys are not answered', 503, withProvider({ broken: ['/jwks'] })],
    [
      'the profile is not answered',
      503,
      withProvider({ broken: ['/userinfo'], leavesOutProfile: true }),
    ],
    [
      'the token endpoint is not public',
      503,
      withProvider({ configuration: { token_endpoint: 'https://10.0.0.1/token' } }),
    ],
  ])('is answered with a plain page, and nothing is written, if %s', async (_, status, change) => {
    const scene = await open();
    const { browser } = scene;
    const query = await change(scene, await begin(browser));
    const before = await countChanges();
    const page = await comeBack(browser, query);
    expect([page.status, page.headers.get('Content-Type')]).toEqual([
      status,
      'text/html; charset=utf-8',
    ]);
    expect(page.text).toContain('Sign in');
    expect(page.text).not.toMatch(/<script>|<b>|alert\(/);
    expect([browser.cookie, browser.flow]).toEqual(['', '']);
    expect(await countChanges()).toEqual(before);
  });

  it('is answered with a page that says so if the provider is down when it begins', async () => {
    const { provider, browser } = await open();
    provider.broken = ['/.well-known/openid-configuration'];
    const page = await browser.press(SIGN_IN);
    expect(page.status).toBe(503);
    expect(page.text).toContain('id.example.com does not answer as expected');
    provider.broken = [];
    provider.configuration = { authorization_endpoint: 'javascript:alert(1)' };
    expect((await browser.press(SIGN_IN)).status).toBe(503);
  });

  it('works once, even if the browser keeps the cookie and the provider accepts the code again', async () => {
    const scene = await open();
    const { provider, browser } = scene;
    provider.acceptsCodesAgain = true;
    const query = provider.signIn(await begin(browser), ada());
    const { flow } = browser;
    const browsers = Array.from({ length: 4 }, () =>
      Object.assign(new Browser(scene.world), { flow }),
    );
    await mustSignIn(scene, ada());
    const answers = await Promise.all(browsers.map((each) => comeBack(each, query)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 401, 401, 401]);
    const late = Object.assign(new Browser(scene.world), { flow });
    const before = await countChanges();
    expect((await comeBack(late, query)).status).toBe(401);
    expect((await comeBack(late, query)).status).toBe(401);
    expect(await countChanges()).toEqual(before);
  });

  it('works once, and not once for each account', async () => {
    const scene = await open();
    const { provider, browser, world } = scene;
    const [first, second] = [ada(), newPerson()];
    for (const person of [first, second]) await mustSignIn(scene, person);
    const address = await begin(browser);
    const { flow } = browser;
    const statuses = [];
    for (const person of [second, first]) {
      const visitor = Object.assign(new Browser(world), { flow });
      statuses.push((await comeBack(visitor, provider.signIn(address, person))).status);
    }
    expect(statuses).toEqual([303, 401]);
  });

  it('is never logged with its codes, tokens, secrets or claims', async () => {
    const logs = (['log', 'info', 'warn', 'error', 'debug'] as const).map((level) =>
      vi.spyOn(console, level),
    );
    const scene = await open({ OIDC_CLIENT_SECRET: 'the-client-secret' });
    const { provider, browser } = scene;
    const someone = ada({ sub: 'sub-of-ada' });
    const secrets: string[] = ['the-client-secret', 'sub-of-ada', 'ada@example.com'];
    for (const change of [
      { secret: 'the-client-secret' },
      { secret: 'another' },
      { secret: 'the-client-secret', claims: { nonce: 'B'.repeat(43) } },
      { claims: {}, key: otherPair.privateKey },
      { broken: ['/token'] },
    ]) {
      Object.assign(provider, change);
      const address = await begin(browser);
      const query = provider.signIn(address, someone);
      secrets.push(browser.flow.split('=')[1] ?? '', ...new URLSearchParams(query).values());
      secrets.push(new URL(address).searchParams.get('nonce') ?? '');
      await comeBack(browser, query);
      secrets.push(browser.cookie.split('=')[1] ?? 'none');
    }
    await comeBack(browser, 'error=<leak>&state=leak');
    for (const { body } of provider.exchanges)
      secrets.push(new URLSearchParams(body).get('code_verifier') ?? '');
    const lines = logs.flatMap(({ mock }) => mock.calls.flat().map(String));
    for (const log of logs) log.mockRestore();
    expect(lines.some((line) => line.includes('"oauth_error":"invalid_client"'))).toBe(true);
    const issuer = 'https://id.example.com/tenant';
    for (const secret of secrets.filter((text) => text !== issuer && text !== '')) {
      expect(lines.filter((line) => line.includes(secret))).toEqual([]);
    }
  });
});

describe('a recent sign-in at the identity provider', () => {
  const seconds = ({ world }: Scene) => Math.floor(world.now / 1_000);

  /** Begins a sign-in that a page asked for which needs a recent one. */
  async function beginAgain(browser: Browser): Promise<string> {
    const page = await browser.send('POST', SIGN_IN, {
      raw: new URLSearchParams({ return: '/console/me/tokens/new', recent: 'true' }).toString(),
      headers: {
        Origin: ORIGIN,
        Accept: 'text/html',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
    });
    return page.headers.get('Refresh')?.replace('0; url=', '') ?? '';
  }
  const makeToken = (browser: Browser) =>
    browser.submit('/console/me/tokens', { name: 'New', lifetime: '7' });

  it('is offered by the sign-in page to which a page leads that needs one', async () => {
    const { browser } = await open();
    expect((await browser.get('/console/sign-in?recent=true')).text).toContain(
      'name="recent" value="true"',
    );
    expect((await browser.get('/console/sign-in')).text).not.toContain('name="recent"');
  });

  it('makes the provider authenticate the person now, and leads back to the page', async () => {
    const scene = await open();
    const { browser, provider, world } = scene;
    const person = ada();
    await mustSignIn(scene, person);
    expect(new URL(await begin(browser)).searchParams.has('max_age')).toBe(false);
    world.advance(10 * MINUTE);
    expect((await makeToken(browser)).status).toBe(401);
    const address = await beginAgain(browser);
    expect(new URL(address).searchParams.get('max_age')).toBe('0');
    provider.claims = { auth_time: seconds(scene) };
    const answer = await comeBack(browser, provider.signIn(address, person));
    expect([answer.status, answer.headers.get('Location')]).toEqual([
      303,
      '/console/me/tokens/new',
    ]);
    expect((await makeToken(browser)).status).toBe(200);
  });

  it.each<[string, (now: number) => Json, RegExp]>([
    ['says nothing about it', () => ({}), /does not say when you signed in there/],
    [
      'says that it was 10 minutes ago',
      (now) => ({ auth_time: now - 600 }),
      /more than 10 minutes ago/,
    ],
  ])('is refused if the provider %s', async (_, claims, reason) => {
    const scene = await open();
    const { browser, provider } = scene;
    const person = ada();
    await mustSignIn(scene, person);
    const { cookie } = browser;
    provider.claims = claims(seconds(scene));
    const page = await comeBack(browser, provider.signIn(await beginAgain(browser), person));
    expect([page.status, browser.cookie]).toEqual([401, cookie]);
    expect(page.text).toMatch(reason);
    expect(page.text).toContain('Sign in with a passkey instead');
  });

  it('counts from when the person signed in at the provider, not from when they came back', async () => {
    const scene = await open();
    const { browser, provider, world } = scene;
    provider.claims = { auth_time: seconds(scene) - 300 };
    await mustSignIn(scene, ada());
    expect((await makeToken(browser)).status).toBe(200);
    world.advance(5 * MINUTE);
    expect((await makeToken(browser)).status).toBe(401);
    expect((await browser.get('/console/me')).status).toBe(200);
  });

  it('asks a provider that takes the parameter `claims` when the person signed in', async () => {
    const { browser, provider } = await open();
    expect(new URL(await begin(browser)).searchParams.has('claims')).toBe(false);
    provider.configuration = { claims_parameter_supported: true };
    const claims = new URL(await begin(browser)).searchParams.get('claims') ?? '';
    expect(JSON.parse(claims)).toEqual({ id_token: { auth_time: { essential: true } } });
    expect(new URL(await beginAgain(browser)).searchParams.has('claims')).toBe(false);
  });
});

describe('an invitation that is accepted with the identity provider', () => {
  it('links the identity to the member, who is signed in', async () => {
    const scene = await open();
    const account = await scene.world.account({ name: 'Example Ltd' });
    const { id, path, url } = await invite(account, 'Ada@Example.com');
    const page = await scene.browser.get(new URL(url).pathname);
    for (const text of ['Join with id.example.com', 'Ada@Example.com'])
      expect(page.text).toContain(text);
    const person = ada();
    await mustSignIn(scene, person, path);
    const told = await scene.browser.get('/console');
    expect(told.text).toContain('<a href="/console/me#passkeys-title">make a passkey</a>');
    expect((await scene.browser.get('/console')).text).not.toContain('You have joined');
    const me = await whoAmI(scene);
    expect([me.id, me.member.id]).toEqual([account.id, id]);
    expect(me.member).toMatchObject({
      role: 'approver',
      status: 'active',
      email: 'Ada@Example.com',
      email_proven: true,
      sign_in: ['oidc'],
    });
    const { body } = await account.must(200, 'GET', `/v1/members/${id}`);
    expect(body.passkeys).toEqual([]);
    const done = (await actions(account))
      .filter((action) => action !== 'user_token.created')
      .slice(0, 3);
    expect(done.toSorted()).toEqual(['member.invited', 'member.joined', 'session.created']);
    expect((await scene.browser.get(new URL(url).pathname)).status).toBe(404);
    scene.browser.cookie = '';
    await mustSignIn(scene, person);
    expect((await scene.browser.get('/console')).text).not.toContain('You have joined');
    expect((await whoAmI(scene)).member.id).toBe(id);
    expect(await activeIdentities()).toContain(1);
  });

  it.runIf(depth.isDeep)(
    'calls the member as the person says on the page of the invitation',
    async () => {
      const scene = await open();
      const account = await scene.world.account();
      const { id, path, url } = await invite(account);
      const page = await scene.browser.get(new URL(url).pathname);
      const form = /<form method="post" action="([^"]*)" id="([^"]*)"/.exec(page.text);
      const field = /<input[^>]* name="member_name"[^>]*>/.exec(page.text)?.[0];
      expect([form?.[1], field]).toEqual([path, expect.stringContaining(` form="${form?.[2]}"`)]);
      const send = (name: string) => scene.browser.submit(path, { member_name: name });
      const refused = await send('x'.repeat(256));
      expect([refused.status, scene.browser.flow]).toEqual([400, '']);
      const longest = '\u{1f9ed}'.repeat(255);
      const address = (await send(longest)).headers.get('Refresh')?.replace('0; url=', '') ?? '';
      const joined = await comeBack(scene.browser, scene.provider.signIn(address, ada()));
      expect(joined.status).toBe(303);
      expect((await whoAmI(scene)).member).toMatchObject({ id, name: longest });
      const { body } = await account.must(200, 'GET', '/v1/activity?action=member.joined');
      const own = body.data.find(({ target }: Json) => target === id);
      expect(own.changes).toEqual(['name']);
    },
  );

  it.runIf(depth.isDeep).each<[string, Partial<Person>, string]>([
    ['another address', { email: 'eve@example.com' }, 'the address eve@example.com.'],
    [
      'an address that is not verified',
      { email_verified: false },
      'ada.k@example.com, which it has not verified',
    ],
    [
      'an address that may not be verified',
      { email_verified: undefined },
      'which it has not verified',
    ],
    [
      'an address that is verified as a text',
      { email_verified: 'true' },
      'which it has not verified',
    ],
    ['no address', { email: undefined as unknown as string }, 'no e-mail address'],
    ['an address that only looks alike', { email: 'ada.\u212A@example.com' }, 'the address'],
    ['an address with markup', { email: '<script>@example.com' }, '&lt;script&gt;@example.com'],
    [
      'an address with a bidirectional control',
      { email: 'ada\u202e@example.com' },
      'no e-mail address',
    ],
  ])('is refused if the provider names %s', async (_, fields, text) => {
    const scene = await open();
    const account = await scene.world.account();
    const { id, path } = await invite(account, 'ada.k@example.com');
    const before = await countChanges();
    const page = await signIn(scene, ada({ email: 'ada.k@example.com', ...fields }), path);
    expect(page.status).toBe(403);
    expect(page.text).toContain('The invitation is for ada.k@example.com');
    expect(page.text).toContain(text);
    expect(page.text).not.toMatch(/<script>|\u202e/);
    expect([scene.browser.cookie, scene.browser.flow]).toEqual(['', '']);
    expect(await countChanges()).toEqual(before);
    expect((await account.must(200, 'GET', `/v1/members/${id}`)).body).toMatchObject({
      status: 'invited',
      sign_in: [],
    });
  });

  it.runIf(depth.isDeep)(
    'says what is missing and who can help if the provider leaves `email_verified` out',
    async () => {
      const scene = await open();
      const { path } = await invite(await scene.world.account());
      const page = await signIn(scene, ada({ email_verified: undefined }), path);
      expect(page.status).toBe(403);
      for (const part of [
        'lacks `email_verified`',
        'The operator of this service can set OIDC_EMAIL_VERIFIED',
        'passkey',
      ]) {
        expect(page.text).toContain(part);
      }
    },
  );

  it.runIf(depth.isDeep)(
    'believes a provider that leaves `email_verified` out only if the operator trusts it',
    async () => {
      const scene = await open({ OIDC_EMAIL_VERIFIED: 'trust' });
      await scene.world.account();
      const account = await scene.world.account();
      const { id, path } = await invite(account);
      for (const fields of [
        { email_verified: false },
        { email_verified: 'true' },
        { email_verified: null },
        { email_verified: undefined, email: 'eve@example.com' },
      ]) {
        expect((await signIn(scene, ada(fields), path)).status).toBe(403);
      }
      await mustSignIn(scene, ada({ email_verified: undefined }), path);
      expect((await account.must(200, 'GET', `/v1/members/${id}`)).body.status).toBe('active');
    },
  );

  it.runIf(depth.isDeep).each(['true', 'yes'])(
    'is a setting that is not understood as %s',
    async (value) => {
      const { world } = await open({ OIDC_EMAIL_VERIFIED: value });
      expect((await world.call('GET', '/v1/me')).status).toBe(503);
    },
  );

  it.runIf(depth.isDeep)(
    'reads the address from the UserInfo endpoint, which must be that of the same person',
    async () => {
      const scene = await open();
      scene.provider.leavesOutProfile = true;
      const account = await scene.world.account();
      const { path } = await invite(account);
      scene.provider.claims = { sub: 'another' };
      expect((await signIn(scene, ada(), path)).status).toBe(503);
      scene.provider.claims = {};
      await mustSignIn(scene, ada(), path);
    },
  );

  it.runIf(depth.isDeep).each(['replaced', 'withdrawn', 'expired'])(
    'that is %s meanwhile lets nobody join',
    async (why) => {
      const scene = await open();
      const { world, browser, provider } = scene;
      const account = await world.account();
      const { id, path } = await invite(account);
      if (why === 'expired') world.advance(7 * 24 * 60 * MINUTE - 2 * SECOND);
      const query = provider.signIn(await begin(browser, path), ada());
      if (why === 'replaced') await account.must(201, 'POST', `/v1/members/${id}/invitation`);
      if (why === 'withdrawn') await account.must(204, 'DELETE', `/v1/members/${id}`);
      if (why === 'expired') world.advance(MINUTE);
      const before = await countChanges();
      expect((await comeBack(browser, query)).status).toBe(404);
      expect((await browser.press(path)).status).toBe(404);
      expect(await countChanges()).toEqual(before);
    },
  );

  it.runIf(depth.isDeep)(
    'that is withdrawn while the answer is on its way lets nobody join, and the person can sign in at once',
    async () => {
      const { database, scene } = await openFaulty();
      const account = await scene.world.account();
      const { id, path } = await invite(account);
      await mustSignIn({ ...scene, browser: new Browser(scene.world) }, newPerson());
      const query = scene.provider.signIn(await begin(scene.browser, path), ada({ sub: 'late' }));
      // Before the member becomes active: after the keys, the invitation and the directory were read,
      // and it was changed.
      database.before(5, () =>
        new World().must(204, 'DELETE', `/v1/members/${id}`, { token: account.token }),
      );
      expect((await comeBack(scene.browser, query)).status).toBe(404);
      expect((await account.must(200, 'GET', `/v1/members/${id}`)).body).toMatchObject({
        status: 'removed',
        sign_in: [],
      });
      await mustSignIn(scene, ada({ sub: 'late' }));
      expect((await whoAmI(scene)).member.role).toBe('owner');
    },
  );

  it.runIf(depth.isDeep)('lets one person join, however many try at once', async () => {
    const scene = await open();
    const account = await scene.world.account();
    const { path } = await invite(account);
    const browsers = Array.from({ length: 6 }, () => new Browser(scene.world));
    const answers = await Promise.all(
      browsers.map((browser) => signIn({ ...scene, browser }, ada(), path)),
    );
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(await strandedMembers()).toBe(0);
  });

  it.runIf(depth.isDeep)(
    'moves an identity from an account of its own without agents',
    async () => {
      const scene = await open();
      const { world, browser } = scene;
      const person = ada();
      await mustSignIn(scene, person);
      const own = await whoAmI(scene);
      const token = await browser.makeToken();
      const former = browser.cookie;
      const account = await world.account();
      const { id, path } = await invite(account);
      await mustSignIn(scene, person, path);
      expect((await whoAmI(scene)).member.id).toBe(id);
      expect((await world.call('GET', '/v1/me', { token })).status).toBe(401);
      const now = browser.cookie;
      browser.cookie = former;
      expect((await browser.get('/console/me')).status).toBe(302);
      browser.cookie = now;
      const { body: issued } = await world.must(201, 'POST', `/v1/admin/users/${own.id}/tokens`, {
        token: operator,
      });
      const { body: left } = await world.must(200, 'GET', `/v1/members/${own.member.id}`, {
        token: issued.token,
      });
      expect([left.status, left.sign_in]).toEqual(['removed', []]);
      const { body: activity } = await world.must(200, 'GET', '/v1/activity', {
        token: issued.token,
      });
      expect(activity.data.map(({ action }: Json) => action)).toContain('member.removed');
      expect(Math.max(...(await activeIdentities()))).toBe(1);
      await mustSignIn(scene, person);
      expect((await whoAmI(scene)).id).toBe(account.id);
    },
  );

  it.runIf(depth.isDeep).each(['agents', 'other members'])(
    'is a conflict if the identity is of an account with %s',
    async (why) => {
      const scene = await open();
      const { world, browser } = scene;
      const person = ada();
      await mustSignIn(scene, person);
      const own = await whoAmI(scene);
      const token = await browser.makeToken();
      if (why === 'agents')
        await world.must(201, 'POST', '/v1/agents', { token, body: { name: 'Mailer' } });
      else
        await world.must(201, 'POST', '/v1/members', {
          token,
          body: { email: 'b@example.com', role: 'auditor' },
        });
      const account = await world.account();
      const { id, path } = await invite(account);
      const before = await countChanges();
      const page = await signIn(scene, person, path);
      expect([page.status, page.text.includes('Your identity belongs to another account')]).toEqual(
        [409, true],
      );
      expect(await countChanges()).toEqual(before);
      expect((await account.must(200, 'GET', `/v1/members/${id}`)).body.status).toBe('invited');
      expect((await world.must(200, 'GET', '/v1/me', { token })).body.member.id).toBe(
        own.member.id,
      );
      await mustSignIn(scene, person);
    },
  );

  it.runIf(depth.isDeep)(
    'is a conflict for somebody who is a member already, and refused for the owner of an inactive account',
    async () => {
      const scene = await open();
      const { world } = scene;
      const person = ada();
      const account = await world.account();
      await mustSignIn(scene, person, (await invite(account)).path);
      const second = await invite(account, 'second@example.com');
      const twice = await signIn(
        scene,
        ada({ ...person, email: 'second@example.com' }),
        second.path,
      );
      expect([twice.status, twice.text.includes('a member of this account already')]).toEqual([
        409,
        true,
      ]);
      const other = ada({ email: 'third@example.com' });
      await mustSignIn(scene, other);
      const { id } = await whoAmI(scene);
      await world.must(200, 'PATCH', `/v1/admin/users/${id}`, {
        token: operator,
        body: { is_active: false },
      });
      expect(
        (await signIn(scene, other, (await invite(account, 'third@example.com')).path)).status,
      ).toBe(403);
    },
  );

  it.runIf(depth.isDeep)('moves an identity from shard to shard', async () => {
    for (const shards of [
      [env.DB, env.DB_01],
      [env.DB_01, env.DB],
    ]) {
      const scene = await open({ DB_01: env.DB_01 });
      const { world } = scene;
      const account = await world.account();
      const place = account.token.slice(4, 6);
      const target = shards[0] === env.DB ? '00' : '01';
      if (place !== target) {
        await orderMove(world, account.id, target, place === '00' ? env.DB : env.DB_01);
        await settleMoves(world);
      }
      const person = ada();
      await mustSignIn(scene, person);
      const { id, path } = await invite(account);
      await mustSignIn(scene, person, path);
      expect((await whoAmI(scene)).member.id).toBe(id);
      await mustSignIn(scene, person);
      expect((await whoAmI(scene)).member.id).toBe(id);
      expect(Math.max(...(await activeIdentities()))).toBe(1);
    }
  });

  it.runIf(depth.isDeep)(
    'leaves nobody without a way to sign in, and no identity in two accounts, whichever call fails',
    async () => {
      const database = new FaultyDatabase(env.DB);
      for (const mode of ['before', 'after'] as const) {
        for (let call = 1; ; call++) {
          const scene = await open({ DB: database.binding });
          const { world, browser, provider } = scene;
          const person = ada();
          await mustSignIn(scene, person);
          const account = await world.account();
          const { id, path } = await invite(account);
          const query = provider.signIn(await begin(browser, path), person);
          database.arm({ call, mode });
          const answer = await comeBack(browser, query);
          const { calls } = database;
          database.arm(null);
          if (calls < call) {
            expect(answer.status).toBe(303);
            break;
          }
          const check = async () => {
            expect(await strandedMembers()).toBe(0);
            expect(Math.max(0, ...(await activeIdentities()))).toBe(1);
          };
          expect(await strandedMembers()).toBe(0);
          const { status } = (await account.must(200, 'GET', `/v1/members/${id}`)).body;
          // The person goes on: half of them at once and with the invitation, the others later and
          // without it.
          if (call % 2 === 0 && status === 'invited') {
            await mustSignIn(scene, person, path);
            expect((await whoAmI(scene)).member.id).toBe(id);
          } else {
            world.advance(MINUTE + SECOND);
            await mustSignIn(scene, person);
            const me = await whoAmI(scene);
            expect([me.id === account.id, me.member.id === id]).toEqual(
              Array(2).fill(status === 'active'),
            );
            await check();
            if (status === 'invited') await mustSignIn(scene, person, path);
            expect((await whoAmI(scene)).member.id).toBe(id);
          }
          await check();
        }
      }
    },
  );

  it.runIf(depth.isDeep)(
    'makes nobody an owner whose first sign-in is overtaken by a join that is never completed',
    async () => {
      const { database, scene } = await openFaulty();
      const { world, browser, provider } = scene;
      const account = await world.account();
      const { path, url } = await invite(account);
      await mustSignIn({ ...scene, browser: new Browser(world) }, newPerson());
      const person = ada();
      const signingIn = provider.signIn(await begin(browser), person);
      const second = new FaultyDatabase(env.DB);
      const elsewhere = new World({ ...world.env, DB: second.binding });
      Object.assign(elsewhere, { internet: world.internet, now: world.now });
      const twin = new Browser(elsewhere);
      const joining = provider.signIn(await begin(twin, path), person);
      // After the sign-in found that the person is new.
      database.before(3, async () => {
        second.refuse(/update "members"/);
        expect((await comeBack(twin, joining)).status).toBe(503);
        second.refuse(null);
        expect((await new Browser(elsewhere).join(url)).status).toBe(201);
      });
      expect((await comeBack(browser, signingIn)).status).toBe(503);
      const { body } = await account.must(200, 'GET', '/v1/members?role=owner');
      expect(body.data.map(({ sign_in }: Json) => sign_in)).toEqual([[]]);
      world.advance(MINUTE + SECOND);
      await mustSignIn(scene, person);
      expect((await whoAmI(scene)).id).not.toBe(account.id);
    },
  );

  it.runIf(depth.isDeep).each([
    ['is new', 4],
    ['leaves an own account', 6],
  ])('gives way to a sign-in at the same time of a person who %s', async (why, call) => {
    const { database, scene } = await openFaulty();
    const { world, browser, provider } = scene;
    const person = ada();
    const account = await world.account();
    const { id, path } = await invite(account);
    await mustSignIn(
      { ...scene, browser: new Browser(world) },
      why === 'is new' ? newPerson() : person,
    );
    const joining = provider.signIn(await begin(browser, path), person);
    const twin = new Browser(world);
    const signingIn = provider.signIn(await begin(twin), person);
    let own: Json;
    // Before the directory is changed.
    database.before(call, async () => {
      expect((await comeBack(twin, signingIn)).status).toBe(303);
      own = await whoAmI({ ...scene, browser: twin });
    });
    expect((await comeBack(browser, joining)).status).toBe(409);
    expect(own.member.role).toBe('owner');
    await mustSignIn(scene, person);
    expect((await whoAmI(scene)).id).toBe(own.id);
    await mustSignIn(scene, person, path);
    expect((await whoAmI(scene)).member.id).toBe(id);
    expect(Math.max(...(await activeIdentities()))).toBe(1);
  });

  it.runIf(depth.isDeep).each([
    ['is new', 5],
    ['was removed from the account before', 6],
  ])('makes nobody an owner who %s and signs in between its steps', async (why, call) => {
    const { database, scene } = await openFaulty();
    const { world, browser, provider } = scene;
    const person = ada();
    const account = await world.account();
    if (why !== 'is new') {
      const former = await invite(account);
      await mustSignIn({ ...scene, browser: new Browser(world) }, person, former.path);
      await account.must(204, 'DELETE', `/v1/members/${former.id}`);
      world.advance(SECOND);
    }
    const { path, url } = await invite(account);
    const query = provider.signIn(await begin(browser, path), person);
    const twin = new Browser(world);
    const inBetween = provider.signIn(await begin(twin), person);
    await mustSignIn({ ...scene, browser: new Browser(world) }, newPerson());
    let between: Answer | undefined;
    // Before the member becomes active.
    database.before(call, async () => {
      between = await comeBack(twin, inBetween);
      await new Browser(world).join(url);
    });
    expect((await comeBack(browser, query)).status).toBe(404);
    expect(between?.status).toBe(503);
    await mustSignIn(scene, person);
    const me = await whoAmI(scene);
    expect(me.id).not.toBe(account.id);
    const { body } = await account.must(200, 'GET', '/v1/members?role=owner');
    expect(body.data.map(({ sign_in }: Json) => sign_in)).toEqual([[]]);
  });
});

describe('a member who joined with an identity', () => {
  /** A scene with such a member, whose account moves from the second shard to the third. */
  async function openMoving(first: D1Database, second: D1Database) {
    const scene = await open();
    const { world } = scene;
    const account = await world.account();
    const person = ada();
    const { id, path } = await invite(account);
    await mustSignIn(scene, person, path);
    world.advance(2 * MINUTE);
    Object.assign(world.env, { DB: first, DB_01: second, DB_02: env.DB_02 });
    await orderMove(world, account.id, '01');
    await settleMoves(world);
    await orderMove(world, account.id, '02', env.DB_01);
    return { scene, person, id };
  }

  it.runIf(depth.isDeep)(
    'stays one who signs in while the directory still names the old shard',
    async () => {
      const first = new FaultyDatabase(env.DB);
      const { scene, person, id } = await openMoving(first.binding, env.DB_01);
      first.refuse(/update "identities"/);
      scene.world.advance(MINUTE);
      await scene.world.sweep();
      expect((await signIn(scene, person)).status).toBe(503);
      first.refuse(null);
      await settleMoves(scene.world);
      await mustSignIn(scene, person);
      expect((await whoAmI(scene)).member.id).toBe(id);
    },
  );

  it.runIf(depth.isDeep)(
    'stays one who signs in when the account leaves the shard that was read',
    async () => {
      const second = new FaultyDatabase(env.DB_01);
      const { scene, person, id } = await openMoving(env.DB, second.binding);
      const shards = Object.entries({ '00': env.DB, '01': env.DB_01, '02': env.DB_02 }).map(
        ([name, client]) => ({ name, database: new Database(client, new Cost()) }),
      );
      const mover = new Mover(shards[1] as MoverShard, shards);
      second.before(
        1,
        async () => {
          while (await isMoving()) await mover.moveSlice(scene.world.now);
        },
        /"members"/,
      );
      expect((await signIn(scene, person)).status).toBe(503);
      await mustSignIn(scene, person);
      expect((await whoAmI(scene)).member.id).toBe(id);
    },
  );
});

describe('a service with an invalid OIDC configuration', () => {
  const issuer = { OIDC_ISSUER: 'https://id.example.com' };

  it.each<[string, number, object]>([
    ['a client without an issuer', 503, { OIDC_CLIENT_ID: 'console' }],
    ['a secret without an issuer', 503, { OIDC_CLIENT_SECRET: 'secret' }],
    [
      'a secret without a client',
      503,
      { ...issuer, OIDC_AUDIENCE: 'us', OIDC_CLIENT_SECRET: 'secret' },
    ],
    ['an issuer alone', 503, issuer],
    ['an issuer and a client', 200, { ...issuer, OIDC_CLIENT_ID: 'console' }],
    [
      'an issuer, a client and its secret',
      200,
      { ...issuer, OIDC_CLIENT_ID: 'console', OIDC_CLIENT_SECRET: 'secret' },
    ],
    [
      'an issuer, an audience and a client',
      200,
      { ...issuer, OIDC_AUDIENCE: 'us', OIDC_CLIENT_ID: 'console' },
    ],
  ])('with %s answers %i', async (_, status, settings) => {
    expect((await new Browser(new World(settings)).get('/console/sign-in')).status).toBe(status);
  });
});
