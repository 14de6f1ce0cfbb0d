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

/** Letters with more marks than fit a line, above, below and around them. */
const ZALGO = [...'pay me']
  .map((letter) => letter + '\u0310\u030d\u0489\u0323\u0359'.repeat(8))
  .join('');
const LOOKALIKE = 'p\u0430ypal';

const HOSTILE = {
  action: 'payment.send',
  resource: `account:${LOOKALIKE} ${ZALGO}`,
  reason: `${ZALGO} ${LOOKALIKE}\u200b`,
  scope: {
    'Times it may act': 1,
    'Time to act, from the approval': '1 minute',
    'payment › max': 5,
    payment: { max: 500_000 },
    [ZALGO]: ZALGO,
    [LOOKALIKE]: ['a\u00a0b', `\u202e${LOOKALIKE}`],
  },
  input: { [ZALGO]: ZALGO },
  preview: {
    title: `Pay ${LOOKALIKE} ${ZALGO}`,
    summary: `First ${ZALGO}\nand second ${ZALGO}`,
    fields: [{ label: `${LOOKALIKE} ${ZALGO}`, value: `240 EUR ${ZALGO}`, kind: 'money' }],
    blocks: [{ kind: 'text', title: ZALGO, text: ZALGO }],
  },
};

/** A folder for screenshots, to look at them. */
const PICTURES = process.env.PICTURES;

describe.skipIf(!CHROMIUM)('texts that mislead, in Chromium', () => {
  let local: LocalConsole;
  let token: string;
  let cookies: Parameters<ReturnType<Page['context']>['addCookies']>[0];
  let paths: string[];

  const call = (method: string, path: string, body?: object, credential = token) =>
    callApi(local.origin, { credential, method, path, body });

  beforeAll(async () => {
    local = await startConsole();
    const context = await local.browser.newContext();
    const page = await context.newPage();
    await joinByPasskey(page, await local.inviteOwner());
    token = await makeUserToken(page, local.origin);
    cookies = await context.cookies();
    const { api_key: key } = await call('POST', '/v1/agents', { name: `${LOOKALIKE} ${ZALGO}` });
    const plain = { action: 'mail.send', resource: 'mail:support', scope: { max_amount: 250 } };
    await call('POST', '/v1/permissions', plain, key);
    const { id } = await call('POST', '/v1/permissions', HOSTILE, key);
    await call('POST', '/v1/permissions', plain, key);
    paths = ['/console', `/console/permissions/${id}`];
  });

  afterAll(() => local.stop());

  /** Expects that hiding what each box contains changes nothing outside of the box. */
  async function expectInBoxes(page: Page, boxes: string): Promise<number> {
    // Boxes with boxes of their own are compared without them.
    const all = await page.locator(boxes).all();
    for (const box of all) {
      const options = { fullPage: true, mask: [box] };
      const before = await page.screenshot(options);
      await box.evaluate((element) => element.setAttribute('data-hidden-here', ''));
      const after = await page.screenshot(options);
      await box.evaluate((element) => element.removeAttribute('data-hidden-here'));
      expect([await box.textContent(), before.equals(after)]).toEqual([expect.anything(), true]);
    }
    return all.length;
  }

  it.each([
    [320, 'light'],
    [1280, 'dark'],
  ] as const)('no text paints outside its box at %i px, %s', async (width, colorScheme) => {
    const context = await local.browser.newContext({
      viewport: { width, height: 800 },
      colorScheme,
      bypassCSP: true,
    });
    await context.addCookies(cookies);
    const page = await context.newPage();
    await page.clock.install();
    for (const path of paths) {
      await page.clock.resume();
      await page.goto(local.origin + path);
      // From now on the page changes nothing by itself, neither times nor the list.
      await page.clock.pauseAt(Date.now() + 1_000);
      await page.evaluate(
        `document.querySelectorAll('details').forEach((one) => { one.open = true; })`,
      );
      await page.addStyleTag({
        content: '[data-hidden-here] * { visibility: hidden !important; }',
      });
      if (PICTURES) {
        const name = `${path === '/console' ? 'inbox' : 'card'}-${width}-${colorScheme}.png`;
        await page.screenshot({ path: `${PICTURES}/${name}`, fullPage: true });
      }
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
        path,
        width,
      ]);
      // Chromium draws a page of several thousand pixels in tiles, and their seams differ by a line:
      // the list is compared where it is narrow only.
      if (path === '/console' && width > 320) continue;
      const boxes =
        path === '/console'
          ? '.request'
          : 'main h1, .decision td, .decision tbody th, .decision .card';
      expect(await expectInBoxes(page, boxes)).toBeGreaterThan(2);
    }
    await context.close();
  });
});
