import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { passkeyContent } from '../../src/identity/passkeys/passkey-mac';
import { rowMac } from '../../src/lib/row-mac';
import { Keyring } from '../../src/lib/secrets';
import { formatId, type Id, idBytes } from '../../src/lib/typeid';
import '../support/shards';
import { Browser } from '../support/browser';
import { depth } from '../support/depth';
import { FaultyDatabase } from '../support/faults';
import { makeMember } from '../support/members';
import { orderMove, settleMoves } from '../support/moves';
import { countRows } from '../support/tables';
import { type Answer, type Json, ORIGIN, type TestAccount, World } from '../support/world';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const code = ({ status, body }: Json) => [status, body?.code];

async function invite(
  account: TestAccount,
  role = 'approver',
  email = `${crypto.randomUUID()}@example.com`,
) {
  return (await account.must(201, 'POST', '/v1/members', { email, role })).body;
}

async function actions(account: TestAccount): Promise<string[]> {
  const { body } = await account.must(200, 'GET', '/v1/activity?limit=1000');
  return body.data.map(({ action }: Json) => action);
}

/** What differs from a correct response of an authenticator, and must be refused. */
const TAMPERINGS = {
  'another origin': { origin: 'https://evil.example.com' },
  'the origin with another port': { origin: `${ORIGIN}:8443` },
  'another RP id': { rpId: 'evil.example.com' },
  'no user verification': { flags: 0x01 },
  'no user presence': { flags: 0x04 },
  'a frame of another site': { clientData: { crossOrigin: true } },
  'a frame of another site that is named': {
    clientData: { crossOrigin: true, topOrigin: 'https://evil.example.com' },
  },
  'another ceremony': { clientData: { type: 'webauthn.payment' } },
  'a challenge that the service did not make': { challenge: 'A'.repeat(75) },
};

describe('an invitation', () => {
  it('shows who is invited to what, changes nothing when it is looked at, and works once', async () => {
    const account = await new World().account({ name: 'Example <Ltd>' });
    const member = await invite(account, 'approver', 'ada@example.com');
    const path = new URL(member.invitation.url).pathname;
    const browser = new Browser(account.world);
    for (let i = 0; i < 2; i++) {
      const page = await browser.get(path);
      expect([page.status, page.headers.get('Content-Type')]).toEqual([
        200,
        'text/html; charset=utf-8',
      ]);
      for (const text of ['Example &lt;Ltd&gt;', 'ada@example.com', 'approver'])
        expect(page.text).toContain(text);
      expect(page.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
    }
    expect((await account.must(200, 'GET', `/v1/members/${member.id}`)).body.status).toBe(
      'invited',
    );
    account.world.advance(1);
    const joined = await browser.join(member.invitation.url);
    expect([joined.status, joined.body]).toEqual([201, { location: '/console' }]);
    const [cookie] = joined.headers.getSetCookie();
    expect(cookie).toMatch(
      /^__Host-countersign=css_00[0-9A-Za-z]{38}; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const { body } = await account.must(200, 'GET', `/v1/members/${member.id}`);
    expect([body.status, body.sign_in]).toEqual(['active', ['passkey']]);
    expect(body.passkeys).toEqual([
      {
        id: expect.any(String),
        name: 'Laptop',
        public_key: expect.any(String),
        added_at: '2026-01-31T12:00:00.001Z',
        removed_at: null,
      },
    ]);
    expect((await actions(account)).slice(0, 3).toSorted()).toEqual([
      'member.joined',
      'passkey.added',
      'session.created',
    ]);
    expect((await new Browser(account.world).get(path)).status).toBe(404);
    expect(code(await new Browser(account.world).change('POST', `${path}/options`))).toEqual([
      404,
      'not_found',
    ]);
  });

  it('lets one person join, however many try at once', async () => {
    const account = await new World().account();
    const { id, invitation } = await invite(account);
    const browsers = Array.from({ length: 8 }, () => new Browser(account.world));
    const answers = await Promise.allSettled(
      browsers.map((browser) => browser.join(invitation.url)),
    );
    const joined = answers.filter(
      (answer) => answer.status === 'fulfilled' && answer.value.status === 201,
    );
    expect(joined).toHaveLength(1);
    const { body } = await account.must(200, 'GET', `/v1/members/${id}`);
    expect(body.passkeys).toHaveLength(1);
  });

  it.each(['replaced', 'withdrawn', 'expired', 'of a deleted account'])(
    'that is %s lets nobody join',
    async (why) => {
      const account = await new World().account();
      const { world } = account;
      const { id, invitation } = await invite(account);
      const browser = new Browser(world);
      const path = new URL(invitation.url).pathname;
      const { body: options } = await browser.change('POST', `${path}/options`);
      const response = await browser.authenticator.create(options);
      if (why === 'replaced') await account.must(201, 'POST', `/v1/members/${id}/invitation`);
      if (why === 'withdrawn') await account.must(204, 'DELETE', `/v1/members/${id}`);
      if (why === 'expired') world.advance(7 * 24 * HOUR);
      if (why === 'of a deleted account') {
        await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, {
          token: env.ADMIN_TOKEN ?? '',
        });
      }
      expect(code(await browser.change('POST', path, { name: 'Late', response }))).toEqual([
        404,
        'not_found',
      ]);
      expect((await browser.get(path)).status).toBe(404);
    },
  );

  it('that is withdrawn while the answer is on its way lets nobody join', async () => {
    const database = new FaultyDatabase(env.DB);
    const account = await new World({ DB: database.binding }).account();
    const { id, invitation } = await invite(account);
    const browser = new Browser(account.world);
    const path = new URL(invitation.url).pathname;
    const { body: options } = await browser.change('POST', `${path}/options`);
    const response = await browser.authenticator.create(options);
    database.before(2, () =>
      new World().must(204, 'DELETE', `/v1/members/${id}`, { token: account.token }),
    );
    expect(code(await browser.change('POST', path, { name: 'Late', response }))).toEqual([
      404,
      'not_found',
    ]);
    expect((await account.must(200, 'GET', `/v1/members/${id}`)).body.passkeys).toEqual([]);
  });

  it.each(Object.entries(TAMPERINGS))('is not accepted with %s', async (_, tampering) => {
    const account = await new World().account();
    const { id, invitation } = await invite(account);
    const before = await countRows(env.DB);
    const browser = new Browser(account.world);
    expect(code(await browser.join(invitation.url, tampering))).toEqual([400, 'invalid_request']);
    expect(await countRows(env.DB)).toEqual(before);
    expect((await account.must(200, 'GET', `/v1/members/${id}`)).body.status).toBe('invited');
  });

  it('is not accepted with the answer to the challenge of another invitation, or of a sign-in', async () => {
    const account = await new World().account();
    const [mine, other] = [await invite(account), await invite(account)];
    const browser = new Browser(account.world);
    const { body: foreign } = await browser.change(
      'POST',
      `${new URL(other.invitation.url).pathname}/options`,
    );
    const { body: signIn } = await browser.change('POST', '/console/sign-in/options');
    for (const { challenge } of [foreign, signIn]) {
      expect(code(await browser.join(mine.invitation.url, { challenge }))).toEqual([
        400,
        'invalid_request',
      ]);
    }
  });
});

describe('a sign-in', () => {
  it('makes a new session each time, in which the member is signed in', async () => {
    const account = await new World().account();
    const { world } = account;
    const { id, browser } = await makeMember(account, 'auditor');
    const first = browser.cookie;
    world.advance(MINUTE);
    const answer = await browser.signIn();
    expect([answer.status, answer.body]).toEqual([201, { location: '/console' }]);
    expect(browser.cookie).not.toBe(first);
    const page = await browser.get('/console/me');
    expect(page.status).toBe(200);
    for (const text of ['auditor', 'Laptop']) expect(page.text).toContain(text);
    expect(page.cost.trips).toBe(2);
    const [newest] = (await account.must(200, 'GET', '/v1/activity')).body.data;
    expect(newest).toMatchObject({
      actor: id,
      action: 'session.created',
      target: expect.stringMatching(/^session_/),
    });
  });

  it('ends with the root secret, as the sessions and tokens from before do', async () => {
    const account = await new World().account();
    const { browser, token } = await makeMember(account, 'auditor');
    const world = new World({ ROOT_SECRET: btoa('another root secret, 32 bytes ..') });
    const { authenticator, cookie } = browser;
    const later = Object.assign(new Browser(world), { authenticator, cookie });
    expect((await later.get('/console/me')).headers.get('Location')).toBe(
      '/console/sign-in?return=%2Fconsole%2Fme',
    );
    expect((await world.call('GET', '/v1/me', { token })).status).toBe(401);
    expect(code(await later.signIn())).toEqual([401, 'unauthorized']);
  });

  it.each(Object.entries({ ...TAMPERINGS, 'altered client data': { alterAfterwards: true } }))(
    'is refused with %s',
    async (_, tampering) => {
      const account = await new World().account();
      const { browser } = await makeMember(account, 'auditor');
      const before = await countRows(env.DB);
      expect(code(await browser.signIn(tampering))).toEqual([401, 'unauthorized']);
      expect(await countRows(env.DB)).toEqual(before);
    },
  );

  it('needs a challenge that is at most five minutes old and was not answered before', async () => {
    const account = await new World().account();
    const { world } = account;
    const { browser } = await makeMember(account, 'auditor');
    browser.cookie = '';
    const { body: options } = await browser.change('POST', '/console/sign-in/options');
    const response = await browser.authenticator.get(options, { counter: 0 });
    const send = () =>
      browser.send('POST', '/console/sign-in', { body: { response }, headers: { Origin: ORIGIN } });
    world.advance(5 * MINUTE - 1);
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 401, 401]);
    world.advance(1);
    const late = await browser.authenticator.get(options, { counter: 0 });
    const answer = await browser.send('POST', '/console/sign-in', {
      body: { response: late },
      headers: { Origin: ORIGIN },
    });
    expect(code(answer)).toEqual([401, 'unauthorized']);
    await world.sweep();
    const left = await env.DB.prepare(
      'select min(expires_at) as first from used_challenges',
    ).first<number>('first');
    expect(left ?? Number.POSITIVE_INFINITY).toBeGreaterThan(world.now);
  });

  it("is refused with another member's handle", async () => {
    const account = await new World().account();
    const [mine, other] = [
      await makeMember(account, 'auditor'),
      await makeMember(account, 'admin'),
    ];
    const stranger = await makeMember(await account.world.account(), 'admin');
    const handleOf = async ({ browser }: { browser: Browser }) => {
      const { body } = await browser.change('POST', '/console/sign-in/options');
      return (await browser.authenticator.get(body)).response.userHandle;
    };
    for (const userHandle of [
      await handleOf(other),
      await handleOf(stranger),
      'AAAA',
      'A'.repeat(46),
    ]) {
      expect(code(await mine.browser.signIn({ userHandle }))).toEqual([401, 'unauthorized']);
    }
  });

  /**
   * A member whose passkey counted up to a number when it was made, in an account that is not the
   * first.
   */
  async function counting(first: number) {
    const world = new World();
    await makeMember(await world.account(), 'auditor');
    const account = await world.account();
    const browser = new Browser(world);
    const { invitation } = await invite(account, 'auditor');
    expect((await browser.join(invitation.url, { counter: first })).status).toBe(201);
    expect((await browser.signIn({ counter: 50 })).status).toBe(201);
    const wentBack = async () =>
      (await actions(account)).filter((action) => action === 'passkey.counter_went_back').length;
    return { world, account, browser, wentBack };
  }

  /**
   * Stores the only passkey of an account as the service would if it did not know its first
   * counter.
   */
  async function forgetFirstCounter(world: World, account: TestAccount): Promise<void> {
    const number = '(select number from accounts where id = ?1)';
    const accountId = account.id as Id<'user'>;
    const row = await env.DB.prepare(
      `select id, member, public_key as publicKey, added_at as addedAt from passkeys where account = ${number}`,
    )
      .bind(idBytes(accountId))
      .first<{ id: number[]; member: number[]; publicKey: number[]; addedAt: number }>();
    const keyring = Keyring.parse(world.env.ROOT_SECRET ?? '');
    if (!row || !keyring) throw new Error('there is no passkey or no root secret');
    const content = passkeyContent({
      accountId,
      member: formatId('member', Uint8Array.from(row.member)),
      id: Uint8Array.from(row.id),
      publicKey: Uint8Array.from(row.publicKey),
      firstCounter: null,
      addedAt: row.addedAt,
    });
    await env.DB.prepare(
      `update passkeys set first_counter = null, mac = ?2 where account = ${number}`,
    )
      .bind(idBytes(accountId), await rowMac(keyring, content))
      .run();
  }

  it.each([49, 50, 0])(
    'with a signature counter that went back to %i is recorded, and let in if it began with 0',
    async (counter) => {
      const { browser, wentBack } = await counting(0);
      expect((await browser.signIn({ counter })).status).toBe(201);
      expect((await browser.get('/console/me')).status).toBe(200);
      expect(await wentBack()).toBe(1);
      expect((await browser.signIn({ counter: counter + 1 })).status).toBe(201);
      expect(await wentBack()).toBe(1);
    },
  );

  it('with a signature counter that went back is recorded once and refused, with the reason, if it counted from the start', async () => {
    const { browser, wentBack } = await counting(7);
    browser.cookie = '';
    const { body: options } = await browser.change('POST', '/console/sign-in/options');
    const response = await browser.authenticator.get(options, { counter: 50 });
    for (const reason of [/signature counter of this passkey went back/, /cannot sign in here/]) {
      const answer = await browser.change('POST', '/console/sign-in', { response });
      expect(code(answer)).toEqual([401, 'unauthorized']);
      expect(answer.body.detail).toMatch(reason);
    }
    expect(await wentBack()).toBe(1);
    expect((await browser.signIn({ counter: 51 })).status).toBe(201);
  });

  it('is refused with a counter that went back if the first one is not known', async () => {
    const { world, account, browser } = await counting(0);
    await forgetFirstCounter(world, account);
    expect((await browser.signIn({ counter: 51 })).status).toBe(201);
    const answer = await browser.signIn({ counter: 50 });
    expect(code(answer)).toEqual([401, 'unauthorized']);
    expect(answer.body.detail).toMatch(/signature counter of this passkey went back/);
  });

  it('answers a challenge once, and not once for each account or shard', async () => {
    const world = new World({ DB_01: env.DB_01, DB_02: env.DB_02 });
    const people: Browser[] = [];
    for (let i = 0; i < 6; i++)
      people.push((await makeMember(await world.account(), 'auditor')).browser);
    const visitor = new Browser(world);
    const { body: options } = await visitor.change('POST', '/console/sign-in/options');
    const statuses: number[] = [];
    for (const { authenticator } of people) {
      const response = await authenticator.get(options);
      visitor.cookie = '';
      statuses.push((await visitor.change('POST', '/console/sign-in', { response })).status);
    }
    expect(statuses).toEqual([201, 401, 401, 401, 401, 401]);
    world.advance(5 * MINUTE);
    await world.sweep();
    const left = await Promise.all(
      [env.DB, env.DB_01, env.DB_02].map((database) =>
        database
          .prepare('select count(*) as n from sign_in_challenges where expires_at <= ?')
          .bind(world.now)
          .first<number>('n'),
      ),
    );
    expect(left).toEqual([0, 0, 0]);
  });

  it.each(['suspended', 'removed'])(
    'is refused for a member who is %s, and every session ends',
    async (status) => {
      const account = await new World().account();
      const { id, browser } = await makeMember(account, 'auditor');
      if (status === 'removed') await account.must(204, 'DELETE', `/v1/members/${id}`);
      else await account.must(200, 'PUT', `/v1/members/${id}`, { status });
      expect((await browser.get('/console/me')).status).toBe(302);
      expect((await countRows(env.DB)).sessions).toBe(
        await env.DB.prepare(
          'select count(*) as n from sessions where member in (select id from members where status = 1)',
        ).first('n'),
      );
      expect(code(await browser.signIn())).toEqual(
        status === 'removed' ? [401, 'unauthorized'] : [403, 'account_inactive'],
      );
    },
  );

  it('is refused if the member is removed while the answer is on its way', async () => {
    const database = new FaultyDatabase(env.DB);
    const account = await new World({ DB: database.binding }).account();
    const { id, browser } = await makeMember(account, 'auditor');
    const { body: options } = await browser.change('POST', '/console/sign-in/options');
    const response = await browser.authenticator.get(options);
    database.before(2, () =>
      new World().must(204, 'DELETE', `/v1/members/${id}`, { token: account.token }),
    );
    const answer = await browser.send('POST', '/console/sign-in', {
      body: { response },
      headers: { Origin: ORIGIN },
    });
    expect(code(answer)).toEqual([401, 'unauthorized']);
  });

  it.runIf(depth.isDeep)(
    'works on every shard, and after each move of the account, as do sessions and invitations',
    async () => {
      const account = await new World({ DB_01: env.DB_01, DB_02: env.DB_02 }).account();
      const { world } = account;
      const home = account.token.slice(4, 6);
      const databases: Record<string, D1Database> = {
        '00': env.DB,
        '01': env.DB_01,
        '02': env.DB_02,
      };
      const { id, browser } = await makeMember(account, 'auditor');
      const { invitation } = await invite(account);
      let place = home;
      for (const next of ['01', '02', '00'].filter((name) => name !== home)) {
        await orderMove(world, account.id, next, databases[place]);
        await settleMoves(world);
        place = next;
        expect((await browser.get('/console/me')).text).toContain('auditor');
        expect((await browser.signIn()).status).toBe(201);
      }
      const joined = new Browser(world);
      expect((await joined.join(invitation.url)).status).toBe(201);
      expect((await joined.signIn()).status).toBe(201);
      const { body } = await account.must(200, 'GET', `/v1/members/${id}`);
      expect(body.passkeys).toHaveLength(1);
    },
  );

  it('page redirects to the host at which passkeys work', async () => {
    const world = new World({ PUBLIC_URL: 'https://elsewhere.test' });
    const answer = await new Browser(world).get('/console/sign-in');
    expect([answer.status, answer.headers.get('Location')]).toEqual([
      302,
      'https://elsewhere.test/console/sign-in',
    ]);
  });
});

describe('a session', () => {
  it('ends after twelve hours without a request, and after seven days in any case', async () => {
    const account = await new World().account();
    const { world } = account;
    const { browser } = await makeMember(account, 'auditor');
    world.advance(12 * HOUR - 1);
    expect((await browser.get('/console/me')).status).toBe(200);
    world.advance(12 * HOUR);
    expect((await browser.get('/console/me')).status).toBe(302);
    await browser.signIn();
    for (let hours = 0; hours < 7 * 24 - 8; hours += 8) {
      world.advance(8 * HOUR);
      expect((await browser.get('/console/me')).status).toBe(200);
    }
    world.advance(8 * HOUR);
    expect((await browser.get('/console/me')).status).toBe(302);
    await world.sweep();
    expect((await countRows(env.DB)).sessions).toBe(0);
  });

  it('is no credential of the API', async () => {
    const account = await new World().account();
    const { browser } = await makeMember(account, 'admin');
    const secret = browser.cookie.split('=')[1] ?? '';
    expect(code(await browser.send('GET', '/v1/me'))).toEqual([401, 'unauthorized']);
    expect(code(await account.world.call('GET', '/v1/me', { token: secret }))).toEqual([
      401,
      'unauthorized',
    ]);
  });

  it('is listed to the member, who can end it, and to nobody else', async () => {
    const account = await new World().account();
    const { world } = account;
    const [mine, other] = [
      await makeMember(account, 'auditor'),
      await makeMember(account, 'admin'),
    ];
    world.advance(MINUTE);
    const list = async (token: string) =>
      (await world.must(200, 'GET', '/v1/me/sessions', { token })).body.data;
    const [session] = await list(mine.token);
    expect(session).toEqual({
      id: expect.stringMatching(/^session_/),
      token_id: null,
      ip_address: '',
      user_agent: '',
      last_seen_at: '2026-01-31T12:00:00.000Z',
      expires_at: '2026-02-01T00:00:00.000Z',
      created_at: '2026-01-31T12:00:00.000Z',
    });
    expect(await list(account.token)).toEqual([]);
    const path = `/v1/me/sessions/${session.id}`;
    for (const token of [other.token, account.token]) {
      expect(code(await world.call('DELETE', path, { token }))).toEqual([404, 'not_found']);
    }
    await world.must(204, 'DELETE', path, { token: mine.token });
    expect((await mine.browser.get('/console/me')).status).toBe(302);
    expect((await actions(account))[0]).toBe('session.ended');
  });

  it('ends when the member signs out', async () => {
    const account = await new World().account();
    const { browser } = await makeMember(account, 'auditor');
    const { cookie } = browser;
    const answer = await browser.submit('/console/sign-out');
    expect([answer.status, answer.headers.get('Location'), browser.cookie]).toEqual([
      303,
      '/console/sign-in',
      '',
    ]);
    browser.cookie = cookie;
    expect((await browser.get('/console/me')).status).toBe(302);
  });

  it('changes nothing for a request of another site, or without its CSRF token', async () => {
    const account = await new World().account();
    const [mine, other] = [await makeMember(account, 'admin'), await makeMember(account, 'admin')];
    const before = await countRows(env.DB);
    const { cookie } = mine.browser;
    const attempts: Promise<Answer>[] = [
      mine.browser.change('POST', '/console/me/tokens', undefined, {
        Origin: 'https://evil.example.com',
      }),
      mine.browser.send('POST', '/console/me/tokens', {
        headers: { 'X-CSRF-Token': await mine.browser.csrf() },
      }),
      mine.browser.change('POST', '/console/sign-out', undefined, { 'X-CSRF-Token': '' }),
      mine.browser.change('POST', '/console/sign-out', undefined, {
        'X-CSRF-Token': await other.browser.csrf(),
      }),
      mine.browser.change('POST', '/console/me/passkeys/options', undefined, {
        'X-CSRF-Token': 'AAAA',
      }),
    ];
    for (const attempt of await Promise.all(attempts))
      expect(code(attempt)).toEqual([403, 'wrong_credential']);
    expect(mine.browser.cookie).toBe(cookie);
    expect(await countRows(env.DB)).toEqual(before);
    const anonymous = new Browser(account.world);
    const headers = { Origin: ORIGIN };
    expect(code(await anonymous.send('POST', '/console/me/passkeys', { headers }))).toEqual([
      401,
      'unauthorized',
    ]);
  });
});

describe('a passkey', () => {
  it('is listed in pages, newest first', async () => {
    const account = await new World().account();
    const { world } = account;
    const { token, browser } = await makeMember(account, 'approver');
    for (const name of ['A', 'B']) {
      const { body: options } = await browser.change('POST', '/console/me/passkeys/options');
      const response = await browser.authenticator.create(options);
      expect(
        (await browser.change('POST', '/console/me/passkeys', { name, response })).status,
      ).toBe(201);
      if (name === 'A') world.advance(1);
    }
    const list = (query = '') => world.call('GET', `/v1/me/passkeys${query}`, { token });
    const { data } = (await list()).body;
    expect(data.map(({ added_at }: Json) => added_at)).toEqual(
      data
        .map(({ added_at }: Json) => added_at)
        .toSorted()
        .toReversed(),
    );
    expect(data[0].name).toBe('B');
    const pages: Json[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await list(`?limit=1${cursor}`);
      pages.push(...body.data);
      expect(body.has_more).toBe(body.next_cursor !== null);
      if (!body.has_more) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(pages).toEqual(data);
    expect(code(await list('?limit=101'))).toEqual([400, 'invalid_request']);
    expect(code(await list('?cursor=x'))).toEqual([400, 'invalid_cursor']);
    expect((await account.must(200, 'GET', '/v1/me/passkeys?limit=1')).body).toEqual({
      data: [],
      has_more: false,
      next_cursor: null,
    });
  });

  it('can be added and removed within ten minutes of a sign-in, except the last one', async () => {
    const account = await new World().account();
    const { world } = account;
    const { id, token, browser } = await makeMember(account, 'approver');
    const add = async (name: string) => {
      const { body: options } = await browser.change('POST', '/console/me/passkeys/options');
      return browser.change('POST', '/console/me/passkeys', {
        name,
        response: await browser.authenticator.create(options),
      });
    };
    const list = async () => (await world.must(200, 'GET', '/v1/me/passkeys', { token })).body.data;
    const [first] = await list();
    const remove = (passkey: string) => browser.change('DELETE', `/console/me/passkeys/${passkey}`);
    expect(code(await remove(first.id))).toEqual([409, 'conflict']);
    world.advance(10 * MINUTE - 1);
    const { body: second, status } = await add('Phone');
    expect([status, second.name]).toEqual([201, 'Phone']);
    expect((await list()).map(({ name }: Json) => name)).toEqual(['Phone', 'Laptop']);
    expect((await browser.change('DELETE', `/console/me/passkeys/${first.id}`)).status).toBe(204);
    expect(code(await remove(first.id))).toEqual([404, 'not_found']);
    expect(code(await remove(second.id))).toEqual([409, 'conflict']);
    // The authenticator of the removed passkey may make a new one.
    const { body: options } = await browser.change('POST', '/console/me/passkeys/options');
    expect(options.excludeCredentials.map((credential: Json) => credential.id)).toEqual([
      second.id,
    ]);
    expect((await list()).map(({ name }: Json) => name)).toEqual(['Phone']);
    const { body } = await account.must(200, 'GET', `/v1/members/${id}`);
    expect(body.passkeys.map(({ name, removed_at }: Json) => [name, removed_at === null])).toEqual([
      ['Laptop', false],
      ['Phone', true],
    ]);
    expect(code(await browser.signIn({}, 0))).toEqual([401, 'unauthorized']);
    expect((await browser.signIn({}, 1)).status).toBe(201);
    world.advance(10 * MINUTE);
    for (const answer of [
      await remove(second.id),
      await browser.change('POST', '/console/me/passkeys/options'),
    ]) {
      expect(code(answer)).toEqual([401, 'unauthorized']);
    }
    expect(
      (await actions(account)).filter((action) => action.startsWith('passkey.')).toSorted(),
    ).toEqual(['passkey.added', 'passkey.added', 'passkey.removed']);
  });

  it('is refused when it is made if no decision could be signed with it', async () => {
    const account = await new World().account();
    const { browser } = await makeMember(account, 'approver');
    const add = async (tampering: Json) => {
      const { body: options } = await browser.change('POST', '/console/me/passkeys/options');
      const response = await browser.authenticator.create(options, tampering);
      return browser.change('POST', '/console/me/passkeys', { name: 'Long', response });
    };
    const credentialId = crypto.getRandomValues(new Uint8Array(1_023));
    expect((await add({ credentialId })).status).toBe(201);
    const refused = await add({ credentialId: credentialId.toReversed(), rsaBits: 4_096 });
    expect(code(refused)).toEqual([400, 'invalid_request']);
    expect(refused.body.detail).toContain('No decision could be signed with this passkey');
    expect((await add({ rsaBits: 4_096 })).status).toBe(201);
  });

  it('of another member cannot be removed, nor its challenge be answered', async () => {
    const account = await new World().account();
    const { world } = account;
    const [mine, other] = [await makeMember(account, 'admin'), await makeMember(account, 'admin')];
    const [foreign] = (await world.must(200, 'GET', '/v1/me/passkeys', { token: other.token })).body
      .data;
    expect(code(await mine.browser.change('DELETE', `/console/me/passkeys/${foreign.id}`))).toEqual(
      [404, 'not_found'],
    );
    const { body: options } = await other.browser.change('POST', '/console/me/passkeys/options');
    const response = await mine.browser.authenticator.create(options);
    const answer = await mine.browser.change('POST', '/console/me/passkeys', {
      name: 'Mine',
      response,
    });
    expect(code(answer)).toEqual([400, 'invalid_request']);
  });

  it('answers a challenge for adding it only once', async () => {
    const account = await new World().account();
    const { browser } = await makeMember(account, 'admin');
    const { body: options } = await browser.change('POST', '/console/me/passkeys/options');
    const send = async () =>
      browser.change('POST', '/console/me/passkeys', {
        name: 'Twice',
        response: await browser.authenticator.create(options),
      });
    expect((await send()).status).toBe(201);
    expect(code(await send())).toEqual([409, 'conflict']);
  });
});
