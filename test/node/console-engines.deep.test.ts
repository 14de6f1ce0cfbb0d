import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Account } from '../support/engines/account';
import { chromium, firefox } from '../support/engines/puppeteer';
import type { BrowserOptions } from '../support/engines/tab';
import { Visitor } from '../support/engines/visitor';
import { webkit } from '../support/engines/webkit';
import {
  addAuthenticator,
  CHROMIUM,
  type LocalConsole,
  makeUserToken,
  startConsole,
} from '../support/local/console';
import { sayUntested } from '../support/local/say-untested';

const AXE = readFileSync(`${import.meta.dirname}/../../node_modules/axe-core/axe.min.js`, 'utf8');

/** A folder for screenshots, to look at them. */
const { PICTURES } = process.env;

const ENGINES = [chromium, firefox, webkit];
for (const { name, isInstalled } of ENGINES) {
  if (!isInstalled) sayUntested(`the console in ${name}: it is not installed`);
}

/** The look of a phone, and that of a notebook. */
const LOOKS = [
  [390, 'dark'],
  [1280, 'light'],
] as const;

/** In pixels: the height of a field, and what a finger needs at least. */
const FIELD = 40;
const BUTTON = 32;

/** What is on a page of the wrong size, or drawn by the browser in its own way. */
const ODD_CONTROLS = `[...document.querySelectorAll('main :is(input, select, button, .button)')]
  .filter((one) => one.checkVisibility() && !one.closest('.hidden'))
  .filter((one) => {
    const { height } = one.getBoundingClientRect();
    if (one.matches('button, .button')) return height < ${BUTTON};
    if (one.matches('[type=checkbox], [type=radio]'))
      return getComputedStyle(one).appearance !== 'none';
    return Math.abs(height - ${FIELD}) > 1;
  })
  .map((one) => one.outerHTML.slice(0, 200))`;

const WIDER = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(
  document.documentElement)`;

const VIOLATIONS = `axe.run().then(({ violations }) =>
  violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))`;

// The owner joins in Chromium, and makes the token with which the engines sign in.
describe.skipIf(!CHROMIUM)('the console in three engines', () => {
  let local: LocalConsole;
  let account: Account;

  beforeAll(async () => {
    local = await startConsole();
    const page = await (await local.browser.newContext()).newPage();
    await addAuthenticator(page);
    await page.goto(await local.inviteOwner());
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console');
    account = new Account(local.origin, await makeUserToken(page, local.origin));
    await account.fill();
  });

  afterAll(() => local?.stop());

  describe.each(ENGINES.filter(({ isInstalled }) => isInstalled))('$name', (engine) => {
    /** Opens the engine's browser. */
    async function open(look?: Partial<BrowserOptions>): Promise<Visitor> {
      const tab = await engine.open(look);
      await tab.resize(1280, 800);
      return new Visitor(tab, local.origin);
    }

    /** Opens a browser for one test. */
    async function openForTest(look?: Partial<BrowserOptions>): Promise<Visitor> {
      const visitor = await open(look);
      onTestFinished(() => visitor.tab.close());
      return visitor;
    }

    async function signIn(visitor: Visitor): Promise<void> {
      await visitor.go('/console/sign-in');
      await visitor.click('summary', 'Sign in with a user token');
      await visitor.fill('input[name=token]', account.token);
      await visitor.press('Sign in with the token');
      await visitor.until(`document.querySelector('h1').textContent.startsWith('Inbox')`);
    }

    const invite = (name: string) =>
      account.call('POST', '/v1/members', { email: `${name}@example.com`, role: 'approver' });

    it.runIf(engine.hasPasskeys)('joins, signs in and signs with a passkey', async () => {
      const visitor = await openForTest();
      await visitor.go((await invite(engine.name)).invitation.url);
      await visitor.press('Make a passkey and join');
      await visitor.until(`location.pathname === '/console'`);
      await visitor.press('Sign out');
      await visitor.press('Sign in with a passkey');
      await visitor.until(`location.pathname === '/console'`);
      const { id } = await account.ask();
      await visitor.go(`/console/permissions/${id}`);
      await visitor.press('Sign with passkey and approve');
      await visitor.see('Approved');
      const [entry] = (
        await account.call('GET', `/v1/audit?permission_id=${id}&event_type=approve`)
      ).data;
      expect(JSON.stringify(entry.details)).toContain('"signature"');
    });

    it.runIf(!engine.hasPasskeys)('says how to go on without passkeys', async () => {
      const visitor = await openForTest();
      await visitor.go((await invite(engine.name)).invitation.url);
      await visitor.press('Make a passkey and join');
      await visitor.see(
        'This browser cannot use passkeys. Open the page in a current Chrome, Edge, Firefox or Safari.',
      );
      await visitor.go('/console/sign-in');
      await visitor.press('Sign in with a passkey');
      await visitor.see('or sign in with a user token below.');
      await visitor.fill('input[name=token]', account.token);
      await visitor.press('Sign in with the token');
      await visitor.until(`document.querySelector('h1').textContent.startsWith('Inbox')`);
    });

    describe('for somebody who is signed in', () => {
      let visitor: Visitor;

      beforeAll(async () => {
        visitor = await open();
        await signIn(visitor);
      });

      afterAll(() => visitor?.tab.close());

      it('narrows the limits, approves and denies', async () => {
        const [first, second] = [await account.ask(), await account.ask()];
        await visitor.go('/console');
        await visitor.tab.click(`#${first.id} a`);
        await visitor.click('summary', 'Narrow the limits');
        await visitor.fill('input[name=limit-0]', '100');
        await visitor.click('label', 'grace');
        await visitor.fill('input[name=reason]', 'As agreed');
        await visitor.press('Approve');
        await visitor.see('Approved');
        expect(await account.read(first.id)).toMatchObject({
          status: 'approved',
          granted_scope: { amount: 100, recipients: ['ada'] },
          decision_reason: 'As agreed',
        });
        await visitor.go(`/console/permissions/${second.id}`);
        await visitor.press('Deny');
        await visitor.see('Denied');
        expect((await account.read(second.id)).status).toBe('denied');
      });

      it('works by keyboard, and shows and hides the keys', async () => {
        const { tab } = visitor;
        const { id } = await account.ask();
        await visitor.go('/console');
        await tab.press('Tab');
        await tab.press('?');
        const box = `(({ width, height }) => ({ width, height }))(
          document.querySelector('dialog[open]').getBoundingClientRect())`;
        expect(await visitor.until(box)).toMatchObject({
          width: expect.toSatisfy((width) => width <= 480),
          height: expect.toSatisfy((height) => height < 450),
        });
        // Over the dialog no other key counts.
        await tab.press('j');
        await tab.press('?');
        await visitor.until(`!document.querySelector('#keys').open`);
        await visitor.until(`(document.querySelector('#${id} a').focus(), true)`);
        await tab.press('e');
        await visitor.until(`location.pathname === '/console/permissions/${id}'`);
        await visitor.until(`document.activeElement.name === 'token_ttl'`);
        await tab.click('h1');
        await tab.press('d');
        await visitor.see('Denied');
        await tab.press('u');
        await visitor.until(`location.pathname === '/console'`);
      });

      it('saves a policy, whose form shows what belongs to its effect', async () => {
        const name = `Never in ${engine.name}`;
        await visitor.go('/console/policies/new');
        const isReviewShown = `document.querySelector('.only-review').checkVisibility()`;
        expect(await visitor.tab.evaluate(isReviewShown)).toBe(true);
        await visitor.tab.click('input[name=effect][value=deny]');
        expect(await visitor.tab.evaluate(isReviewShown)).toBe(false);
        await visitor.fill('input[name=name]', name);
        await visitor.fill('textarea[name=actions]', `${engine.name}.never`.toLowerCase());
        await visitor.fill('textarea[name=resources]', '*');
        await visitor.press('Save');
        await visitor.until(`!location.pathname.endsWith('/new')`);
        const { data } = await account.call('GET', '/v1/policies');
        expect(data).toContainEqual(expect.objectContaining({ name, effect: 'deny' }));
      });

      it('finds an entry in the log, and verifies it', async () => {
        await fetch(
          `${local.origin}/cdn-cgi/local/scheduled?cron=${encodeURIComponent('* * * * *')}`,
        );
        await visitor.go('/console/audit?event_type=approve');
        await visitor.until(`document.querySelectorAll('#entries tbody a').length > 0`);
        await visitor.tab.click('#entries tbody a');
        await visitor.press('Verify in this browser');
        await visitor.until(`document.querySelectorAll('.steps li').length > 2`);
        const steps = `document.querySelector('.steps').innerText`;
        expect(await visitor.tab.evaluate(steps)).not.toMatch(/failed|differs/);
      });

      it('saves quiet hours, and shows none where there are none', async () => {
        await account.call('PUT', '/v1/me/notifications', { quiet_hours: null });
        await visitor.go('/console/me');
        const isEmpty = `document.querySelector('[name=quiet_start]').matches('[data-empty]')`;
        expect(await visitor.tab.evaluate(isEmpty)).toBe(true);
        await visitor.set('[name=quiet_start]', '22:00');
        await visitor.set('[name=quiet_end]', '07:00');
        expect(await visitor.tab.evaluate(isEmpty)).toBe(false);
        await visitor.press('Save');
        await visitor.until(
          `document.querySelector('[name=quiet_start]').defaultValue === '22:00'`,
        );
      });
    });

    it('decides without JavaScript', async () => {
      const visitor = await openForTest({ javaScript: false });
      await signIn(visitor);
      const { id } = await account.ask();
      await visitor.go('/console');
      await visitor.tab.click(`#${id} a`);
      await visitor.press('Approve');
      await visitor.see('Approved');
      expect((await account.read(id)).status).toBe('approved');
    });

    it.each(LOOKS)('fits %i px, %s, and is accessible', async (width, colorScheme) => {
      const visitor = await openForTest({ colorScheme });
      const { tab } = visitor;
      await signIn(visitor);
      await tab.resize(width, 800);
      for (const [name, path] of Object.entries(account.paths)) {
        await visitor.go(path);
        await tab.evaluate(
          `document.querySelectorAll('details').forEach((one) => { one.open = true; })`,
        );
        await takePicture(visitor, `${engine.name}-${name}-${width}-${colorScheme}`);
        const overflow = await tab.evaluate(WIDER);
        expect([name, overflow]).toEqual([name, 0]);
        expect([name, await tab.evaluate(ODD_CONTROLS)]).toEqual([name, []]);
        await tab.evaluate(`(() => {${AXE}})()`);
        expect([name, await tab.evaluate(VIOLATIONS)]).toEqual([name, []]);
      }
    });
  });

  /** Writes a picture of the whole page. */
  async function takePicture({ tab }: Visitor, name: string): Promise<void> {
    if (!PICTURES) return;
    const size = '[innerWidth, innerHeight, document.documentElement.scrollHeight]';
    const [width, height, whole] = (await tab.evaluate(size)) as [number, number, number];
    await tab.resize(width, Math.max(height, whole));
    writeFileSync(`${PICTURES}/${name}.png`, await tab.screenshot());
    await tab.resize(width, height);
  }
});
