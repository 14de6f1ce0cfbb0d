import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { submitOnce } from '../../src/console/browser/submit-once';
import { describeMissingProof } from '../../src/console/browser/verify-missing';
import { Browser } from '../support/browser';
import { readText } from '../support/html';
import { awaitWindow } from '../support/limiter';
import { makeMember } from '../support/members';
import { type Answer, ORIGIN, World } from '../support/world';

const FORM = 'application/x-www-form-urlencoded';
const MIB = 1024 * 1024;

/** Sends a body as a page of the console does. */
function send(
  browser: Browser,
  path: string,
  raw: BodyInit,
  type = FORM,
  headers = {},
): Promise<Answer> {
  const all = { Origin: ORIGIN, Accept: 'text/html', 'Content-Type': type, ...headers };
  return browser.send('POST', path, { raw, headers: all });
}

/** A body whose length the request does not name. */
function stream(text: string): ReadableStream {
  return new Blob([text]).stream();
}

describe('the body of a change', () => {
  it.each([
    ['a form', '/console/agents', FORM],
    ['a form in capitals', '/console/agents', FORM.toUpperCase()],
    ['JSON', '/console/sign-in', 'application/json'],
    ['anything else', '/console/sign-in/options', 'text/plain'],
  ])('may have 1 MiB: %s', async (_, path, type) => {
    const browser = new Browser(new World());
    for (const raw of ['a&'.repeat(MIB), stream('a'.repeat(MIB + 1))]) {
      const answer = await send(browser, path, raw, type);
      expect([answer.status, readText(answer.text)]).toEqual([
        413,
        expect.stringContaining('Send at most 1 MiB'),
      ]);
      expect(answer.cost.trips).toBe(0);
    }
    expect((await send(browser, path, 'a'.repeat(MIB), type)).status).not.toBe(413);
  });

  it('may have 5,000 fields', async () => {
    const { browser } = await makeMember(await new World().account(), 'owner');
    const csrf = await browser.csrf();
    const fill = (fields: number) => `csrf=${csrf}&name=Mailer${'&a'.repeat(fields - 2)}`;
    const refused = await send(browser, '/console/agents', fill(5_001));
    expect([refused.status, readText(refused.text)]).toEqual([
      400,
      expect.stringContaining('must have at most 5,000 fields'),
    ]);
    expect((await send(browser, '/console/agents', fill(5_000))).status).toBeLessThan(400);
  });

  it('has no parts', async () => {
    const part = '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nMailer\r\n--x--\r\n';
    const answer = await send(
      new Browser(new World()),
      '/console/agents',
      part,
      'multipart/form-data; boundary=x',
    );
    expect(answer.status).toBe(415);
  });
});

describe('a page of a list that is not there', () => {
  it('says so to people, with a link to the first page, in every list', async () => {
    const account = await new World().account();
    const { browser } = await makeMember(account, 'owner');
    const list = { token: account.token, body: { url: 'https://example.com/hook' } };
    const { body: webhook } = await account.world.must(201, 'POST', '/v1/webhooks', list);
    const sections = [
      'activity',
      'agents',
      'audit',
      'exports',
      'members',
      'reports',
      `webhooks/${webhook.id}`,
    ];
    for (const path of ['/console', ...sections.map((section) => `/console/${section}`)]) {
      const headers = { Accept: 'text/html' };
      const { status, text, cost } = await browser.send(
        'GET',
        `${path}?status=pending&cursor=abc`,
        { headers },
      );
      expect([path, status, cost.trips <= 2]).toEqual([path, 400, true]);
      expect(readText(text)).toContain('This page of the list is no longer there');
      expect(text).toContain(`href="${path}?status=pending"`);
      expect(text).not.toMatch(/next_cursor|without a cursor/);
    }
  });
});

describe('a request of somebody who is not signed in', () => {
  const address = () => ({ 'CF-Connecting-IP': `203.0.113.7-${crypto.randomUUID()}` });
  const makeLimited = () =>
    new World({
      RATE_LIMITS: 'on',
      ADDRESS_LIMITER: env.LIMITER_OF_3,
      CREDENTIAL_LIMITER: env.ACCOUNT_LIMITER,
      ACCOUNT_LIMITER: env.ACCOUNT_LIMITER,
    });

  it('counts against its network if it has a cookie, or wants a change', async () => {
    await awaitWindow();
    const browser = new Browser(makeLimited());
    const headers = address();
    const statuses = [];
    for (let i = 0; i < 2; i++) {
      statuses.push((await send(browser, '/console/agents', 'name=Mailer', FORM, headers)).status);
      const cookie = `__Host-countersign=css_00${String(i).repeat(38)}`;
      statuses.push(
        (await browser.send('GET', '/console', { headers: { ...headers, Cookie: cookie } })).status,
      );
    }
    expect(statuses).toEqual([401, 302, 401, 429]);
  });

  it('does not count without a cookie if it loads a page', async () => {
    await awaitWindow();
    const browser = new Browser(makeLimited());
    const headers = address();
    for (let i = 0; i < 5; i++)
      expect((await browser.send('GET', '/console', { headers })).status).toBe(302);
  });
});

describe('a form of a session that has ended', () => {
  /** A page with a form that somebody left open. */
  async function leave() {
    const account = await new World().account();
    const { browser } = await makeMember(account, 'owner');
    const { text } = await browser.get('/console/agents/new');
    const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(text) ?? [];
    const [, sender = ''] = /name="sender" value="([^"]+)"/.exec(text) ?? [];
    const fields = { csrf, sender, name: 'Typed with care' };
    const count = async () => (await account.must(200, 'GET', '/v1/agents')).body.data.length;
    return { account, browser, fields, count };
  }
  const post = (browser: Browser, fields: Record<string, string>) =>
    send(browser, '/console/agents', new URLSearchParams(fields).toString());
  const hidden = ({ text }: Answer) =>
    Object.fromEntries(
      [
        ...text
          .slice(text.indexOf('<main'))
          .matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g),
      ].map(([, name, value]) => [name, value]),
    );

  it('is kept, and can be sent again after the sign-in', async () => {
    const { browser, fields, count } = await leave();
    browser.cookie = '';
    const ended = await post(browser, fields);
    expect([ended.status, readText(ended.text)]).toEqual([
      401,
      expect.stringContaining('Typed with care'),
    ]);
    expect(hidden(ended)).toEqual({ ...fields, csrf: '' });
    const lines = await post(browser, { ...fields, description: 'Reads\r\nand pays' });
    expect(lines.text).toContain('<bdi>Reads\nand pays</bdi>');
    await browser.signIn();
    const changed = await post(browser, hidden(ended));
    expect([changed.status, readText(changed.text)]).toEqual([
      403,
      expect.stringContaining('Send it again'),
    ]);
    expect(await count()).toBe(0);
    expect((await post(browser, hidden(changed))).status).toBeLessThan(400);
    expect(await count()).toBe(1);
  });

  it('gets the token of the new session by script, if the same person has signed in', async () => {
    const { account, browser, fields, count } = await leave();
    const load = (person: Browser, sender = fields.sender) =>
      person.send('GET', '/console/csrf-token', {
        headers: { Accept: 'application/json', 'X-Form-Sender': sender },
      });
    browser.cookie = '';
    const ended = await post(browser, fields);
    expect(ended.text).toContain('data-renew');
    expect((await load(browser)).status).toBe(401);
    await browser.signIn();
    const renewed = await load(browser);
    expect([renewed.status, renewed.headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(
      (await post(browser, { ...hidden(ended), csrf: renewed.body.csrf })).status,
    ).toBeLessThan(400);
    expect(await count()).toBe(1);
    const next = await makeMember(account, 'owner', 'grace@example.com');
    for (const [person, sender] of [
      [next.browser, fields.sender],
      [browser, ''],
    ] as const) {
      const refused = await load(person, sender);
      expect([refused.status, refused.body.code, refused.body.csrf]).toEqual([
        403,
        'wrong_credential',
        undefined,
      ]);
    }
  });

  it('cannot be sent by the next person who signs in', async () => {
    const { account, browser, fields, count } = await leave();
    const next = await makeMember(account, 'owner', 'grace@example.com');
    browser.cookie = '';
    const ended = await post(browser, fields);
    const token = await next.browser.makeToken();
    for (const [person, form] of [
      [next.browser, fields],
      [next.browser, hidden(ended)],
      [next.browser, { ...fields, sender: '' }],
    ] as const) {
      const answer = await post(person, form);
      expect([answer.status, readText(answer.text)]).toEqual([
        403,
        expect.stringMatching(/typed by somebody else.*Typed with care/),
      ]);
      expect(answer.text).not.toContain('Send it again');
      expect(hidden(answer)).toEqual({});
    }
    // A user token of the same member is the same person.
    const own = (await next.browser.get('/console/agents/new')).text;
    const sender = /name="sender" value="([^"]+)"/.exec(own)?.[1] ?? '';
    const byToken = new Browser(account.world);
    await byToken.signInWithToken(token);
    expect((await post(byToken, { name: 'Mailer', sender })).text).toContain('Send it again');
    expect(await count()).toBe(0);
  });

  it('is kept with at most 200 fields', async () => {
    const browser = new Browser(new World());
    const fill = (fields: number) =>
      send(browser, '/console/agents', `csrf=&sender=${'&a=1'.repeat(fields)}`);
    expect((await fill(200)).text).toContain('Send it again');
    const refused = await fill(201);
    expect([refused.status, refused.text.includes('name="a"')]).toEqual([401, false]);
  });
});

describe('somebody who is signed in', () => {
  it('is led back to the console from an address without a page', async () => {
    const { browser } = await makeMember(await new World().account(), 'owner');
    const accept = { headers: { Accept: 'text/html' } };
    const known = await browser.send('GET', '/console/nothing-here', accept);
    expect([known.status, readText(known.text)]).toEqual([
      404,
      expect.stringContaining('Back to the console'),
    ]);
    expect(known.text).not.toContain('href="/console/sign-in"');
    const unknown = await new Browser(browser.world).send('GET', '/console/nothing-here', accept);
    expect(unknown.text).toContain('href="/console/sign-in"');
  });

  it('keeps what was typed if there were too many requests, and can send it later', async () => {
    const world = new World({ RATE_LIMITS: 'off' });
    const account = await world.account();
    const { browser } = await makeMember(account, 'owner');
    const limited = new World({
      RATE_LIMITS: 'on',
      ...{
        ADDRESS_LIMITER: env.ACCOUNT_LIMITER,
        CREDENTIAL_LIMITER: env.LIMITER_OF_3,
        ACCOUNT_LIMITER: env.ACCOUNT_LIMITER,
      },
    });
    const csrf = await browser.csrf();
    const sender =
      /name="sender" value="([^"]+)"/.exec((await browser.get('/console/agents/new')).text)?.[1] ??
      '';
    await awaitWindow();
    const post = async (fields: Record<string, string>, path = '/console/agents') => {
      const raw = new URLSearchParams(fields).toString();
      const headers = {
        Cookie: browser.cookie,
        Origin: ORIGIN,
        Accept: 'text/html',
        'Content-Type': FORM,
      };
      for (let i = 0; i < 3; i++)
        await limited.call('GET', '/console/me', { headers: { Cookie: browser.cookie } });
      return limited.call('POST', path, { raw, headers });
    };
    const kept = await post({ name: 'Typed with care', csrf, sender });
    expect([kept.status, kept.headers.get('Retry-After')]).toEqual([429, '10']);
    expect(readText(kept.text)).toMatch(
      /too many requests, so nothing was changed.*Try again in 10 seconds.*Typed with care/i,
    );
    expect(kept.text).toContain(`name="csrf" value="${csrf}"`);
    expect(kept.text).not.toContain('href="/console/sign-in"');
    const secret = await post({ token: 'csu_secret', csrf: '' }, '/console/agents');
    expect([secret.status, secret.text.includes('csu_secret')]).toEqual([429, false]);
    expect(readText(secret.text)).toContain('Back to the console');
    expect(
      (await browser.submit('/console/agents', { name: 'Typed with care', csrf, sender })).status,
    ).toBeLessThan(400);
  });
});

describe('the script of the pages', () => {
  /** Submits a form; returns whether the browser sends it. */
  function submit(page: EventTarget, form: object): boolean {
    const event = new Event('submit', { cancelable: true });
    Object.defineProperty(event, 'target', { value: form });
    return page.dispatchEvent(event);
  }
  const makeForm = (method: string) => ({ getAttribute: () => method });

  it('sends a form once until the page is shown again', () => {
    const page = new EventTarget();
    page.addEventListener('submit', (event) => event.preventDefault(), { once: true });
    let isOffline = false;
    submitOnce(page, () => isOffline);
    const [form, other] = [makeForm('post'), makeForm('post')];
    // The first is held back, as a decision that has to be signed is, and sent afterwards.
    expect([submit(page, form), submit(page, form), submit(page, form)]).toEqual([
      false,
      true,
      false,
    ]);
    expect([submit(page, other), submit(page, other)]).toEqual([true, false]);
    page.dispatchEvent(new Event('pageshow'));
    expect(submit(page, form)).toBe(true);
    // A form that is held back can be sent once the connection is back.
    const offline = makeForm('post');
    isOffline = true;
    expect(submit(page, offline)).toBe(false);
    isOffline = false;
    expect([submit(page, offline), submit(page, offline)]).toEqual([true, false]);
    const filters = makeForm('get');
    expect([submit(page, filters), submit(page, filters)]).toEqual([true, true]);
  });

  it('says that an entry failed which should have been sealed', () => {
    const created = { created_at: '2026-01-31T12:00:00.000Z' };
    const at = (seconds: number) =>
      describeMissingProof(
        { code: 'conflict' },
        created,
        Date.parse(created.created_at) + seconds * 1_000,
      );
    expect(at(120)).toMatchObject({
      state: 'open',
      text: expect.stringContaining('Verify it then'),
    });
    const late = at(121);
    expect(late.state).toBe('failed');
    expect(late.text).toMatch(
      /^It should have been sealed by .*, and is not\. Ask the operator why\.$/,
    );
    expect(
      describeMissingProof({ code: 'unavailable', detail: 'Busy.' }, created, Date.now()).state,
    ).toBe('open');
  });
});
