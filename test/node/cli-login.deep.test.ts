import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project.ts';
import {
  addAuthenticator,
  CHROMIUM,
  type LocalConsole,
  startConsole,
} from '../support/local/console';

describe.skipIf(!CHROMIUM)('countersign login with the console in Chromium', () => {
  const home = mkdtempSync(join(tmpdir(), 'countersign-login-'));
  const file = join(home, '.config/countersign/credentials.json');
  let local: LocalConsole;
  let page: Page;

  beforeAll(async () => {
    local = await startConsole();
    const context = await local.browser.newContext({ reducedMotion: 'reduce' });
    page = await context.newPage();
    await addAuthenticator(page);
    await page.goto(await local.inviteOwner());
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console');
  });

  afterAll(async () => {
    await local?.stop();
    rmSync(home, { recursive: true });
  });

  /** Runs the command; `onAddress` gets the address that it prints. */
  async function run(argv: string[], onAddress?: (address: string) => Promise<unknown>) {
    const env = { PATH: process.env.PATH, HOME: home };
    const child = spawn(
      process.execPath,
      [join(ROOT, 'src/packages/client/cli/main.ts'), ...argv],
      {
        env,
        stdio: 'pipe',
      },
    );
    const output = { stdout: '', stderr: '' };
    let visited: Promise<unknown> | undefined;
    child.stdout.on('data', (chunk: Buffer) => {
      output.stdout += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output.stderr += chunk;
      const [address] = /http\S+\/console\/pair\?\S+(?=\s)/.exec(output.stderr) ?? [];
      if (address) visited ??= onAddress?.(address);
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    await visited;
    return { code, ...output };
  }

  const press = (button: string) => async (address: string) => {
    await page.goto(address);
    await page.click(`button:has-text("${button}")`);
    await page.waitForURL('http://127.0.0.1:*/callback?**');
    return page.textContent('body');
  };

  it('signs in as the member who confirms, and logout revokes the token', async () => {
    const signedIn = await run(['login', '--url', local.origin, '--no-browser'], press('Confirm'));
    expect([signedIn.code, signedIn.stderr.includes('Signed in')], signedIn.stderr).toEqual([
      0,
      true,
    ]);
    const identity = JSON.parse(signedIn.stdout);
    expect(identity).toMatchObject({
      url: local.origin,
      credential: 'login',
      member: { role: 'owner' },
    });
    expect(identity.scopes).not.toContain('account:write');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { token } = JSON.parse(readFileSync(file, 'utf8')).services[local.origin];
    expect(token).toMatch(/^csu_/);
    expect(signedIn.stdout + signedIn.stderr).not.toContain(token);
    expect((await run(['agents', 'create', 'Mail assistant'])).code).toBe(0);

    expect((await run(['logout'])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).not.toContain(token);
    const answer = await fetch(`${local.origin}/v1/me`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(401);
    expect((await run(['whoami'])).stderr).toContain('countersign login');
  });

  it('tells plainly that the person denied', async () => {
    const denied = await run(['login', '--url', local.origin, '--no-browser'], press('Deny'));
    expect([denied.code, denied.stdout, denied.stderr.includes('You denied')]).toEqual([
      3,
      '',
      true,
    ]);
  });
});
