import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyProject } from '../support/local/project';
import { freePort } from '../support/local/service';

const PROGRAM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!PROGRAM) console.warn('the console is not tested in a browser: Chromium is not installed');

describe.skipIf(!PROGRAM)('the console in Chromium', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-console-'));
  let service: ChildProcess;
  let browser: Browser;
  let origin: string;
  let operator: string;

  beforeAll(async () => {
    const state = copyProject(folder);
    const port = await freePort();
    origin = `http://localhost:${port}`;
    const env = { ...process.env, PORT: String(port), CI: 'true', WRANGLER_SEND_METRICS: 'false' };
    service = spawn(process.execPath, [join(folder, 'src/dev/start.ts')], { cwd: folder, env, stdio: 'ignore' });
    for (const deadline = Date.now() + 120_000; !existsSync(join(state, 'demo-account.json')); ) {
      if (Date.now() > deadline || service.exitCode !== null) throw new Error('the service did not start');
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    operator = parseEnv(readFileSync(join(folder, '.dev.vars'), 'utf8')).ADMIN_TOKEN ?? '';
    browser = await chromium.launch({ executablePath: PROGRAM ?? '', args: ['--no-sandbox'] });
  }, 150_000);

  afterAll(async () => {
    await browser.close();
    const ended = new Promise((resolve) => service.once('exit', resolve));
    service.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 200 });
  });

  /** Opens a page in a browser of its own, with a virtual authenticator. */
  async function openPage(isUserVerified = true): Promise<Page> {
    const context = await browser.newContext();
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

  /** Makes an account, and returns the address of its owner's invitation. */
  async function inviteOwner(): Promise<string> {
    const answer = await fetch(`${origin}/v1/admin/users`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${operator}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', name: 'Example Ltd' }),
    });
    const account = (await answer.json()) as { owner: { invitation: { url: string } } };
    return account.owner.invitation.url;
  }

  const heading = (page: Page) => page.textContent('h1');

  it('lets a person join with a passkey, make a user token, sign out and sign in again', async () => {
    const page = await openPage();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (line) => line.type() === 'error' && faults.push(line.text()));
    const invitation = await inviteOwner();
    await page.goto(invitation);
    expect(await page.textContent('dl')).toContain('Example Ltd');
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console/me');

    await page.fill('input[name=name] >> nth=1', 'Terminal');
    await page.click('text=Make a user token');
    const token = (await page.textContent('code')) ?? '';
    const answer = await fetch(`${origin}/v1/me`, { headers: { Authorization: `Bearer ${token}` } });
    expect(((await answer.json()) as { member: object }).member).toMatchObject({ role: 'owner', sign_in: ['passkey'] });

    await page.goto(`${origin}/console`);
    await page.click('text=Sign out');
    await page.waitForURL('**/console/sign-in');
    await page.click('text=Sign in with a passkey');
    await page.waitForURL('**/console/me');
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: '__Host-countersign', httpOnly: true, secure: true, sameSite: 'Lax' });
    expect(faults).toEqual([]);

    await page.goto(invitation);
    expect(await heading(page)).toBe('This invitation is over');
    await page.context().close();
  });

  it('refuses a person whom the authenticator does not verify, and says what to do', async () => {
    const page = await openPage(false);
    await page.goto(await inviteOwner());
    await page.click('text=Make a passkey and join');
    await page.waitForFunction("document.querySelector('#message').textContent !== ''");
    expect(await page.textContent('#message')).toContain('No passkey was used');
    await page.context().close();
  });

  it('ends the session in the browser when the member is signed out elsewhere, with a page that says so', async () => {
    const page = await openPage();
    await page.goto(await inviteOwner());
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console/me');
    const twin = await page.context().newPage();
    await twin.goto(`${origin}/console/me`);
    await page.click('text=Sign out');
    await page.waitForURL('**/console/sign-in');
    await twin.click('text=Sign out');
    await twin.waitForURL('**/console/sign-out');
    expect(await heading(twin)).toBe('Unauthorized');
    expect(await twin.textContent('main')).toContain('Sign in again');
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
    for (const path of [await inviteOwner(), `${origin}/console/sign-in`]) {
      await page.goto(path);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    }
    await context.close();
  });
});
