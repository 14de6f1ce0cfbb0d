import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import '../support/shards';
import { type Id, idBytes } from '../../src/lib/typeid';
import { Browser } from '../support/browser';
import { FaultyDatabase } from '../support/faults';
import { readText } from '../support/html';
import { awaitWindow } from '../support/limiter';
import { watchLog } from '../support/log';
import { makeMember, makeToken, type TestMember } from '../support/members';
import { orderHeldMove } from '../support/moves';
import { type BegunPairing, beginPairing, confirmPairing, exchange } from '../support/pairing';
import { countRows, dumpTables } from '../support/tables';
import { type Answer, type Json, ORIGIN, World } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const log = watchLog();
const place = ({ status, headers }: Answer) => [status, headers.get('Location')];

/** An account with a member, and a pairing that a program of the member began. */
async function open(role = 'approver', world = new World()) {
  const account = await world.account({ name: 'Example Ltd' });
  const member = await makeMember(account, role, 'ada@example.com');
  return { world, account, member, pairing: await beginPairing() };
}

/** The same, and the member confirmed it. */
async function openConfirmed(role = 'approver', world = new World()) {
  const scene = await open(role, world);
  return { ...scene, code: await confirmPairing(scene.member.browser, scene.pairing) };
}

/** What an exchange answers that is refused: the same for every code. */
const REFUSED = [
  400,
  'invalid_request',
  'The code cannot be exchanged: it is wrong, has expired, or was used. Start the pairing again.',
];
const refusal = ({ status, body }: Answer) => [status, body.code, body.detail];

const tokensOf = async (world: World, { token }: TestMember): Promise<Json[]> =>
  (await world.must(200, 'GET', '/v1/me/tokens?limit=100', { token })).body.data;

describe('a pairing that the member confirms', () => {
  it('gives the program a token of the member for 30 days, without account:write', async () => {
    const { world, account, member, pairing } = await open('owner');
    const page = await member.browser.get(pairing.page);
    expect([page.status, page.cost.trips]).toEqual([200, 1]);
    const text = readText(page.text);
    for (const part of [
      'only if you yourself just ran countersign login',
      'countersign on laptop The program chose this name itself',
      'Waits at http://127.0.0.1:49152 ',
      'ada@example.com, owner of Example Ltd',
      'Approve and deny requests',
      '2026-03-02 12:00 UTC',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain('Change members');
    expect(page.text).toContain('href="/console/me"');

    const confirmed = await member.browser.submit(pairing.page, { decision: 'confirm' });
    const target = new URL(confirmed.headers.get('Location') ?? '');
    expect([confirmed.status, target.origin + target.pathname]).toEqual([303, pairing.redirectUri]);
    expect(confirmed.cost).toMatchObject({ trips: 1, written: 0 });
    expect([...target.searchParams.keys()]).toEqual(['code', 'state']);
    expect(target.searchParams.get('state')).toBe(pairing.state);

    world.advance(59 * SECOND);
    const answer = await exchange(world, pairing, target.searchParams.get('code') ?? '');
    expect([answer.status, answer.cost.trips, answer.headers.get('Cache-Control')]).toEqual([
      201,
      2,
      'no-store',
    ]);
    const { id, token, scopes, ...rest } = answer.body;
    expect(answer.headers.get('Location')).toBe(`/v1/me/tokens/${id}`);
    expect(rest).toMatchObject({
      name: 'countersign on laptop',
      member_id: member.id,
      expires_at: new Date(world.now + 30 * DAY).toISOString(),
    });
    const { body: me } = await world.must(200, 'GET', '/v1/me', { token });
    expect(me.member.id).toBe(member.id);
    expect(me.scopes).toEqual(scopes);
    const { body: all } = await world.must(200, 'GET', '/v1/me', { token: member.token });
    expect([...scopes, 'account:write'].toSorted()).toEqual(all.scopes.toSorted());
    const { body: activity } = await account.must(
      200,
      'GET',
      '/v1/activity?action=user_token.created&limit=1',
    );
    expect(activity.data[0]).toMatchObject({ actor: member.id, target: id });
    expect(log.lines.join('\n')).toContain('pairing_code');
    world.advance(30 * DAY);
    expect((await world.call('GET', '/v1/me', { token })).status).toBe(401);
  });

  it.each(['approver', 'developer', 'auditor', 'admin'])(
    'gives it the scopes of the role: %s',
    async (role) => {
      const { world, member, pairing, code } = await openConfirmed(role);
      const { body } = await exchange(world, pairing, code);
      const { body: me } = await world.must(200, 'GET', '/v1/me', { token: member.token });
      expect(body.scopes).toEqual(me.scopes.filter((scope: string) => scope !== 'account:write'));
    },
  );

  it('names the token as the page did, and the exchange cannot change that', async () => {
    const { world, member, pairing, code } = await openConfirmed();
    expect((await exchange(world, pairing, code)).body.name).toBe('countersign on laptop');
    const unnamed = await beginPairing({ name: null });
    expect(readText((await member.browser.get(unnamed.page)).text)).toContain(
      'Program without a name',
    );
    const unnamedCode = await confirmPairing(member.browser, unnamed);
    const named = await exchange(world, unnamed, unnamedCode, { name: 'Mine' });
    expect([named.status, named.body.errors[0].path]).toEqual([400, 'body.name']);
    expect((await exchange(world, unnamed, unnamedCode)).body.name).toBeNull();
  });

  it('lets the form lead to the program, and nowhere else', async () => {
    const { member } = await open();
    for (const [redirect_uri, target] of [
      ['http://127.0.0.1:65535/', 'http://127.0.0.1:65535'],
      ['http://localhost:1/a/b.c', 'http://localhost:1'],
      ['http://[::1]:8080/callback', 'http://*:8080'],
    ] as const) {
      const { page } = await beginPairing({ redirect_uri });
      const { headers } = await member.browser.get(page);
      const policy = headers.get('Content-Security-Policy')?.split('; ') ?? [];
      expect(policy).toContain(`form-action 'self' ${target}`);
      expect(policy).toContain("frame-ancestors 'none'");
    }
    const other = await member.browser.get('/console/me');
    expect(other.headers.get('Content-Security-Policy')?.split('; ')).toContain(
      "form-action 'self'",
    );
  });
});

describe('a pairing that the member denies', () => {
  it('goes back to the program with access_denied, also long after the sign-in', async () => {
    const { world, member, pairing } = await open();
    world.advance(60 * MINUTE);
    const answer = await member.browser.submit(pairing.page, { decision: 'deny' });
    expect(place(answer)).toEqual([
      303,
      `${pairing.redirectUri}?error=access_denied&state=${pairing.state}`,
    ]);
  });
});

describe('the page', () => {
  const long = 'x'.repeat(10_000);

  it.each([
    ...[
      null,
      '',
      '/',
      'javascript:alert(1)',
      'https://127.0.0.1:8080/callback',
      'http://127.0.0.1/callback',
    ].map((value) => ['redirect_uri', value]),
    ...[
      'http://127.0.0.1:0/',
      'http://127.0.0.1:65536/',
      'http://127.0.0.1:080/',
      'http://127.0.0.1:8080',
    ].map((value) => ['redirect_uri', value]),
    ...[
      'http://127.0.0.1.evil.test:80/',
      'http://127.0.0.1@evil.test:80/',
      'http://evil.test:80/',
    ].map((value) => [...['redirect_uri', value]]),
    ...['http://a:b@127.0.0.1:80/', 'http://127.0.0.1:80@evil.test/', 'http://127.0.0.1:80/#x'].map(
      (value) => [...['redirect_uri', value]],
    ),
    ...[
      'http://127.0.0.1:80/?x',
      'http://127.0.0.1:80/\r\nA: b',
      'http://127.0.0.1:80\\@evil.test/',
    ].map((value) => [...['redirect_uri', value]]),
    ...[
      ' http://127.0.0.1:80/',
      'http://127.0.0.1:80/\n',
      'http://0x7f000001:80/',
      'http://127.1:80/',
    ].map((value) => [...['redirect_uri', value]]),
    ...[
      'http://[::1]:80.evil.test/',
      'http://[::ffff:127.0.0.1]:80/',
      `http://127.0.0.1:80/${long}`,
    ].map((value) => [...['redirect_uri', value]]),
    ...[null, '', 'a b', 'é', 'a\r\nSet-Cookie: x=y', long].map((value) => ['state', value]),
    ...[null, '', 'x'.repeat(42), 'x'.repeat(44), `${'x'.repeat(42)}=`, long].map((value) => [
      'code_challenge',
      value,
    ]),
    ...[null, '', 'plain', 's256'].map((value) => ['code_challenge_method', value]),
    ...['', '   ', '\0', 'x'.repeat(101), long].map((value) => ['name', value]),
    ['scope', 'account:write'],
  ] as [string, string | null][])(
    'refuses an address with %s=%j, and does not lead there',
    async (name, value) => {
      const { page } = await beginPairing({ [name]: value });
      const browser = new Browser(new World());
      for (const method of ['GET', 'POST']) {
        const answer = await browser.send(method, page, {
          headers: { Accept: 'text/html', Origin: ORIGIN },
        });
        expect(place(answer)).toEqual([400, null]);
        expect(answer.cost.trips).toBe(0);
        expect(answer.text).toContain(`<strong>${name}</strong>`);
        expect(answer.text.length).toBeLessThan(5_000);
        expect(answer.headers.get('Content-Security-Policy')).toMatch(/form-action 'self';/);
      }
    },
  );

  it('shows hostile texts as they are, and sends the state back unchanged', async () => {
    const { member } = await open();
    const name = '<script>alert(1)</script>\u202egnp "\'>';
    const state = '"><script>&code=x#%0d%0a';
    const pairing = await beginPairing({ name, state });
    const { status, text } = await member.browser.get(pairing.page);
    expect(status).toBe(200);
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('<span class="unseen">U+202E</span>gnp');
    const location =
      (await member.browser.submit(pairing.page, { decision: 'confirm' })).headers.get(
        'Location',
      ) ?? '';
    const { searchParams } = new URL(location);
    expect([searchParams.getAll('state'), searchParams.getAll('code').length]).toEqual([
      [state],
      1,
    ]);
    const most = await beginPairing({ name: '😀'.repeat(100), state: '%'.repeat(255) });
    expect((await member.browser.get(most.page)).status).toBe(200);
  });

  it('asks somebody who is signed out to sign in, and comes back with the same query', async () => {
    const { world, member } = await open();
    const { page } = await beginPairing({ name: 'Ada’s "laptop" & more' });
    const visitor = new Browser(world);
    const sent = await visitor.get(page);
    const [status, signIn] = place(sent) as [number, string];
    expect(status).toBe(302);
    expect(new URL(signIn, ORIGIN).searchParams.get('return')).toBe(page);
    const shown = await visitor.get(signIn);
    expect(shown.text).toContain(`data-return="${page.replaceAll('&', '&amp;')}"`);
    expect(shown.text).toContain(`name="return" value="${page.replaceAll('&', '&amp;')}"`);
    const { body: options } = await member.browser.change('POST', '/console/sign-in/options');
    const response = await member.browser.authenticator.get(options);
    const answer = await member.browser.change('POST', '/console/sign-in', {
      response,
      return: page,
    });
    expect([answer.status, answer.body.location]).toEqual([201, page]);
    expect((await member.browser.get(answer.body.location)).status).toBe(200);
  });

  it('asks for a fresh sign-in 10 minutes after the last one, and comes back', async () => {
    const { world, member, pairing } = await open();
    await member.browser.signIn();
    world.advance(10 * MINUTE - 1);
    expect((await member.browser.get(pairing.page)).text).toContain('value="confirm"');
    world.advance(1);
    const stale = await member.browser.get(pairing.page);
    expect([stale.status, stale.text.includes('value="confirm"')]).toEqual([200, false]);
    expect(readText(stale.text)).toContain('To confirm, sign in again');
    const refused = await member.browser.submit(pairing.page, { decision: 'confirm' });
    expect(place(refused)).toEqual([403, null]);
    expect(readText(refused.text)).toContain('To confirm, sign in again');
    const left = await member.browser.submit('/console/sign-out', { return: pairing.page });
    expect(place(left)).toEqual([
      303,
      `/console/sign-in?${new URLSearchParams({ return: pairing.page })}`,
    ]);
    await member.browser.signIn();
    expect((await member.browser.submit(pairing.page, { decision: 'confirm' })).status).toBe(303);
  });

  it('refuses a session of a user token, of the account as of a member', async () => {
    const { world, account, member, pairing } = await open('owner');
    for (const token of [
      account.token,
      await makeToken(account, member, { scopes: ['account:read'] }),
    ]) {
      const browser = new Browser(world);
      await browser.signInWithToken(token);
      const headers = { Accept: 'text/html' };
      const answers = [
        await browser.send('GET', pairing.page, { headers }),
        await browser.submit(pairing.page, { decision: 'confirm' }),
      ];
      for (const answer of answers) {
        expect(place(answer)).toEqual([403, null]);
        expect(readText(answer.text)).toContain('Only a member who signed in with a passkey');
      }
    }
  });

  it('refuses a form of another site, without the CSRF token, or with another decision', async () => {
    const { member, pairing } = await open();
    const form = (csrf: string, decision: string, origin = ORIGIN) =>
      member.browser.send('POST', pairing.page, {
        raw: new URLSearchParams({ csrf, decision }).toString(),
        headers: { Origin: origin, 'Content-Type': 'application/x-www-form-urlencoded' },
      });
    const csrf = await member.browser.csrf();
    expect((await form(csrf, 'confirm', 'https://evil.test')).status).toBe(403);
    expect((await form('', 'confirm')).status).toBe(403);
    expect((await form(csrf, '')).status).toBe(400);
    expect((await form(csrf, 'confirm')).status).toBe(303);
  });

  it('leads back to itself when the session ended while it was open, and sends nothing again', async () => {
    const { member, pairing } = await open();
    const csrf = await member.browser.csrf();
    await member.browser.submit('/console/sign-out');
    const answer = await member.browser.submit(pairing.page, { csrf, decision: 'confirm' });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain(`href="${pairing.page.replaceAll('&', '&amp;')}"`);
    expect(answer.text).not.toContain('Send it again');
  });
});

describe('an exchange is refused, always in the same words,', () => {
  /**
   * Expects that the code is dead also for the program that began the pairing, and that no token
   * was made.
   */
  async function expectDead(
    { world, member, pairing }: { world: World; member: TestMember; pairing: BegunPairing },
    code: string,
  ) {
    expect(refusal(await exchange(world, pairing, code))).toEqual(REFUSED);
    expect(await tokensOf(world, member)).toHaveLength(1);
  }

  it('for a code that was used', async () => {
    const { world, member, pairing, code } = await openConfirmed();
    expect((await exchange(world, pairing, code)).status).toBe(201);
    const again = await exchange(world, pairing, code);
    expect([refusal(again), again.cost.trips]).toEqual([REFUSED, 2]);
    expect(await tokensOf(world, member)).toHaveLength(2);
  });

  it('for a code that is 60 seconds old', async () => {
    const scene = await openConfirmed();
    scene.world.advance(MINUTE);
    await expectDead(scene, scene.code);
  });

  it.each([
    ['another verifier', { code_verifier: 'v'.repeat(43) }],
    ['another redirect', { redirect_uri: 'http://127.0.0.1:49153/callback' }],
    ['another spelling of the redirect', { redirect_uri: 'http://localhost:49152/callback' }],
  ])('with %s, which also ends the code', async (_, fields) => {
    const scene = await openConfirmed();
    const answer = await exchange(scene.world, scene.pairing, scene.code, fields);
    expect([refusal(answer), answer.cost.trips]).toEqual([REFUSED, 2]);
    await expectDead(scene, scene.code);
  });

  it('for a code that is malformed, changed, or encrypted with another secret, without a database query', async () => {
    const { world, pairing, code } = await openConfirmed();
    const changed = `${code.slice(0, 40)}${code[40] === 'A' ? 'B' : 'A'}${code.slice(41)}`;
    const other = new World({ ROOT_SECRET: btoa('x'.repeat(32)) });
    const before = await dumpTables(env.DB);
    for (const text of [
      '',
      'x',
      '\0',
      'é',
      code.slice(0, -1),
      `${code}AAAA`,
      changed,
      'A'.repeat(20_000),
      pairing.state,
    ]) {
      const answer = await exchange(world, pairing, text);
      expect([refusal(answer), answer.cost.trips]).toEqual([REFUSED, 0]);
    }
    expect(refusal(await exchange(other, pairing, code))).toEqual(REFUSED);
    expect(await dumpTables(env.DB)).toEqual(before);
    expect((await exchange(world, pairing, code)).status).toBe(201);
  });

  it('for the code of another account with one’s own verifier', async () => {
    const [mine, theirs] = [await openConfirmed(), await openConfirmed()];
    expect(refusal(await exchange(mine.world, mine.pairing, theirs.code))).toEqual(REFUSED);
    expect((await exchange(mine.world, mine.pairing, mine.code)).status).toBe(201);
    expect(await tokensOf(theirs.world, theirs.member)).toHaveLength(1);
  });

  it.each([
    ['the member signs out', ({ member }) => member.browser.submit('/console/sign-out')],
    [
      'the session expires',
      async ({ world }) =>
        env.DB.prepare('update sessions set created_at = ?')
          .bind(world.now - 7 * DAY)
          .run(),
    ],
    [
      'the member is suspended',
      ({ account, member }) =>
        account.must(200, 'PUT', `/v1/members/${member.id}`, { status: 'suspended' }),
    ],
    [
      'the member is removed',
      ({ account, member }) => account.must(204, 'DELETE', `/v1/members/${member.id}`),
    ],
    [
      'the account is switched off',
      ({ world, account }) =>
        world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
          token: env.ADMIN_TOKEN ?? '',
          body: { is_active: false },
        }),
    ],
    [
      'the account is deleted',
      ({ world, account }) =>
        world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, {
          token: env.ADMIN_TOKEN ?? '',
        }),
    ],
  ] as [string, (scene: Awaited<ReturnType<typeof openConfirmed>>) => Promise<unknown>][])(
    'after %s, also between its read and its write',
    async (_, end) => {
      const scene = await openConfirmed();
      await end(scene);
      expect(refusal(await exchange(scene.world, scene.pairing, scene.code))).toEqual(REFUSED);
      expect(
        refusal(
          await exchange(scene.world, scene.pairing, scene.code, { code_verifier: 'v'.repeat(43) }),
        ),
      ).toEqual(REFUSED);

      const database = new FaultyDatabase(env.DB);
      const rival = await openConfirmed('approver', new World({ DB: database.binding }));
      const before = (await countRows(env.DB)).user_tokens ?? 0;
      database.before(2, async () => {
        database.arm(null);
        await end({ ...rival, world: new World() });
      });
      expect(refusal(await exchange(rival.world, rival.pairing, rival.code))).toEqual(REFUSED);
      expect((await countRows(env.DB)).user_tokens ?? 0).toBeLessThanOrEqual(before);
    },
  );

  it('for all but one of many exchanges at once', async () => {
    const { world, member, pairing, code } = await openConfirmed();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => exchange(world, pairing, code)),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(9).fill(400)]);
    expect(await tokensOf(world, member)).toHaveLength(2);
  });
});

describe('an exchange', () => {
  it('has the scopes of the role that the member has then', async () => {
    const { world, account, member, pairing, code } = await openConfirmed('approver');
    await account.must(200, 'PUT', `/v1/members/${member.id}`, { role: 'auditor' });
    const { body } = await exchange(world, pairing, code);
    expect(body.scopes).toContain('audit:export');
    expect(body.scopes).not.toContain('permissions:decide');
  });

  it('names the fields that are wrong in a request that no program sends', async () => {
    const { world, member, pairing, code } = await openConfirmed();
    for (const [field, value] of [
      ['code_verifier', 'v'.repeat(42)],
      ['code_verifier', 'v'.repeat(129)],
      ['code_verifier', `${'v'.repeat(42)} `],
      ['name', 'Mine'],
      ['scopes', ['account:write']],
      ['redirect_uri', null],
    ] as const) {
      const { status, body } = await exchange(world, pairing, code, { [field]: value });
      expect([status, body.code, body.errors[0].path]).toEqual([
        400,
        'invalid_request',
        `body.${field}`,
      ]);
    }
    expect((await exchange(world, pairing, code)).status).toBe(201);
    expect(await tokensOf(world, member)).toHaveLength(2);
  });

  it('is refused to a member with 100 tokens, and works once one is deleted', async () => {
    const { world, member, pairing, code } = await openConfirmed('owner');
    await env.DB.prepare(
      `insert into user_tokens (hash, id, account, member, prefix, scopes, created_at)
       select randomblob(32), randomblob(16), account, member, prefix, scopes, created_at from user_tokens
       join json_each(?) where member = ?`,
    )
      .bind(JSON.stringify(Array(99).fill(0)), idBytes(member.id as Id<'member'>))
      .run();
    const full = await exchange(world, pairing, code);
    expect([full.status, full.body.code]).toEqual([409, 'conflict']);
    const [newest] = await tokensOf(world, member);
    await world.must(204, 'DELETE', `/v1/me/tokens/${newest?.id}`, { token: member.token });
    expect((await exchange(world, pairing, code)).status).toBe(201);
  });

  it('waits for an account that is on the way to another shard', async () => {
    const { world, account, pairing, code } = await openConfirmed();
    await orderHeldMove(world, account.id, '01');
    expect((await exchange(world, pairing, code)).status).toBe(503);
    await env.DB.prepare('delete from moves').run();
    expect((await exchange(world, pairing, code)).status).toBe(201);
  });

  it('leaves no row behind when the code has expired', async () => {
    const { world, pairing, code } = await openConfirmed();
    await exchange(world, pairing, code);
    const left = () =>
      env.DB.prepare('select count(*) as n from used_challenges where expires_at <= ?')
        .bind(world.now)
        .first<number>('n');
    world.advance(MINUTE);
    expect(await left()).toBeGreaterThan(0);
    await world.sweep();
    expect(await left()).toBe(0);
  });

  it('is limited by address only when it fails', async () => {
    await awaitWindow();
    const { LIMITER_OF_3: ADDRESS_LIMITER, ACCOUNT_LIMITER } = env;
    const limiters = { ADDRESS_LIMITER, ACCOUNT_LIMITER, CREDENTIAL_LIMITER: ACCOUNT_LIMITER };
    const { pairing, code } = await openConfirmed();
    const world = new World({ RATE_LIMITS: 'on', ...limiters });
    const headers = { 'CF-Connecting-IP': `203.0.113.7-${crypto.randomUUID()}` };
    const send = (text: string) =>
      world.call('POST', '/v1/pairing', {
        body: { code: text, code_verifier: pairing.verifier, redirect_uri: pairing.redirectUri },
        headers,
      });
    const statuses = [];
    for (let i = 0; i < 5; i++) statuses.push((await send('unknown')).status);
    expect(statuses).toEqual([400, 400, 400, 429, 429]);
    expect((await send(code)).status).toBe(201);
  });

  it('keeps code, verifier and token out of the log and the database', async () => {
    const { world, pairing, code } = await openConfirmed();
    const { body } = await exchange(world, pairing, code);
    await exchange(world, pairing, code);
    const kept = JSON.stringify(await dumpTables(env.DB)) + log.lines.join('\n');
    for (const secret of [code, pairing.verifier, pairing.state, body.token])
      expect(kept).not.toContain(secret);
  });
});

describe('the page after a sign-in', () => {
  it.each([
    ['//evil.test', '/console'],
    ['/\\evil.test', '/console'],
    ['https://evil.test/console/me', '/console'],
    ['/console/../..//evil.test', '/console'],
    ['/consoles', '/console'],
    ['/v1/me', '/console'],
    ['javascript:alert(1)', '/console'],
    [`/console/me?${'x'.repeat(2_000)}`, '/console'],
    ['/console?action=a.b', '/console?action=a.b'],
    ['/console/permissions/perm_1#x', '/console/permissions/perm_1'],
  ])('that asks for %s is %s', async (wanted, expected) => {
    const account = await new World().account();
    const browser = new Browser(account.world);
    const query = new URLSearchParams({ return: wanted });
    const { text } = await browser.get(`/console/sign-in?${query}`);
    expect(/data-return="([^"]*)"/.exec(text)?.[1]).toBe(expected);
    const answer = await browser.send('POST', '/console/sign-in/token', {
      raw: new URLSearchParams({ token: account.token, return: wanted }).toString(),
      headers: {
        Origin: ORIGIN,
        Accept: 'text/html',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
    });
    expect(place(answer)).toEqual([303, expected]);
  });
});
