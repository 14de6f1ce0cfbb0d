import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, type LocalConsole, startConsole } from '../support/local/console';

describe.skipIf(!CHROMIUM)('the console in Chromium', () => {
  let local: LocalConsole;
  let browser: Browser;
  let origin: string;

  beforeAll(async () => {
    local = await startConsole();
    ({ browser, origin } = local);
  });

  afterAll(() => local.stop());

  /** Opens a page in a browser of its own, with a virtual authenticator. */
  async function openPage(isUserVerified = true): Promise<Page> {
    // With motion, Chromium reports each transition between pages that it skips as an error.
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    const page = await context.newPage();
    const client = await context.newCDPSession(page);
    await client.send('WebAuthn.enable');
    await client.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified,
        automaticPresenceSimulation: true,
      },
    });
    return page;
  }

  const heading = (page: Page) => page.textContent('h1');

  it('lets a person join with a passkey, make a user token, sign out and sign in again', async () => {
    const page = await openPage();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (line) => line.type() === 'error' && faults.push(line.text()));
    const invitation = await local.inviteOwner();
    await page.goto(invitation);
    expect(await heading(page)).toBe('Join Example Ltd');
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console');

    await page.goto(`${origin}/console/me`);
    await page.click('text=Make a user token');
    await page.fill('input[name=name]', 'Terminal');
    await page.click('button:has-text("Make a user token")');
    const token = (await page.textContent('#secret')) ?? '';
    await page.click('button:has-text("Copy")');
    await page.locator('[data-copy]:not(:has-text("Copy"))').waitFor();
    const answer = await fetch(`${origin}/v1/me`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(((await answer.json()) as { member: object }).member).toMatchObject({
      role: 'owner',
      sign_in: ['passkey'],
    });

    await page.goto(`${origin}/console`);
    await page.click('text=Sign out');
    await page.waitForURL('**/console/sign-in');
    await page.click('text=Sign in with a passkey');
    await page.waitForURL('**/console');
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({
      name: 'countersign',
      httpOnly: true,
      secure: false,
      sameSite: 'Lax',
    });
    expect(faults).toEqual([]);

    await page.goto(invitation);
    expect(await heading(page)).toBe('This invitation is over');
    await page.context().close();
  });

  it('refuses a person whom the authenticator does not verify, and says what to do', async () => {
    const page = await openPage(false);
    await page.goto(await local.inviteOwner());
    await page.click('text=Make a passkey and join');
    await page.locator('#message:not(:empty)').waitFor();
    expect(await page.textContent('#message')).toContain('No passkey was used');
    await page.context().close();
  });

  it('ends the session in the browser when the member is signed out elsewhere, with a page that says so', async () => {
    const page = await openPage();
    await page.goto(await local.inviteOwner());
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console');
    const twin = await page.context().newPage();
    await twin.goto(`${origin}/console/me`);
    await page.click('text=Sign out');
    await page.waitForURL('**/console/sign-in');
    await twin.click('text=Sign out');
    await twin.waitForURL('**/console/sign-out');
    expect(await heading(twin)).toBe('Not sent yet');
    expect(await twin.textContent('main')).toContain('Your session has ended');
    await page.context().close();
  });

  it('says in the inbox and in the audit log that the session has ended, after a sign-out on another tab', async () => {
    const page = await openPage();
    await page.goto(await local.inviteOwner());
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console');
    const log = await page.context().newPage();
    await log.goto(`${origin}/console/audit`);
    const other = await page.context().newPage();
    await other.goto(`${origin}/console/me`);
    await other.click('text=Sign out');
    await other.waitForURL('**/console/sign-in');
    for (const [tab, name] of [
      [page, 'Inbox'],
      [log, 'Audit log'],
    ] as const) {
      await tab
        .getByText('Your session has ended: sign in again on a new tab')
        .waitFor({ timeout: 60_000 });
      expect(await heading(tab)).toContain(name);
      expect(await tab.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
    }
    await page.context().close();
  });

  it('sends a form that was kept when the session ended, at the first press after the sign-in on another tab', async () => {
    const page = await openPage();
    await page.goto(await local.inviteOwner());
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console');
    await page.goto(`${origin}/console/agents/new`);
    await page.fill('input[name=name]', 'Typed with care');
    const cookies = await page.context().cookies();
    await page.context().clearCookies();
    await page.click('button:has-text("Register")');
    await page.getByRole('button', { name: 'Send it again' }).click();
    await page.getByText('You are not signed in yet').waitFor();
    // The same person has signed in on another tab.
    await page.context().addCookies(cookies);
    await page.getByRole('button', { name: 'Send it again' }).click();
    await page.getByRole('heading', { name: /Typed with care/ }).waitFor();
    await page.context().close();
  });

  it('redirects from the IP address, to which no passkey can belong', async () => {
    const page = await openPage();
    await page.goto(`${origin.replace('localhost', '127.0.0.1')}/console/sign-in`);
    expect(page.url()).toBe(`${origin}/console/sign-in`);
    await page.context().close();
  });

  it.each([
    [320, 'light'],
    [1280, 'dark'],
  ] as const)('fits a window of %d pixels (%s)', async (width, colorScheme) => {
    const context = await browser.newContext({ viewport: { width, height: 700 }, colorScheme });
    const page = await context.newPage();
    for (const path of [await local.inviteOwner(), `${origin}/console/sign-in`]) {
      await page.goto(path);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
        width,
      );
    }
    await context.close();
  });
});
