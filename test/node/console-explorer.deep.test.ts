import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHROMIUM,
  callApi,
  joinByPasskey,
  type LocalConsole,
  makeUserToken,
  startConsole,
} from '../support/local/console';

/** A folder for screenshots, to look at them. */
const { PICTURES } = process.env;
const SIZES = { phone: { width: 390, height: 844 }, desk: { width: 1280, height: 900 } };
/** How many entries are newer than the one that the search finds: more than one page examines. */
const NEWER = 1_600;
const ZONE = 'Asia/Tokyo';

describe.skipIf(!CHROMIUM)('the audit explorer in Chromium', () => {
  let local: LocalConsole;
  let page: Page;
  let token: string;
  let keys: string[];

  const call = (method: string, path: string, body?: object, credential = token) =>
    callApi(local.origin, { credential, method, path, body });

  const picture = async (name: string) => {
    if (!PICTURES) return;
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const path = `${PICTURES}/${name}-${size}-${colorScheme}.png`;
        await page.screenshot({ path, fullPage: true });
      }
    }
    await page.setViewportSize(SIZES.desk);
    await page.emulateMedia({ colorScheme: 'light' });
  };

  /** How many entries the page lists. */
  const rows = () => page.locator('#entries tbody tr').count();

  const ask = (index: number, resource: string, scope: object, action = 'payout.send') =>
    call('POST', '/v1/permissions', { action, resource, scope }, keys[index]);

  beforeAll(async () => {
    local = await startConsole();
    const context = await local.browser.newContext({
      reducedMotion: 'reduce',
      timezoneId: ZONE,
      viewport: SIZES.desk,
    });
    page = await context.newPage();
    await joinByPasskey(page, await local.inviteOwner());
    token = await makeUserToken(page, local.origin);
    keys = [];
    for (const name of ['Accounts payable', 'Newsletter'])
      keys.push((await call('POST', '/v1/agents', { name })).api_key);
    await ask(0, 'account:rare', { amount: 77, currency: 'EUR' });
    const policy = { name: 'Mails', effect: 'deny', actions: ['mail.*'], resources: ['*'] };
    await call('POST', '/v1/policies', policy);
    for (let i = 0; i < NEWER / 2; i += 20) {
      const some = Array.from({ length: 20 }, (_, at) =>
        ask(1, `list:readers-${i + at}`, { recipients: 40_000 + i + at }, 'mail.send'),
      );
      await Promise.all(some);
    }
    for (let i = 1; i <= 12; i++) {
      const scope = { amount: i * 1_000, currency: 'EUR' };
      const { id } = await ask(0, `account:supplier-${i % 4}`, scope);
      if (i === 12) continue;
      const [decision, body] =
        i % 5 ? ['approve', { scope: { ...scope, amount: i * 900 } }] : ['deny', {}];
      await call('POST', `/v1/permissions/${id}/${decision}`, body);
    }
  });

  afterAll(() => local?.stop());

  it('answers a question in three steps: open the log, open the filter, show', async () => {
    await page.goto(`${local.origin}/console`);
    await page.click('nav >> text=Audit log');
    await picture('log');
    await page.click('summary:has-text("Filter")');
    await page.getByLabel('Event').selectOption('approve');
    await page.getByLabel('Resource').fill('account:supplier-*');
    await page.getByLabel('Amount, at least').fill('3000');
    await page.getByLabel('Amount, at most').fill('9000');
    await page.getByLabel('When').selectOption('today');
    await picture('filter');
    await page.click('button:has-text("Show")');
    await page.waitForURL('**scope_min=3000**');
    // 900 times 4, 6, 7, 8 and 9: the granted amounts, without what was denied.
    expect(await rows()).toBe(5);
    expect(await page.textContent('.chips')).toContain(`Today, by the clocks of ${ZONE}`);
    await picture('answer');
    await page.click('#entries a.filter:has-text("supplier-3")');
    expect(await page.textContent('.chips')).toContain('Resource: account:supplier-3');
  });

  it('has a date and a usual resource on one line each, and cuts a long one after three', async () => {
    const long = `https://git.example/${'deployments-of-the-north/'.repeat(9)}end`;
    await ask(0, long, { amount: 7 }, 'repository.deployment.create');
    await page.goto(`${local.origin}/console/audit`);
    await picture('table');
    const linesOf = (selector: string) =>
      page
        .locator(selector)
        .evaluateAll((texts) =>
          texts.map((text) => Math.round(text.getBoundingClientRect().height / 21)),
        );
    expect(new Set(await linesOf('#entries time'))).toEqual(new Set([1]));
    const [first, ...others] = await linesOf('#entries .resource bdi');
    expect([first, new Set(others)]).toEqual([3, new Set([1])]);
    expect(await page.locator('#entries .resource bdi').first().getAttribute('title')).toBe(long);
    const scrolls = 'document.querySelector(".stacks").scrollWidth - innerWidth';
    expect(await page.evaluate(scrolls)).toBeLessThan(0);
  });

  it('names the time zone of an entry', async () => {
    await page.goto(`${local.origin}/console/audit`);
    await page.click('#entries tbody th a');
    await page.waitForURL('**/audit/audit_*');
    await picture('entry');
    const times = await page.locator('main time').allTextContents();
    expect(times.length).toBeGreaterThanOrEqual(2);
    for (const time of times) expect(time).toMatch(/ GMT\+9$/);
  });

  it('shows a period with one press, on the clocks of the browser', async () => {
    await page.goto(`${local.origin}/console/audit?action=payout.send`);
    await page.click('button:has-text("This week")');
    await page.waitForURL('**period=week**');
    const { searchParams } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({
      action: 'payout.send',
      period: 'week',
      zone: ZONE,
    });
    expect(await page.locator('[aria-current="true"]').allTextContents()).toContain('This week');
  });

  it('searches on by itself until it has found the entry', async () => {
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    await page.goto(`${local.origin}/console/audit?resource=account:rare`);
    await page.locator('#entries >> text=All entries were looked at. 1 entry matches.').waitFor();
    expect(await rows()).toBe(1);
    await picture('found');
    const [time] = await page.locator('#entries time').allTextContents();
    expect(time).not.toContain('UTC');
    expect(faults).toEqual([]);
    await page.route('**/console/audit?**part=further**', (route) => route.abort());
    await page.goto(`${local.origin}/console/audit?resource=account:rare`);
    await page.locator('.further').waitFor();
    await picture('stopped');
    await page.unroute('**/console/audit?**part=further**');
    await page.click('text=Look further');
    await page.waitForURL('**cursor=**');
    expect(await rows()).toBe(1);
  });

  it('lists what the reader decided', async () => {
    await page.goto(`${local.origin}/console?decided_by=me`);
    await picture('decided');
    await page.goto(`${local.origin}/console?status=approved`);
    await picture('approved');
  });
});
