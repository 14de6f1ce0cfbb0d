import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHROMIUM,
  callApi,
  joinByPasskey,
  type LocalConsole,
  makeUserToken,
  startConsole,
} from '../support/local/console';

/** The window of a phone. */
const PHONE = { width: 390, height: 844 };
/** How far a flick of the thumb moves the page. */
const FLICK = PHONE.height * 0.8;
/** A folder for screenshots, to look at them. */
const { PICTURES } = process.env;

const PAYOUTS = 24;
const OTHERS = 7;

describe.skipIf(!CHROMIUM)('an approver with 31 requests on a phone', () => {
  let local: LocalConsole;
  let token: string;
  let page: Page;
  let taps = 0;
  let flicks = 0;

  const call = (method: string, path: string, body?: object, credential = token) =>
    callApi(local.origin, { credential, method, path, body });

  /** Puts a finger on something, after as many flicks as it takes to see it. */
  async function tap(target: Locator): Promise<void> {
    for (;;) {
      const box = await target.boundingBox();
      if (!box) throw new Error(`the page does not show ${target}`);
      if (box.y >= 0 && box.y + box.height <= PHONE.height) break;
      flicks += 1;
      await page.evaluate(`scrollBy(0, ${Math.sign(box.y) * FLICK})`);
    }
    taps += 1;
    await target.tap();
  }

  /** The texts of the page that are not whole, because an element around them cuts them off. */
  const findCut = async (selector: string) =>
    (await page.evaluate(`
      [...document.querySelectorAll('${selector}')]
        .filter((text) => {
          const inner = text.getBoundingClientRect();
          const cuts = (around) => {
            const { display, overflow } = getComputedStyle(around);
            const box = around.getBoundingClientRect();
            const isInside = inner.left >= box.left - 1 && inner.right <= box.right + 1 &&
              inner.top >= box.top - 1 && inner.bottom <= box.bottom + 1;
            return display !== 'contents' && overflow !== 'visible' && !isInside;
          };
          for (let around = text; around; around = around.parentElement)
            if (cuts(around)) return true;
          return inner.width === 0;
        })
        .map((text) => text.textContent)`)) as string[];

  const picture = async (name: string) => {
    if (!PICTURES) return;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${PICTURES}/phone-${name}-${colorScheme}.png` });
    }
    await page.emulateMedia({ colorScheme: 'light' });
  };

  const pending = async () =>
    (await call('GET', '/v1/permissions?status=pending&limit=100')).data.length;

  beforeAll(async () => {
    local = await startConsole();
    const context = await local.browser.newContext();
    const owner = await context.newPage();
    await joinByPasskey(owner, await local.inviteOwner());
    token = await makeUserToken(owner, local.origin);
    const { invitation } = await call('POST', '/v1/members', {
      email: 'bea@example.com',
      role: 'approver',
    });
    const phone = await local.browser.newContext({
      viewport: PHONE,
      hasTouch: true,
      isMobile: true,
      reducedMotion: 'reduce',
    });
    page = await phone.newPage();
    await joinByPasskey(page, invitation.url);
    const payable = await call('POST', '/v1/agents', { name: 'Accounts payable' });
    const mailer = await call('POST', '/v1/agents', { name: 'Newsletter' });
    for (let i = 1; i <= PAYOUTS; i++) {
      await call(
        'POST',
        '/v1/permissions',
        {
          action: 'payout.send',
          resource: `account:supplier-${i}`,
          scope: { amount: i * 1_000, currency: 'EUR' },
          input: { amount: i * 1_000, to: `supplier-${i}` },
          preview: { title: `Pay supplier-${i}` },
        },
        payable.api_key,
      );
    }
    for (let i = 1; i <= OTHERS; i++)
      await call(
        'POST',
        '/v1/permissions',
        { action: 'mail.send', resource: `list:readers-${i}`, scope: { recipients: 40_000 + i } },
        mailer.api_key,
      );
  });

  afterAll(() => local?.stop());

  it('sees seven of them at once, each in two lines, with the amount and the target first', async () => {
    await page.goto(`${local.origin}/console`);
    await picture('inbox');
    const rows = await page.locator('.request').all();
    expect(rows).toHaveLength(PAYOUTS + OTHERS);
    const boxes = await Promise.all(rows.map((row) => row.boundingBox()));
    const seen = boxes.filter((box) => box && box.y + box.height <= PHONE.height);
    expect(seen.length).toBeGreaterThanOrEqual(7);
    for (const box of boxes) expect(box?.height).toBeLessThanOrEqual(96);
    expect(await rows[1]?.locator('.what > a').textContent()).toMatch(
      /^2,000 EUR\s+· account:supplier-2$/,
    );
    expect(await rows[1]?.locator('.by').textContent()).toBe('Accounts payable · payout.send');
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBe(PHONE.width);
  });

  it('decides all of them in at most 40 taps and 10 flicks', async () => {
    await page.goto(`${local.origin}/console`);
    await tap(page.locator('.pills a', { hasText: 'Accounts payable' }));
    await tap(page.locator('.request a').first());
    const bar = page.locator('.decision-bar');
    for (let i = 1; i <= PAYOUTS; i++) {
      await page.waitForURL(/permissions\/perm_/);
      await bar.locator('strong', { hasText: `${(i * 1_000).toLocaleString('en')} EUR` }).waitFor();
      // What is binding is in sight without a flick.
      for (const text of [`account:supplier-${i}`, 'What is binding']) {
        const box = await page.getByText(text).first().boundingBox();
        expect(box && box.y + box.height).toBeLessThan(PHONE.height - 60);
      }
      if (i <= 2) await picture(`card-${i}`);
      await tap(bar.getByRole('button', { name: i === 3 ? 'Skip' : 'Approve', exact: true }));
    }
    await page.waitForURL(/console\?agent_id=/);
    await page.getByText('Approved: 24,000 EUR · account:supplier-24').waitFor();
    await picture('decided');
    expect(await pending()).toBe(1 + OTHERS);
    await tap(page.locator('.pills a', { hasText: 'Newsletter' }));
    await page.waitForFunction("document.querySelectorAll('.request').length === 7");
    for (const box of await page.locator('.request input').all()) await tap(box);
    await picture('denying');
    const covered = (await page.locator('.deny-bar').boundingBox())?.height;
    expect(covered).toBeLessThanOrEqual(PHONE.height / 3);
    await tap(page.getByRole('button', { name: /^Deny the checked requests/ }));
    await page.getByText('7 requests denied.').waitFor();
    await picture('denied');
    expect(await pending()).toBe(1);
    console.log(`31 requests on a phone: ${taps} taps, ${flicks} flicks`);
    expect(taps).toBeLessThanOrEqual(40);
    expect(flicks).toBeLessThanOrEqual(10);
  });

  it('sees the whole name of the view that is open', async () => {
    await page.goto(`${local.origin}/console?outcome=unknown`);
    const tab = await page.locator('.tabs [aria-current]').boundingBox();
    expect(tab?.x).toBeGreaterThanOrEqual(0);
    expect((tab?.x ?? 0) + (tab?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
    expect(await page.evaluate('scrollY')).toBe(0);
  });

  it('sees it without the script too', async () => {
    const { cookies } = await page.context().storageState();
    const plain = await local.browser.newContext({ viewport: PHONE, javaScriptEnabled: false });
    await plain.addCookies(cookies);
    const other = await plain.newPage();
    for (const query of ['', '?for=others', '?status=expired', '?outcome=unknown']) {
      await other.goto(`${local.origin}/console${query}`);
      const tab = await other.locator('.tabs [aria-current]').boundingBox();
      expect([query, (tab?.x ?? -1) >= 0]).toEqual([query, true]);
      expect((tab?.x ?? 0) + (tab?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
    }
    await plain.close();
  });

  it('reads when and by whom something was decided', async () => {
    await page.goto(`${local.origin}/console?decided_by=me`);
    await picture('past');
    const rows = await page.locator('.request').all();
    expect(rows).toHaveLength(PAYOUTS + OTHERS - 1);
    for (const row of rows) {
      expect((await row.boundingBox())?.height).toBeLessThanOrEqual(96);
      expect(await row.locator('time').textContent()).toContain(String(new Date().getFullYear()));
    }
    expect(await findCut('.request time')).toEqual([]);
    expect(await findCut('.request .deciders')).toEqual([]);
  });

  it('reads the whole action, and groups in line with single requests', async () => {
    const { api_key } = await call('POST', '/v1/agents', {
      name: 'Deployments of the northern region',
    });
    const actions = ['repository.deploy.create', 'repository.environment.deploy.now', 'a.b'];
    const ids: string[] = [];
    for (const action of [...actions, 'a.c', 'a.c', 'a.c']) {
      const act = { action, resource: `repository:${action}`, scope: { amount: ids.length } };
      ids.push((await call('POST', '/v1/permissions', act, api_key)).id);
    }
    await page.goto(`${local.origin}/console`);
    await picture('actions');
    const group = page.locator('.alike summary');
    const rows = [...ids.slice(0, 3).map((id) => page.locator(`#${id}`)), group];
    for (const [index, row] of rows.entries()) {
      expect((await row.boundingBox())?.height).toBeLessThanOrEqual(96);
      expect(await row.locator('.by code').textContent()).toBe(actions[index] ?? 'a.c');
    }
    expect(await findCut('.by code')).toEqual([]);
    // The name of the agent gives way before the time, which has room beside most actions.
    expect(await findCut('.side time')).toHaveLength(1);
    const names = ['.what > a', '.what > a', '.what > a', '.name'];
    const starts = rows.map(async (row, i) => (await row.locator(names[i] ?? '').boundingBox())?.x);
    expect(new Set(await Promise.all(starts)).size).toBe(1);
    for (const id of ids) await call('POST', `/v1/permissions/${id}/deny`, {});
  });

  it('finds at the end what was set aside', async () => {
    const { id } = (await call('GET', '/v1/permissions?status=pending')).data[0];
    const { api_key } = await call('POST', '/v1/agents', { name: 'Late' });
    const late = await call('POST', '/v1/permissions', { action: 'a.b', resource: 'c:d' }, api_key);
    await page.goto(`${local.origin}/console`);
    const ids = await page.locator('.request').evaluateAll((rows) => rows.map((row) => row.id));
    expect(ids).toEqual([late.id, id]);
  });
});
