import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { copyProject } from './project.ts';
import { sayUntested } from './say-untested.ts';
import { freePort } from './service.ts';

/** The path of Chromium; undefined if it is not installed. */
export const CHROMIUM = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync);
if (!CHROMIUM) sayUntested('the console in a browser: Chromium is not installed');

/** A service that `npm start` runs, and a browser. */
export interface LocalConsole {
  origin: string;
  /** The operator token. */
  operator: string;
  browser: Browser;
  /** Makes an account, and returns the address of its owner's invitation. */
  inviteOwner(email?: string): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts a service in a folder of its own.
 * @param port the port of the service
 * @param variables settings of the service
 */
export async function startConsole(
  port: Promise<number> | number = freePort(),
  variables: Record<string, string> = {},
): Promise<LocalConsole> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-console-'));
  const state = copyProject(folder);
  const settings = join(folder, '.dev.vars');
  writeFileSync(
    settings,
    Object.entries(variables)
      .map(([name, value]) => `${name}="${value}"\n`)
      .join(''),
  );
  const env = {
    ...process.env,
    PORT: String(await port),
    CI: 'true',
    WRANGLER_SEND_METRICS: 'false',
  };
  const output = join(folder, 'service.log');
  const log = openSync(output, 'w');
  const service = spawn(process.execPath, [join(folder, 'src/tools/start.ts')], {
    cwd: folder,
    env,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  for (const deadline = Date.now() + 240_000; !existsSync(join(state, 'demo-account.json')); ) {
    if (Date.now() > deadline || service.exitCode !== null)
      throw new Error(`the service did not start: ${readFileSync(output, 'utf8')}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const origin = `http://localhost:${env.PORT}`;
  const operator = parseEnv(readFileSync(settings, 'utf8')).ADMIN_TOKEN ?? '';
  const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
  return {
    ...{ origin, operator, browser },
    inviteOwner: async (email = 'ada@example.com') => {
      const answer = await fetch(`${origin}/v1/admin/users`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${operator}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ email, name: 'Example Ltd' }),
      });
      const account = (await answer.json()) as { owner: { invitation: { url: string } } };
      return account.owner.invitation.url;
    },
    stop: async () => {
      await browser.close();
      const ended = new Promise((resolve) => service.once('exit', resolve));
      service.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

/** Gives a page's browser an authenticator that makes passkeys and signs without asking anybody. */
export async function addAuthenticator(page: Page): Promise<void> {
  const client = await page.context().newCDPSession(page);
  await client.send('WebAuthn.enable');
  await client.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
      },
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
}

/** Joins by an invitation, with a passkey. */
export async function joinByPasskey(page: Page, invitation: string): Promise<void> {
  await addAuthenticator(page);
  await page.goto(invitation);
  await page.click('text=Make a passkey and join');
  await page.waitForURL('**/console');
}

/** Sends a request to the API, and returns the JSON of its answer; undefined if that is empty. */
export async function callApi(
  origin: string,
  { credential, method, path, body }: ApiCall,
  // biome-ignore lint/suspicious/noExplicitAny: answers of the API
): Promise<any> {
  const answer = await fetch(origin + path, {
    method,
    headers: { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return text === '' ? undefined : JSON.parse(text);
}

interface ApiCall {
  credential: string;
  method: string;
  path: string;
  body?: object | undefined;
}

/** Makes a user token with every scope of the role, for the person who is signed in on a page. */
export async function makeUserToken(page: Page, origin: string): Promise<string> {
  await page.goto(`${origin}/console/me/tokens/new`);
  await page.getByLabel('Name', { exact: true }).fill('Terminal');
  for (const box of await page.getByRole('checkbox').all()) await box.check();
  await page.getByRole('button', { name: 'Make a user token' }).click();
  return (await page.textContent('#secret')) ?? '';
}
