import { createECDH, type ECDH, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import ece from 'http_ece';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHROMIUM,
  callApi,
  joinByPasskey,
  type LocalConsole,
  makeUserToken,
  startConsole,
} from '../support/local/console';
import type { Json } from '../support/world';

/** Stands for the push service of a browser, which Chromium cannot reach here. */
class PushService {
  readonly messages: string[] = [];
  readonly ecdh: ECDH = createECDH('prime256v1');
  readonly auth = randomBytes(16);
  private readonly server: Server;

  constructor() {
    this.ecdh.generateKeys();
    this.server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const keys = { privateKey: this.ecdh, authSecret: this.auth };
      const plain = ece.decrypt(Buffer.concat(chunks), { version: 'aes128gcm', ...keys });
      this.messages.push(plain.toString());
      response.writeHead(201).end();
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  stop(): void {
    this.server.close();
  }

  /** What a subscription of the browser holds. */
  get subscription() {
    const { port } = this.server.address() as AddressInfo;
    return {
      endpoint: `http://localhost:${port}/send/phone`,
      keys: {
        p256dh: this.ecdh.getPublicKey('base64url'),
        auth: this.auth.toString('base64url'),
      },
    };
  }

  /** The next message. */
  async message(): Promise<string> {
    await expect.poll(() => this.messages.length, { timeout: 20_000 }).toBeGreaterThan(0);
    return this.messages.shift() ?? '';
  }
}

describe.skipIf(!CHROMIUM)('a person hears of requests', () => {
  const service = new PushService();
  let local: LocalConsole;

  beforeAll(async () => {
    await service.start();
    local = await startConsole(undefined, { WEBHOOK_ALLOW_INSECURE: 'on' });
  });

  afterAll(async () => {
    await local.stop();
    service.stop();
  });

  const api = (method: string, path: string, credential: string, body?: object) =>
    callApi(local.origin, { credential, method, path, body });

  /** A page of an owner who has just joined. */
  async function join(context: BrowserContext, email: string): Promise<Page> {
    const page = await context.newPage();
    await joinByPasskey(page, await local.inviteOwner(email));
    return page;
  }

  it('by notifications while a page is open but out of sight, if they chose that', async () => {
    const context = await local.browser.newContext();
    await context.grantPermissions(['notifications']);
    const page = await join(context, 'open@example.com');
    const token = await makeUserToken(page, local.origin);
    const agent = await api('POST', '/v1/agents', token, { name: 'Accounts payable' });
    const ask = (resource: string) =>
      api('POST', '/v1/permissions', agent.api_key, { action: 'payout.send', resource });
    await context.addInitScript(
      `window.shown = [];
      window.Notification = class {
        static permission = 'granted';
        static requestPermission = async () => 'granted';
        constructor(title) { window.shown.push(title); }
      };
      Object.defineProperty(document, 'hidden', { get: () => true });`,
    );
    await page.clock.install();
    await page.goto(`${local.origin}/console/me`);
    const asked = () => page.waitForResponse('**/console/waiting');
    await Promise.all([asked(), page.click('text=Notify me while a page is open')]);
    for (const [resource, title] of [
      ['supplier:1', 'A request waits for you'],
      ['supplier:2', '2 requests wait for you'],
    ] as const) {
      await ask(resource);
      const newest = async () => {
        await Promise.all([asked(), page.clock.runFor(30_000)]);
        return page.evaluate('window.shown.at(-1)');
      };
      await expect.poll(newest, { timeout: 20_000 }).toBe(title);
    }
    expect(await page.locator('[data-waiting-count]').textContent()).toBe('2');
    await page.click('text=Stop the notifications of open pages');
    await page.locator('text=Notify me while a page is open').waitFor();
    expect(await page.evaluate('localStorage.getItem("countersign-notify")')).toBeNull();
    await context.close();
  });

  it('beside Inbox in the menu, which follows the list', async () => {
    const context = await local.browser.newContext();
    const page = await join(context, 'menu@example.com');
    const token = await makeUserToken(page, local.origin);
    await page.goto(`${local.origin}/console`);
    const count = page.locator('[data-waiting-count]');
    expect(await count.isVisible()).toBe(false);
    const agent = await api('POST', '/v1/agents', token, { name: 'Accounts payable' });
    await api('POST', '/v1/permissions', agent.api_key, {
      action: 'payout.send',
      resource: 'supplier:2',
    });
    await count.waitFor({ timeout: 20_000 });
    expect([await page.title(), await count.textContent()]).toEqual([
      '(1) Inbox · Countersign',
      '1',
    ]);
    await page.goto(`${local.origin}/console/agents`);
    expect(await count.textContent()).toBe('1');
  });

  it('on no device where the browser blocks notifications', async () => {
    const context = await local.browser.newContext({ permissions: [] });
    const page = await join(context, 'denied@example.com');
    await page.addInitScript(() =>
      Object.defineProperty((globalThis as Json).Notification, 'permission', {
        get: () => 'denied',
      }),
    );
    await page.goto(`${local.origin}/console/me`);
    const section = page.locator('#push');
    await section.getByText('This browser blocks notifications').waitFor();
    expect(await section.getByRole('button').isVisible()).toBe(false);
  });

  it('on devices that the page lists without scripts', async () => {
    const context = await local.browser.newContext();
    const page = await join(context, 'scripts@example.com');
    const cookies = await context.cookies();
    const plain = await local.browser.newContext({ javaScriptEnabled: false });
    await plain.addCookies(cookies);
    const still = await plain.newPage();
    await still.goto(`${local.origin}/console/me`);
    expect(await still.locator('#push h2').textContent()).toBe('Notifications on my devices');
    expect(await still.locator('#push').getByRole('button').count()).toBe(0);
    await page.close();
  });

  it('on a device, whose service worker shows them and opens the card', async () => {
    const { origin } = local;
    const context = await local.browser.newContext({ permissions: ['notifications'] });
    const page = await join(context, 'ada@example.com');
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (line) => line.type() === 'error' && faults.push(line.text()));
    await page.addInitScript(stubPush, service.subscription);
    const client = await context.newCDPSession(page);
    const registration = new Promise<string>((resolve) =>
      client.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const [found] = registrations;
        if (found) resolve(found.registrationId);
      }),
    );
    await client.send('ServiceWorker.enable');
    const token = await makeUserToken(page, origin);
    await page.goto(`${origin}/console/me`);
    const section = page.locator('#push');
    expect(await section.getByLabel('Name of this device').inputValue()).toBe('Chrome on Linux');
    await section.getByLabel('Name of this device').fill('Ada’s phone');
    await section.getByRole('button', { name: 'Notify me on this device' }).click();
    await section.getByText('You are notified on this device.').waitFor();
    expect(await section.getByRole('listitem').textContent()).toContain('Ada’s phone');

    const agent = await api('POST', '/v1/agents', token, { name: 'Accounts payable' });
    const { id, expires_at } = await api('POST', '/v1/permissions', agent.api_key, {
      action: 'payout.send',
      resource: 'supplier:2',
      scope: { amount: 2_000, currency: 'EUR' },
      input: { iban: 'secret' },
    });
    const data = await service.message();
    expect(data).not.toContain('secret');
    const registrationId = await registration;
    await client.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data });
    const shown = () =>
      page.evaluate(async () => {
        const { serviceWorker } = navigator as Json;
        const found = await serviceWorker.getRegistration('/console/assets/x');
        const [first] = (await found?.getNotifications()) ?? [];
        return first && { title: first.title, body: first.body, tag: first.tag };
      });
    await expect.poll(shown, { timeout: 30_000 }).toBeTruthy();
    const { title, body, tag } = (await shown()) ?? {};
    expect([title, tag]).toEqual(['Decision needed: payout.send', id]);
    const lines = body?.split('\n') ?? [];
    expect(lines.slice(0, 2)).toEqual(['2,000 EUR · supplier:2', 'Asked by Accounts payable']);
    const clock = await page.evaluate(
      (time) => new Date(time).toLocaleTimeString(undefined, { minute: '2-digit' }),
      expires_at,
    );
    expect(lines[2]).toMatch(new RegExp(`^Decide by .*${clock}`));

    const [worker] = context.serviceWorkers();
    const opened = await worker?.evaluate(async () => {
      const scope = self as unknown as Json;
      const urls: string[] = [];
      scope.clients.openWindow = async (url: string) => urls.push(url);
      const [notification] = await scope.registration.getNotifications();
      scope.dispatchEvent(new scope.NotificationEvent('notificationclick', { notification }));
      await new Promise((resolve) => setTimeout(resolve, 500));
      return urls;
    });
    expect(opened).toEqual([`${origin}/console/permissions/${id}`]);

    const [before] = (await api('GET', '/v1/me/notifications', token)).push;
    const key = await page.getAttribute('meta[name="push-key"]', 'content');
    const storedKey = () => page.evaluate(() => localStorage.getItem('push-key'));
    const renew = async (path: string) => {
      const answered = page.waitForResponse(`**/console/me/push/${before.id}`);
      await page.goto(origin + path);
      return (await answered).status();
    };
    await page.evaluate(() => localStorage.setItem('push-key', btoa('an old key')));
    expect(await renew('/console/agents')).toBe(204);
    await expect.poll(storedKey).toBe(key);

    // The service does not answer: the next page goes on with it.
    await page.evaluate(() => localStorage.setItem('push-key', btoa('an old key')));
    const refuse = `**/console/me/push/${before.id}`;
    await page.route(refuse, (route) => route.fulfill({ status: 503, json: {} }));
    expect(await renew('/console/policies')).toBe(503);
    await expect.poll(() => faults).toEqual([expect.stringContaining('503')]);
    faults.length = 0;
    await page.unroute(refuse);
    await page.evaluate(() => localStorage.removeItem('push-key'));
    expect(await renew('/console/agents')).toBe(204);
    await expect.poll(storedKey).toBe(key);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${origin}/console/me`);
    await section.getByText('You are notified on this device.').waitFor();
    expect(asked).not.toContain(`/console/me/push/${before.id}`);

    await section.getByRole('button', { name: 'Remove' }).click();
    await section.getByRole('button', { name: 'Notify me on this device' }).waitFor();
    const settings = await api('GET', '/v1/me/notifications', token);
    expect([settings.push, faults]).toEqual([[], []]);
  });
});

/** Stands for the push service in the page: everything else of the browser is real. */
function stubPush(fields: { endpoint: string; keys: object }): void {
  const STORED = 'push-key';
  const subscriptionOf = (key: string) => ({
    endpoint: fields.endpoint,
    options: { applicationServerKey: bytesOf(key) },
    toJSON: () => fields,
    unsubscribe: async () => {
      localStorage.removeItem(STORED);
      return true;
    },
  });
  const bytesOf = (key: string) => {
    const text = atob(key.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(text, (character) => character.charCodeAt(0)).buffer;
  };
  const stub = (globalThis as Json).PushManager.prototype;
  stub.subscribe = async ({ applicationServerKey }: { applicationServerKey: string }) => {
    localStorage.setItem(STORED, applicationServerKey);
    return subscriptionOf(applicationServerKey);
  };
  stub.getSubscription = async () => {
    const key = localStorage.getItem(STORED);
    return key === null ? null : subscriptionOf(key);
  };
}
