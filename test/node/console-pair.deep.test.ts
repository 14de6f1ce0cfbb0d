import { createHash, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addAuthenticator,
  CHROMIUM,
  type LocalConsole,
  startConsole,
} from '../support/local/console';

/** A program that waits on loopback for the browser to come back. */
interface Program {
  /** The path of the page that asks for its pairing. */
  page: string;
  redirectUri: string;
  verifier: string;
  state: string;
  /** The query with which the browser came. */
  query: Promise<URLSearchParams>;
  server: Server;
}

describe.skipIf(!CHROMIUM)('pairing in Chromium', () => {
  let local: LocalConsole;
  let context: BrowserContext;
  let page: Page;
  const faults: string[] = [];
  const programs: Program[] = [];

  beforeAll(async () => {
    local = await startConsole();
    // With motion, Chromium reports each transition between pages that it skips as an error.
    context = await local.browser.newContext({ reducedMotion: 'reduce' });
    page = await context.newPage();
    page.on('console', (line) => {
      const isOwn = line.location().url.startsWith(local.origin);
      if (line.type() === 'error' && isOwn) faults.push(line.text());
    });
    await addAuthenticator(page);
    await page.goto(await local.inviteOwner());
    await page.click('text=Make a passkey and join');
    await page.waitForURL('**/console');
  });

  afterAll(async () => {
    for (const { server } of programs) {
      server.close();
      server.closeAllConnections();
    }
    await local.stop();
  });

  /** Begins a pairing as a program does that listens on an address of loopback. */
  async function begin(address = '127.0.0.1', name = address): Promise<Program> {
    let arrive: (query: URLSearchParams) => void = () => {};
    const query = new Promise<URLSearchParams>((resolve) => {
      arrive = resolve;
    });
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
      if (pathname === '/callback') arrive(searchParams);
      response.end('You can close this page.');
    });
    await new Promise<void>((resolve) => server.listen(0, address, resolve));
    const { port } = server.address() as AddressInfo;
    const redirectUri = `http://${name}:${port}/callback`;
    const [verifier, state] = [
      randomBytes(32).toString('base64url'),
      randomBytes(16).toString('base64url'),
    ];
    const parameters = new URLSearchParams({
      redirect_uri: redirectUri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      name: 'countersign on laptop',
    });
    const program = {
      page: `/console/pair?${parameters}`,
      redirectUri,
      verifier,
      state,
      query,
      server,
    };
    programs.push(program);
    return program;
  }

  async function exchange({ verifier, redirectUri }: Program, code: string | null) {
    const body = JSON.stringify({ code, code_verifier: verifier, redirect_uri: redirectUri });
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`${local.origin}/v1/pairing`, { method: 'POST', headers, body });
    return {
      status: answer.status,
      body: (await answer.json()) as { token: string; name: string },
    };
  }

  it('leads a person who is signed out through the sign-in to a token of the program', async () => {
    const program = await begin();
    await page.click('text=Sign out');
    await page.waitForURL('**/console/sign-in');
    await page.goto(local.origin + program.page);
    expect(new URL(page.url()).pathname).toBe('/console/sign-in');
    await page.click('text=Sign in with a passkey');
    await page.waitForURL(local.origin + program.page);
    expect(await page.textContent('main')).toContain('countersign on laptop');
    await page.click('button:has-text("Confirm")');
    const query = await program.query;
    await page.waitForURL(`${program.redirectUri}?**`);
    expect(query.get('state')).toBe(program.state);
    const { status, body } = await exchange(program, query.get('code'));
    expect([status, body.name]).toEqual([201, 'countersign on laptop']);
    const me = await fetch(`${local.origin}/v1/me`, {
      headers: { Authorization: `Bearer ${body.token}` },
    });
    expect(((await me.json()) as { member: object }).member).toMatchObject({ role: 'owner' });
    expect((await exchange(program, query.get('code'))).status).toBe(400);
    await page.goto(`${local.origin}/console/me`);
    expect(await page.textContent('main')).toContain('countersign on laptop');
    expect(faults).toEqual([]);
  });

  it.each([
    ['127.0.0.1', 'localhost'],
    ['::1', '[::1]'],
  ])('comes back to %s as %s, also with a denial', async (address, name) => {
    for (const [button, parameter] of [
      ['Confirm', 'code'],
      ['Deny', 'error'],
    ]) {
      const program = await begin(address, name);
      await page.goto(local.origin + program.page);
      await page.click(`button:has-text("${button}")`);
      const query = await program.query;
      expect([...query.keys()]).toEqual([parameter, 'state']);
      await page.waitForURL(`${program.redirectUri}?**`);
    }
    expect(faults).toEqual([]);
  });

  it('works without JavaScript', async () => {
    const program = await begin();
    const plain = await local.browser.newContext({ javaScriptEnabled: false });
    await plain.addCookies(await context.cookies(local.origin));
    const silent = await plain.newPage();
    await silent.goto(local.origin + program.page);
    await silent.click('button:has-text("Confirm")');
    expect((await exchange(program, (await program.query).get('code'))).status).toBe(201);
    await plain.close();
  });
});
