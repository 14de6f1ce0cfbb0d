import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, type LocalConsole, startConsole } from '../support/local/console';
import { freePort } from '../support/local/service';
import { makeKey, makeSignInProvider } from '../support/provider';

describe.skipIf(!CHROMIUM)('the console in Chromium, with a real identity provider', () => {
  let local: LocalConsole;
  let provider: Server;
  let host: string;

  beforeAll(async () => {
    provider = createServer();
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const port = await freePort();
    const client = { id: 'console', secret: 'secret of the console: 50%' };
    const redirectUri = `http://localhost:${port}/console/oidc/callback`;
    provider.on(
      'request',
      makeSignInProvider(`http://${host}`, { ...client, redirectUri }, [await makeKey()]),
    );
    local = await startConsole(port, {
      OIDC_ISSUER: `http://${host}`,
      OIDC_CLIENT_ID: client.id,
      OIDC_CLIENT_SECRET: client.secret,
    });
  });

  afterAll(async () => {
    await local.stop();
    provider.close();
    provider.closeAllConnections();
  });

  /** Opens a page of the console in a browser of its own, and goes to the provider. */
  async function begin(address: string, button: string): Promise<{ page: Page; faults: string[] }> {
    const context = await local.browser.newContext();
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('console', (line) => {
      const isOwn = line.location().url.startsWith(local.origin);
      if (line.type() === 'error' && isOwn) faults.push(line.text());
    });
    await page.goto(address);
    await page.click(`button:has-text("${button} with ${host}")`);
    await page.waitForURL(`http://${host}/interaction/**`);
    return { page, faults };
  }

  /** Signs in at the provider, and consents. */
  async function signIn(page: Page, name: string): Promise<void> {
    await page.fill('input[name=login]', name);
    await page.fill('input[name=password]', 'any');
    await page.click('button[type=submit]');
    await page.click('text=Continue');
    await page.waitForURL(`${local.origin}/**`);
  }

  it('lets a new person sign in, sign out, and sign in again', async () => {
    const { page, faults } = await begin(`${local.origin}/console/sign-in`, 'Sign in');
    await signIn(page, 'grace@example.com');
    expect(page.url()).toBe(`${local.origin}/console`);
    await page.goto(`${local.origin}/console/me`);
    expect(await page.textContent('main')).toContain(`You can sign in with ${host}`);
    const names = (await page.context().cookies(local.origin)).map(({ name }) => name);
    expect(names).toEqual(['countersign']);
    await page.click('text=Sign out');
    await page.click(`button:has-text("Sign in with ${host}")`);
    await page.waitForURL('**/console');
    expect(await page.textContent('header')).toMatch(/Ada\s*owner · Ada/);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('lets an invited person join, and nobody else', async () => {
    const invitation = await local.inviteOwner('edsger@example.com');
    for (const name of ['eve@example.com', 'unverified@example.com']) {
      const { page } = await begin(invitation, 'Join');
      await signIn(page, name);
      const text = await page.textContent('main');
      for (const part of ['The invitation is for edsger@example.com', name])
        expect(text).toContain(part);
      await page.context().close();
    }
    const { page, faults } = await begin(invitation, 'Join');
    await signIn(page, 'edsger@example.com');
    await page.waitForURL('**/console');
    expect(await page.textContent('header')).toContain('owner · Example Ltd');
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('shows a page that says so to a person who declines', async () => {
    const { page } = await begin(`${local.origin}/console/sign-in`, 'Sign in');
    await page.click('text=Cancel');
    await page.waitForURL(`${local.origin}/**`);
    expect(await page.textContent('main')).toContain(`You were not signed in at ${host}.`);
    await page.context().close();
  });
});
