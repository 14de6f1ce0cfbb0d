import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  CHROMIUM,
  callApi,
  joinByPasskey,
  type LocalConsole,
  makeUserToken,
  startConsole,
} from '../support/local/console';

const AXE = readFileSync(`${import.meta.dirname}/../../node_modules/axe-core/axe.min.js`, {
  encoding: 'utf8',
});

/** The folder to which pictures of pages are written; none without it. */
const { PICTURES } = process.env;

interface Json {
  // biome-ignore lint/suspicious/noExplicitAny: answers of the API and results of axe
  [name: string]: any;
}

describe.skipIf(!CHROMIUM)('deciding in Chromium', () => {
  let local: LocalConsole;
  /** A user token of the owner. */
  let token: string;
  let agentKey: string;
  let cookies: Parameters<ReturnType<Page['context']>['addCookies']>[0];

  const call = (method: string, path: string, body?: object, credential = token) =>
    callApi(local.origin, { credential, method, path, body });

  let resources = 0;

  /** Asks for the action on a resource of its own, so that requests stand one by one in the inbox. */
  function ask(request: object = {}): Promise<Json> {
    resources += 1;
    const scope = { max_amount: 250, recipients: ['ada@example.com', 'grace@example.com'] };
    return call(
      'POST',
      '/v1/permissions',
      { action: 'mail.send', resource: `mail:${resources}`, scope, ...request },
      agentKey,
    );
  }

  beforeAll(async () => {
    local = await startConsole();
    const context = await local.browser.newContext();
    const page = await context.newPage();
    await joinByPasskey(page, await local.inviteOwner());
    token = await makeUserToken(page, local.origin);
    cookies = await context.cookies();
    agentKey = (await call('POST', '/v1/agents', { name: 'Mail assistant' })).api_key;
  });

  afterAll(() => local.stop());

  /** Opens a page of the owner, who is signed in; faults that the browser reports are collected. */
  async function open(options: Parameters<LocalConsole['browser']['newContext']>[0] = {}) {
    const context = await local.browser.newContext({
      viewport: { width: 1280, height: 800 },
      ...options,
    });
    await context.addCookies(cookies);
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (line) => line.type() === 'error' && faults.push(line.text()));
    return { context, page, faults };
  }

  const read = (id: string) => call('GET', `/v1/permissions/${id}`);

  it.each([true, false])(
    'approves with narrower limits and denies (JavaScript: %s)',
    async (javaScriptEnabled) => {
      const { context, page, faults } = await open({ javaScriptEnabled });
      const first = await ask({ preview: { title: 'Send invoice 118' } });
      const second = await ask({ preview: { title: 'Send invoice 119' } });
      await page.goto(`${local.origin}/console`);
      await page.locator('.request', { hasText: 'Send invoice 118' }).locator('a').click();
      await page.getByText('Narrow the limits').click();
      await page.getByLabel('max_amount').fill('100');
      await page.getByLabel('grace@example.com').uncheck();
      await page.getByLabel('Reason').fill('One hundred is enough');
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor();
      expect(await read(first.id)).toMatchObject({
        status: 'approved',
        granted_scope: { max_amount: 100, recipients: ['ada@example.com'] },
        decision_reason: 'One hundred is enough',
      });
      await page.goto(`${local.origin}/console/permissions/${second.id}`);
      await page.getByRole('button', { name: 'Deny', exact: true }).click();
      await page.getByRole('heading', { name: 'Denied', exact: true }).waitFor();
      expect((await read(second.id)).status).toBe('denied');
      expect(faults).toEqual([]);
      await context.close();
    },
  );

  it('decides 20 requests by keyboard alone', async () => {
    const { context, page, faults } = await open();
    const asked: Json[] = [];
    for (let i = 0; i < 20; i++) asked.push(await ask({ preview: { title: `Request ${i}` } }));
    await page.goto(`${local.origin}/console`);
    // Whoever comes from elsewhere has to touch the page before keys decide.
    await page.keyboard.press('Tab');
    for (let i = 0; i < 20; i++) {
      // To the first request of the inbox, and into it.
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/console/permissions/*');
      await page.keyboard.press(i % 2 === 0 ? 'a' : 'd');
      await page
        .getByRole('heading', { name: i % 2 === 0 ? 'Approved' : 'Denied', exact: true })
        .waitFor();
      await page.waitForLoadState();
      await page.keyboard.press('u');
      await page.waitForURL('**/console');
    }
    const decided = await Promise.all(asked.map(({ id }) => read(id)));
    expect(decided.filter(({ status }) => status === 'approved').length).toBe(10);
    expect(decided.filter(({ status }) => status === 'denied').length).toBe(10);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('does not approve when Enter is pressed in the field for the reason', async () => {
    const { context, page } = await open();
    const { id } = await ask();
    await page.goto(`${local.origin}/console/permissions/${id}`);
    await page.getByLabel('Reason').fill('Still thinking');
    await page.keyboard.press('Enter');
    await page.getByText('Narrow the limits').click();
    await page.getByLabel('Times it may act').press('Enter');
    expect((await read(id)).status).toBe('pending');
    await context.close();
  });

  it('does not decide by a key that is held down, or for somebody who was just sent there by another page', async () => {
    const { context, page } = await open();
    const { id } = await ask();
    await page.goto(`${local.origin}/console/permissions/${id}#approve`);
    await page.keyboard.press('a');
    expect(await readMessage(page)).toContain('You came here from another page');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.evaluate(
      `document.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', repeat: true, bubbles: true }))`,
    );
    expect((await read(id)).status).toBe('pending');
    await page.keyboard.press('d');
    await page.getByRole('heading', { name: 'Denied', exact: true }).waitFor();
    await context.close();
  });

  it('leaves keys alone while one types, and when they are switched off', async () => {
    const { context, page } = await open();
    const { id } = await ask();
    await page.goto(`${local.origin}/console/permissions/${id}`);
    await page.getByLabel('Reason').pressSequentially('a bad idea');
    await page.locator('h1').click();
    await page.keyboard.press('?');
    await page.getByText('Use these keys in this browser').click();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.keyboard.press('a');
    await page.reload();
    await page.keyboard.press('d');
    expect((await read(id)).status).toBe('pending');
    await context.close();
  });

  it('shows new requests by themselves, keeps what is checked, and the title has the count', async () => {
    const { context, page, faults } = await open();
    const first = await ask({ preview: { title: 'Already here' } });
    await page.goto(`${local.origin}/console`);
    await page.locator(`#${first.id} input[type=checkbox]`).check();
    await page.mouse.move(0, 0);
    const before = Number(/\((\d+)/.exec(await page.title())?.[1]);
    await ask({ preview: { title: 'Comes later' } });
    await page
      .locator('.request', { hasText: 'Comes later' })
      .locator('a')
      .waitFor({ timeout: 15_000 });
    expect(Number(/\((\d+)/.exec(await page.title())?.[1])).toBe(before + 1);
    expect(await page.locator(`#${first.id} input[type=checkbox]`).isChecked()).toBe(true);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('keeps the list still while the pointer moves over it', async () => {
    const { context, page } = await open();
    await page.clock.install();
    const { id } = await ask();
    await page.goto(`${local.origin}/console?order=newest`);
    const loads: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('part=list')) loads.push(request.url());
    });
    await page.locator(`#${id}`).hover();
    const next = await ask();
    await page.clock.runFor(11_000);
    expect(await page.evaluate('document.readyState')).toBe('complete');
    expect(loads).toEqual([]);
    await page.mouse.move(0, 0);
    await Promise.all([page.waitForResponse('**part=list**'), page.clock.runFor(11_000)]);
    await page.locator(`#${next.id}`).waitFor();
    await context.close();
  });

  it('denies several at once with a reason, which stays while the list updates itself', async () => {
    const { context, page, faults } = await open();
    const asked = [
      await ask({ preview: { title: 'Deny one' } }),
      await ask({ preview: { title: 'Deny two' } }),
    ];
    await page.goto(`${local.origin}/console?order=newest`);
    const reason = page.getByLabel('Reason for all checked requests');
    expect(await reason.isVisible()).toBe(false);
    const boxes = asked.map(({ id }) => page.locator(`#${id} input[type=checkbox]`));
    await boxes[0]?.check();
    await reason.fill('Not today');
    await boxes[1]?.check();
    await page.mouse.move(0, 0);
    await ask({ preview: { title: 'Comes while one types' } });
    await page
      .locator('.request', { hasText: 'Comes while one types' })
      .locator('a')
      .waitFor({ timeout: 15_000 });
    expect(await reason.inputValue()).toBe('Not today');
    await page.getByRole('button', { name: 'Deny the checked requests' }).click();
    await page.locator(`#${asked[0]?.id}`).waitFor({ state: 'detached' });
    expect(page.url()).toBe(`${local.origin}/console?order=newest`);
    const decided = await Promise.all(asked.map(({ id }) => read(id)));
    expect(decided.map(({ status, decision_reason }) => [status, decision_reason])).toEqual([
      ['denied', 'Not today'],
      ['denied', 'Not today'],
    ]);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('opens a group by the keys, keeps it open while the list updates itself, and denies it at once', async () => {
    const { context, page, faults } = await open();
    const alike = { action: 'refund.create', resource: 'shop:main' };
    const asked = [1, 2, 3].map((max) => ({ ...alike, scope: { max }, expires_in: 600 }));
    const ids: string[] = [];
    for (const request of asked) ids.push((await ask(request)).id);
    await page.goto(`${local.origin}/console`);
    const rows = ids.map((id) => page.locator(`#${id}`));
    expect(await rows[0]?.isVisible()).toBe(false);
    await page.keyboard.press('j');
    await page.keyboard.press('d');
    await rows[0]?.waitFor();
    const isFocused = `document.querySelector('#${ids[0]} a') === document.activeElement`;
    expect(await page.evaluate(isFocused)).toBe(true);
    await ask({ ...alike, scope: { max: 4 } });
    await page.getByText('4 like this').waitFor({ timeout: 15_000 });
    expect(await rows[2]?.isVisible()).toBe(true);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/permissions/*');
    await page.keyboard.press('u');
    await page.waitForURL('**/console');
    await rows[2]?.waitFor();
    await page.getByRole('button', { name: 'Deny all 4' }).click();
    await rows[0]?.waitFor({ state: 'detached' });
    for (const id of ids) expect((await read(id)).status).toBe('denied');
    expect(faults).toEqual([]);
    await context.close();
  });

  it('keeps what was checked in a refused denial while the list updates itself', async () => {
    const { context, page } = await open();
    const { id } = await ask();
    await page.goto(`${local.origin}/console`);
    await page.locator(`#${id} input[type=checkbox]`).check();
    await page.evaluate(`document.querySelector('#deny input[name=reason]').maxLength = 2000`);
    await page.locator('#deny input[name=reason]').fill('x'.repeat(1_001));
    await page.getByRole('button', { name: 'Deny the checked requests' }).click();
    await page.getByText('Correct the marked fields').waitFor();
    await ask({ preview: { title: 'Comes after the refusal' } });
    await page
      .locator('.request', { hasText: 'Comes after the refusal' })
      .locator('a')
      .waitFor({ timeout: 15_000 });
    expect(await page.locator(`#${id} input[type=checkbox]`).isChecked()).toBe(true);
    expect(await page.locator('#deny input[name=reason]').inputValue()).toBe('x'.repeat(1_001));
    await context.close();
  });

  it('says that the connection is lost, and goes on when it is back', async () => {
    const { context, page } = await open();
    await page.goto(`${local.origin}/console`);
    await context.setOffline(true);
    await page.locator('#connection:not(:empty)').waitFor({ timeout: 15_000 });
    expect(await page.locator('#connection').textContent()).toContain('no connection');
    await context.setOffline(false);
    await page.locator('#connection:empty').waitFor({ state: 'attached', timeout: 15_000 });
    await context.close();
  });

  it('holds a decision back while there is no connection, and keeps what was typed', async () => {
    const { context, page } = await open();
    const { id } = await ask();
    await page.goto(`${local.origin}/console/permissions/${id}`);
    await page.getByLabel('Reason').fill('Typed with care');
    await context.setOffline(true);
    await page.getByRole('button', { name: 'Deny', exact: true }).click();
    await page.getByText('There is no connection, so nothing was sent').waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe('Typed with care');
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Deny', exact: true }).click();
    await page.getByRole('heading', { name: 'Denied', exact: true }).waitFor();
    expect((await read(id)).decision_reason).toBe('Typed with care');
    await context.close();
  });

  it('switches the buttons of an open card off once its request is decided', async () => {
    const { context, page } = await open();
    const { id } = await ask();
    await page.goto(`${local.origin}/console/permissions/${id}`);
    await page.getByLabel('Reason').fill('Typed with care');
    await call('POST', `/v1/permissions/${id}/deny`, {});
    await page.getByText('This request was denied since you opened this page').waitFor();
    for (const name of ['Approve', 'Deny'])
      expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true);
    expect(await page.getByLabel('Reason').inputValue()).toBe('Typed with care');
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/card-ended.png`, fullPage: true });
    await context.close();
  });

  it('prints a card with everything open, and without the menu and buttons', async () => {
    const { context, page } = await open({ colorScheme: 'dark' });
    const { id } = await ask({ reason: 'The customer asked for it', input: { note: 'x' } });
    await call('POST', `/v1/permissions/${id}/approve`, {});
    await page.goto(`${local.origin}/console/permissions/${id}`);
    await page.emulateMedia({ media: 'print' });
    for (const hidden of ['#menu', '.top', 'button', '.button'])
      for (const part of await page.locator(hidden).all())
        expect([hidden, await part.isVisible()]).toEqual([hidden, false]);
    for (const text of ['Digest of the arguments', 'The customer asked for it', '"note": "x"'])
      expect(await page.getByText(text).first().isVisible()).toBe(true);
    const closed = await page.evaluate(
      '[...document.querySelectorAll("main details > :not(summary)")].filter((part) => !part.checkVisibility()).map((part) => part.outerHTML.slice(0, 200))',
    );
    expect(closed).toEqual([]);
    const back = await page.evaluate('getComputedStyle(document.body).color');
    expect(back).toBe('rgb(22, 25, 29)');
    if (PICTURES) await page.pdf({ path: `${PICTURES}/card.pdf` });
    await context.close();
  });

  it('keeps the files of a page in the browser', async () => {
    const { context, page } = await open();
    await page.goto(`${local.origin}/console`, { waitUntil: 'networkidle' });
    await page.goto(`${local.origin}/console/agents`, { waitUntil: 'networkidle' });
    const loads = await page.evaluate(
      'performance.getEntriesByType("resource").map((load) => [load.name.split("/").pop().split(".")[0], load.transferSize])',
    );
    expect(loads).toEqual(
      expect.arrayContaining([
        ['console', 0],
        ['htmx', 0],
      ]),
    );
    expect(loads).not.toContainEqual(['console', expect.not.closeTo(0)]);
    await context.close();
  });

  it('signs an approval with a passkey', async () => {
    const context = await local.browser.newContext();
    const page = await context.newPage();
    await joinByPasskey(page, await local.inviteOwner('signer@example.com'));
    const { api_key: key } = await call(
      'POST',
      '/v1/agents',
      { name: 'Mailer' },
      await makeUserToken(page, local.origin),
    );
    const { id } = await call(
      'POST',
      '/v1/permissions',
      { action: 'a.b', resource: 'x:y', scope: { max: 5 } },
      key,
    );
    await page.goto(`${local.origin}/console/permissions/${id}`);
    await page.getByText('Narrow the limits').click();
    await page.getByLabel('max', { exact: true }).fill('3');
    await page.getByRole('button', { name: 'Sign with passkey and approve' }).click();
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor();
    await expect.poll(() => page.textContent('main')).toContain('max53');
    await context.close();
  });

  /**
   * Waits for the message below the buttons, and expects that the window shows all of it, beside no
   * button.
   */
  async function readMessage(page: Page): Promise<string> {
    const message = page.locator('#message:not(:empty)');
    await message.waitFor();
    expect(await message.getAttribute('role')).toBe('alert');
    const place = await page.evaluate(`(() => {
      const box = (element) => element.getBoundingClientRect();
      const { top, bottom, left, right } = box(document.querySelector('#message'));
      const buttons = [...document.querySelectorAll('main button')].map(box);
      return {
        isInWindow: top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth,
        coversButton: buttons.some((other) => other.height > 0 && other.top < bottom && other.bottom > top && other.left < right && other.right > left),
      };
    })()`);
    expect(place).toEqual({ isInWindow: true, coversButton: false });
    return (await message.textContent()) ?? '';
  }

  it.each([
    ['at 1280 px', 1280, 100],
    ['at 320 px', 320, 100],
    ['with text of 200 %', 640, 200],
  ])('says below the buttons why nothing was signed, %s', async (_, width, percent) => {
    const { context, page } = await open({ viewport: { width, height: 700 }, bypassCSP: true });
    await page.addInitScript(
      `navigator.credentials.get = () => Promise.reject(new DOMException('Cancelled', 'NotAllowedError'))`,
    );
    const { id } = await ask({
      scope: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`limit_${i}`, i])),
    });
    await page.goto(`${local.origin}/console/permissions/${id}`);
    await page.addStyleTag({ content: `:root { font-size: ${percent}%; }` });
    await page.getByLabel('Reason').fill('Typed');
    const sign = page.getByRole('button', { name: 'Sign with passkey and deny' });
    await sign.click();
    expect(await readMessage(page)).toBe('No passkey was used. Try again when you are ready.');

    await context.clearCookies();
    await sign.click();
    await page.locator('#message a').waitFor();
    expect(await readMessage(page)).toBe(
      'Your session has ended: sign in again on a new tab. What you typed stays here.',
    );
    const link = page.locator('#message a');
    expect([await link.getAttribute('href'), await link.getAttribute('target')]).toEqual([
      '/console/sign-in',
      '_blank',
    ]);
    expect(await page.getByLabel('Reason').inputValue()).toBe('Typed');

    const other = await context.newPage();
    await other.goto(`${local.origin}/console/sign-in`);
    await other.click('summary');
    await other.fill('input[name=token]', token);
    await other.click('button:has-text("Sign in with the token")');
    await other.waitForURL('**/console');
    await sign.click();
    await page
      .locator('#message:has-text("You have signed in again since you opened the page")')
      .waitFor();
    expect((await read(id)).status).toBe('pending');
    await context.close();
  });

  it('shows a page that was signed out only after a new sign-in, also with the back button', async () => {
    const { context, page } = await open();
    const { id } = await ask({ preview: { title: 'Secret request' } });
    await page.goto(`${local.origin}/console/permissions/${id}`);
    await context.clearCookies();
    await page.goto(`${local.origin}/console/sign-in`);
    await page.goBack();
    expect(await page.textContent('body')).not.toContain('Secret request');
    await context.close();
  });

  const HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202Eevil';

  /**
   * Makes every kind of thing with texts that attack a page, and returns the paths of the pages
   * that show them.
   */
  async function makeHostilePages(): Promise<string[]> {
    const filter = { actions: ['mail.*', `x.${'x'.repeat(126)}`] };
    const channel = await call('POST', '/v1/channels', { kind: 'email', name: HOSTILE, filter });
    const { id: off } = await call('POST', '/v1/channels', {
      kind: 'email',
      name: 'W'.repeat(255),
      is_active: false,
    });
    const { id: message } = await call('POST', `/v1/channels/${channel.id}/test`, {});
    const states = [
      await ask({
        preview: {
          title: 'Send invoice 118',
          fields: [{ label: 'Amount', value: '240 EUR', kind: 'money' }],
        },
      }),
      await ask({
        ...{
          resource: `mail:${HOSTILE.replace('\u202E', '')}`,
          reason: HOSTILE,
          scope: { [HOSTILE]: 5, list: [HOSTILE, 'b'] },
          input: HOSTILE,
        },
        preview: {
          ...{ title: HOSTILE, summary: 'W'.repeat(10_000) },
          fields: [{ label: HOSTILE, value: 'V'.repeat(2_000) }],
          blocks: [{ kind: 'diff', text: `+${HOSTILE}\n-gone` }],
        },
      }),
      await ask({ preview: { title: 'إرسال الفاتورة إلى العميل', summary: 'مرحبا' } }),
    ];
    const [approved, denied] = [await ask(), await ask()];
    await call('POST', `/v1/permissions/${approved.id}/approve`, { reason: 'Fine' });
    await call('POST', `/v1/permissions/${denied.id}/deny`, {});
    const cards = [...states, approved, denied].map(({ id }) => `/console/permissions/${id}`);
    const lists = ['/console', '/console?status=approved', '/console?status=expired'];
    const { id: hostileAgent } = await call('POST', '/v1/agents', {
      name: HOSTILE,
      description: HOSTILE,
    });
    const policy = { name: HOSTILE, effect: 'review', actions: ['other.*'], resources: ['*'] };
    const { id: hostilePolicy } = await call('POST', '/v1/policies', policy);
    const [{ id: entry }] = (await call('GET', '/v1/audit?limit=1')).data;
    const [{ id: member }] = (await call('GET', '/v1/members?limit=1')).data;
    const pair = `/console/pair?${new URLSearchParams({
      redirect_uri: `http://127.0.0.1:49152/${'x'.repeat(100)}`,
      ...{
        state: 'x',
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
        name: HOSTILE,
      },
    })}`;
    const sections = [
      'agents',
      'policies',
      'exports',
      'reports',
      'webhooks',
      'channels',
      'members',
    ];
    const ofChannel = ['', '/edit', `/deliveries/${message}`].map(
      (end) => `/console/channels/${channel.id}${end}`,
    );
    // The channel has told its reviewers of the requests.
    const told = async () =>
      (await call('GET', `/v1/permissions/${states[0]?.id}/notifications`)).data;
    await vi.waitFor(async () => expect(await told()).not.toEqual([]), {
      timeout: 30_000,
      interval: 500,
    });
    return [
      ...lists,
      ...cards,
      ...[...ofChannel, `/console/channels/${off}`],
      ...sections.flatMap((section) => [`/console/${section}`, `/console/${section}/new`]),
      ...[
        `/console/agents/${hostileAgent}`,
        `/console/policies/${hostilePolicy}`,
        `/console/members/${member}`,
      ],
      ...[
        `/console/policies/new?permission=${states[1]?.id}`,
        `/console/audit/${entry}`,
        '/console/audit',
      ],
      ...[
        '/console/activity',
        '/console/me',
        '/console/me/tokens/new',
        '/console/sign-in',
        '/console/nothing-here',
        pair,
      ],
    ];
  }

  /**
   * Expects that the page fits the window, and breaks no rule of accessibility, with everything
   * unfolded.
   */
  async function expectSound(page: Page, path: string, width: number): Promise<void> {
    await page.goto(local.origin + path);
    await page.evaluate(
      `document.querySelectorAll('details').forEach((one) => { one.open = true; })`,
    );
    const overflow = await page.evaluate('document.documentElement.scrollWidth');
    expect([path, overflow]).toEqual([path, width]);
    await page.evaluate(AXE);
    const { violations } = (await page.evaluate('axe.run()')) as { violations: Json[] };
    const found = violations.map(({ id, nodes }) => [id, nodes.map((node: Json) => node.html)]);
    expect([path, width, found]).toEqual([path, width, []]);
  }

  describe('whatever the texts', () => {
    let paths: string[];

    beforeAll(async () => {
      paths = await makeHostilePages();
    });

    it.each([
      [320, 'light'],
      [375, 'dark'],
      [768, 'light'],
      [1280, 'dark'],
    ] as const)(
      'no page has a fault of accessibility or scrolls sideways at %i px, %s',
      async (width, colorScheme) => {
        const { context, page, faults } = await open({
          viewport: { width, height: 800 },
          colorScheme,
          bypassCSP: true,
        });
        const dialogs: string[] = [];
        page.on('dialog', (dialog) => dialogs.push(dialog.message()));
        for (const path of paths) await expectSound(page, path, width);
        expect(dialogs).toEqual([]);
        expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
        await context.close();
      },
    );
  });

  describe('the limits', () => {
    /** What an agent could choose to push the limits of a request out of sight. */
    const LONG = {
      [`maximum_amount_${'x'.repeat(54)}`]: 4_800,
      memo: 'v'.repeat(900),
      max_recipients: 3,
    };
    let paths: string[];

    beforeAll(async () => {
      const states = [await ask({ scope: LONG }), await ask({ scope: LONG })];
      await call('POST', `/v1/permissions/${states[1]?.id}/approve`, {
        scope: { ...LONG, max_recipients: 2 },
      });
      paths = states.map(({ id }) => `/console/permissions/${id}`);
    });

    it.each([1280, 768, 375, 320])(
      'and other requests are all in sight at %i px, however long they are',
      async (width) => {
        const { context, page } = await open({ viewport: { width, height: 800 } });
        for (const path of paths) {
          await page.goto(local.origin + path);
          const tables = await page.evaluate(
            `[...document.querySelectorAll('.table')].map(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)`,
          );
          expect([path, width, tables]).toEqual([path, width, [true, true, true]]);
          // No column is so narrow that its values are one character below the other.
          const narrowest = await page.evaluate(
            `Math.min(...[...document.querySelectorAll('.decision td')].map(({ offsetWidth }) => offsetWidth))`,
          );
          expect(narrowest).toBeGreaterThanOrEqual(72);
        }
        await context.close();
      },
    );

    it('and the audit list keep their columns in sight at 1280 px, however long a name is', async () => {
      const { context, page } = await open();
      const { api_key: key } = await call('POST', '/v1/agents', { name: 'W'.repeat(255) });
      const request = {
        action: `mail.${'a'.repeat(100)}`,
        resource: `mail:${'R'.repeat(200)}`,
        scope: {},
      };
      await call('POST', '/v1/permissions', request, key);
      await page.goto(`${local.origin}/console/audit`);
      await page.locator('#entries td:has-text("WWWW")').first().waitFor();
      const isInSight = `(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('#entries .table'))`;
      expect(await page.evaluate(isInSight)).toBe(true);
      await context.close();
    });

    it('have names whose words are whole on a phone', async () => {
      const { context, page } = await open({ viewport: { width: 375, height: 800 } });
      await page.goto(`${local.origin}${paths[0]}`);
      const lines = `[...document.querySelectorAll('.decision tbody th code')]
        .find(({ textContent }) => textContent === 'max_recipients')?.getClientRects().length`;
      expect(await page.evaluate(lines)).toBe(1);
      await context.close();
    });
  });

  it('scrolls nothing sideways with text of 200 %', async () => {
    const { context, page } = await open({ viewport: { width: 640, height: 800 } });
    const { id } = await ask();
    for (const path of ['/console', `/console/permissions/${id}`]) {
      await page.goto(local.origin + path);
      await page.addStyleTag({ content: ':root { font-size: 200%; }' }).catch(() => {});
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(640);
    }
    await context.close();
  });

  it('loads at most 100 KB at first, and 30 KB for a page after it', async () => {
    const { context, page } = await open();
    await ask();
    const client = await context.newCDPSession(page);
    await client.send('Network.enable');
    let bytes = 0;
    client.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.goto(`${local.origin}/console`, { waitUntil: 'networkidle' });
    const first = bytes;
    bytes = 0;
    await page.goto(`${local.origin}/console/me`, { waitUntil: 'networkidle' });
    console.log(`first load ${first} bytes, later page ${bytes} bytes`);
    expect(first).toBeLessThan(100 * 1024);
    expect(bytes).toBeLessThan(30 * 1024);
    await context.close();
  });
});
