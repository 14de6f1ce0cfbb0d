import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHROMIUM,
  callApi,
  joinByPasskey,
  type LocalConsole,
  makeUserToken,
  startConsole,
} from '../support/local/console';

// biome-ignore lint/suspicious/noExplicitAny: answers of the service
type Json = any;

/** The step that compares what the page of the request shows. */
const CONTENTS = 'The page of the request shows what was asked for';

describe.skipIf(!CHROMIUM)('the audit explorer in Chromium', () => {
  let local: LocalConsole;
  let browser: Browser;
  let origin: string;
  /** A page of an owner, who has a passkey. */
  let page: Page;
  let token: string;
  let agentKey: string;
  /** The entry of a decision that the owner signed. */
  let entry: Json;
  const faults: string[] = [];

  const call = (method: string, path: string, credential: string, body?: object) =>
    callApi(origin, { credential, method, path, body });

  const request = (fields = {}) =>
    call('POST', '/v1/permissions', agentKey, {
      action: 'email.send',
      resource: 'mailbox:support',
      ...fields,
    });

  /** Runs the service's sweep, which seals the log. */
  const sweep = () =>
    fetch(`${origin}/cdn-cgi/local/scheduled?cron=${encodeURIComponent('* * * * *')}`);

  beforeAll(async () => {
    local = await startConsole();
    ({ browser, origin } = local);
    page = await (await browser.newContext()).newPage();
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (line) => line.type() === 'error' && faults.push(line.text()));
    await joinByPasskey(page, await local.inviteOwner());
    token = await makeUserToken(page, origin);
    agentKey = (await call('POST', '/v1/agents', token, { name: 'Mailer' })).api_key;
    await call('POST', '/v1/policies', token, {
      name: 'People sign',
      effect: 'review',
      actions: ['email.send'],
      resources: ['*'],
      review: { passkey: true, allow_self: true },
    });
    await request();
    const { id } = await request({
      scope: { amount: 250, folders: ['größer'] },
      input: { to: 'ada@example.com' },
      preview: { title: 'Send the invoice' },
    });
    await page.goto(`${origin}/console/permissions/${id}`);
    await page.click('text=Approve with passkey');
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor();
    [entry] = (await call('GET', '/v1/audit?event_type=approve', token)).data;
  });

  afterAll(() => local.stop());

  /** The states of the steps about the log and who decided. */
  const steps = (shown = page) =>
    shown
      .locator('.steps li')
      .filter({ hasNotText: CONTENTS })
      .evaluateAll((items) => items.map((item) => (item as Json).dataset.state as string));

  async function verify(): Promise<string[]> {
    await page.goto(`${origin}/console/audit/${entry.id}`);
    await page.click('text=Verify in this browser');
    await page.locator('.verdict').waitFor();
    return steps();
  }

  /** Verifies with an answer in which one text is changed. */
  async function verifyChanged(
    address: string,
    change: (text: string) => string,
  ): Promise<string[]> {
    await page.route(address, async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      const changed = change(text);
      expect([changed === text, changed.length]).toEqual([false, text.length]);
      await route.fulfill({ response, body: changed });
    });
    const found = await verify();
    await page.unroute(address);
    expect(await page.locator('.verdict').getAttribute('class')).toContain('bad');
    return found;
  }

  it('says of an entry that is not sealed yet when it will be, and verifies it afterwards', async () => {
    const [newest] = (await call('GET', '/v1/audit?limit=1', token)).data;
    // A sweep at the full minute may have sealed it in between.
    if (
      (
        await fetch(`${origin}/v1/audit/${newest.id}/proof`, {
          headers: { Authorization: `Bearer ${token}` },
        })
      ).status === 409
    ) {
      expect(await verify()).toEqual(['open', 'passed', expect.stringMatching(/open|passed/)]);
      expect(await page.textContent('.steps li')).toContain('not sealed yet');
      faults.length = 0;
    }
    await sweep();
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
    await page.goto(`${origin}/console/audit`);
    await page.goto(`${origin}/console/audit/${entry.id}`);
    expect(loaded).not.toContain('/console/assets/verify.js');
    expect(await verify()).toEqual(['passed', 'passed', 'passed', 'passed', 'passed']);
    expect(loaded).toContain('/console/assets/verify.js');
    expect(await page.locator('.verdict').getAttribute('class')).toContain('good');
    expect(faults).toEqual([]);
  });

  it('compares the arguments and the preview that are shown with their digests in the log', async () => {
    const step = page.locator('.steps li', { hasText: CONTENTS });
    await verify();
    expect(await step.getAttribute('data-state')).toBe('passed');
    expect(await step.textContent()).toContain('Compared: the arguments and the preview.');
    for (const [text, changed] of [
      ['ada@example.com', 'eve@example.com'],
      ['Send the invoice', 'Send the voucher'],
    ] as const) {
      await verifyChanged('**/contents', (body) => body.replace(text, changed));
      expect(await step.getAttribute('data-state')).toBe('failed');
      expect(await step.locator('details[open] code').count()).toBeGreaterThan(1);
    }
  });

  it('shows an entry in red that should have been sealed long ago', async () => {
    const later = await page.context().newPage();
    await later.route('**/proof', (route) =>
      route.fulfill({ status: 409, json: { code: 'conflict' } }),
    );
    await later.clock.setFixedTime(Date.parse(entry.created_at) + 3 * 60_000);
    await later.goto(`${origin}/console/audit/${entry.id}`);
    await later.click('text=Verify in this browser');
    expect(await later.locator('.verdict').getAttribute('class')).toContain('bad');
    expect(await later.textContent('.steps li')).toContain('It should have been sealed by');
    await later.close();
  });

  it('shows a changed entry in red at the right step, and what differs', async () => {
    const flip = (before: string, after: string) => (text: string) => text.replace(before, after);
    const { signature } = entry.details.votes[0].signature;
    const last = signature.at(-10);
    const otherEnd = `${signature.slice(0, -10)}${last === 'A' ? 'B' : 'A'}${signature.slice(-9)}`;

    expect(
      await verifyChanged(`**/${entry.id}/entry`, flip('"user_agent":"M', '"user_agent":"N')),
    ).toEqual([...['failed', 'passed', 'passed', 'passed', 'passed']]);
    expect(await page.textContent('.steps li:nth-child(1)')).toContain(
      'user_agent differs from what was sealed',
    );
    expect(
      await verifyChanged(`**/${entry.id}/entry`, flip('"amount":250', '"amount":251')),
    ).toEqual([...['failed', 'passed', 'passed', 'failed', 'passed']]);
    expect(await page.textContent('.steps li:nth-child(1)')).toContain('251; sealed as 250');
    expect(await page.textContent('.steps li:nth-child(4)')).toContain(
      'scope.amount of the entry differs from that of the deciding vote',
    );
    expect(await verifyChanged(`**/${entry.id}/entry`, flip(signature, otherEnd))).toEqual([
      ...['failed', 'passed', 'passed', 'failed', 'passed'],
    ]);
    expect(await page.textContent('.steps li:nth-child(4)')).toContain(
      'The signature was not made with the member’s passkey',
    );
  });

  it('shows a changed proof, checkpoint or key in red at the right step', async () => {
    const flipAfter = (name: string) => (text: string) => {
      const at = text.indexOf(name) + name.length;
      return text.slice(0, at) + (text[at] === '0' ? '1' : '0') + text.slice(at + 1);
    };
    expect(await verifyChanged('**/proof', flipAfter('"inclusion_path":["'))).toEqual([
      ...['passed', 'failed', 'passed', 'passed', 'failed'],
    ]);
    expect(await verifyChanged('**/proof', flipAfter('"leaf_hash":"'))).toEqual([
      ...['failed', 'failed', 'passed', 'passed', 'failed'],
    ]);
    expect(
      await verifyChanged('**/proof', (text) => text.replace(/\\ntime 2/, '\\ntime 3')),
    ).toEqual([...['passed', 'passed', 'failed', 'passed', 'failed']]);
    expect(await page.textContent('.steps li:nth-child(3)')).toContain(
      'timestamp differs from the signed one',
    );
    const inSignature = (text: string) =>
      text.replace(
        /(— \S+ \S{20})(\S)/,
        (_, start, letter) => start + (letter === 'A' ? 'B' : 'A'),
      );
    expect(await verifyChanged('**/proof', inSignature)).toEqual([
      'passed',
      'passed',
      'failed',
      'passed',
      'failed',
    ]);
    expect(await page.textContent('.steps li:nth-child(3)')).toContain(
      'signature was not made with the published key',
    );
    expect(await verifyChanged('**/jwks.json', flipAfter('"kid":"log-'))).toEqual([
      ...['passed', 'passed', 'failed', 'passed', 'failed'],
    ]);
    const otherKey = (text: string) =>
      text.replace(
        /("public_key":".{40})(.)/,
        (_, start, letter) => start + (letter === 'A' ? 'B' : 'A'),
      );
    expect(await verifyChanged('**/members/*', otherKey)).toEqual([
      'passed',
      'passed',
      'passed',
      'failed',
      'passed',
    ]);
  });

  /**
   * Verifies in a browser whose Web Crypto does not know Ed25519, with a checkpoint of the service
   * if it is changed.
   */
  async function verifyWithoutEd25519(id: string, changeProof?: (text: string) => string) {
    const context = await browser.newContext({ storageState: await page.context().storageState() });
    await context.addInitScript(() => {
      const { importKey } = SubtleCrypto.prototype;
      SubtleCrypto.prototype.importKey = function (this: SubtleCrypto, ...args: Json[]) {
        if (args[2] !== 'Ed25519' && args[2]?.name !== 'Ed25519')
          return Reflect.apply(importKey, this, args);
        return Promise.reject(new DOMException('Unrecognized name.', 'NotSupportedError'));
      } as typeof importKey;
    });
    const older = await context.newPage();
    if (changeProof) {
      await older.route('**/proof', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: changeProof(await response.text()) });
      });
    }
    await older.goto(`${origin}/console/audit/${id}`);
    await older.click('text=Verify in this browser');
    const verdict = older.locator('.verdict');
    await verdict.waitFor();
    const found = {
      states: await steps(older),
      tone: await verdict.getAttribute('class'),
      text: await verdict.textContent(),
      steps: await older.locator('.steps li').allTextContents(),
    };
    await context.close();
    return found;
  }

  it('calls nothing proven whose signature this browser cannot check, and says what can', async () => {
    const [unsigned] = (await call('GET', '/v1/audit?event_type=request&order=asc', token)).data;
    const further = [[entry.id, ['passed', 'open']] as const, [unsigned.id, []] as const];
    for (const [id, votes] of further) {
      const { states, tone, text, steps } = await verifyWithoutEd25519(id);
      expect(states).toEqual(['passed', 'passed', 'open', ...votes]);
      expect(tone).toContain('waiting');
      expect(text).toContain('Nothing is wrong, but the entry is not proven.');
      expect(text).toContain('Not checked: “The service signed this state of the log”');
      expect(text).toContain('Use another browser, or the command line');
      expect(steps[2]).toContain('This browser cannot check signatures with Ed25519.');
    }
    const changed = await verifyWithoutEd25519(entry.id, (text) =>
      text.replace(/\\ntime 2/, '\\ntime 3'),
    );
    expect(changed.states).toEqual(['passed', 'passed', 'failed', 'passed', 'failed']);
    expect(changed.tone).toContain('bad');
  });

  it('leaves open who decided where a vote is not signed, and says so in the verdict', async () => {
    const request = { action: 'file.read', resource: 'file:a' };
    await call('POST', '/v1/policies', token, {
      ...{ name: 'People decide', effect: 'review', actions: ['file.write'], resources: ['*'] },
      review: { allow_self: true },
    });
    const routed = await call('POST', '/v1/permissions', agentKey, {
      ...request,
      action: 'file.write',
    });
    await call('POST', `/v1/permissions/${routed.id}/approve`, token, {});
    await sweep();
    const [decided] = (
      await call('GET', `/v1/audit?permission_id=${routed.id}&event_type=approve`, token)
    ).data;
    await page.goto(`${origin}/console/audit/${decided.id}`);
    await page.click('text=Verify in this browser');
    await page.locator('.verdict').waitFor();
    expect(await steps()).toEqual(['passed', 'passed', 'passed', 'open', 'passed']);
    const verdict = await page.textContent('.verdict');
    expect(verdict).toMatch(
      /^The entry is in the signed log, unchanged .* Not checked: “.* decided to approve”\.$/,
    );
  });

  it('offers ES256 first when a passkey is made', async () => {
    const [passkey] = (await call('GET', '/v1/me/passkeys', token)).data;
    const { member } = await call('GET', '/v1/me', token);
    const { passkeys } = await call('GET', `/v1/members/${member.id}`, token);
    const { public_key: key } = passkeys.find(({ id }: Json) => id === passkey.id);
    // A COSE_Key of ES256: {1: 2, 3: -7, …}
    expect(Buffer.from(key, 'base64url').subarray(1, 5).toString('hex')).toBe('01020326');
  });

  it('says that the session has ended, with a link to sign in again', async () => {
    await page.goto(`${origin}/console/audit/${entry.id}`);
    const cookies = await page.context().cookies();
    await page.context().clearCookies();
    await page.click('text=Verify in this browser');
    await page.locator('#message a[href="/console/sign-in"]').waitFor();
    expect(await page.textContent('#message')).toContain('Your session has ended');
    // The browser reports the refusal.
    expect(faults.splice(0)).toEqual([expect.stringContaining('401 (Unauthorized)')]);
    await page.context().addCookies(cookies);
  });

  it('says without JavaScript how to verify with the command line', async () => {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      storageState: await page.context().storageState(),
    });
    const plain = await context.newPage();
    await plain.goto(`${origin}/console/audit/${entry.id}`);
    expect(await plain.locator('text=Verify in this browser').isVisible()).toBe(false);
    await plain.click('text=Verify with the command line');
    expect(await plain.locator('text=npm run verify -- entry.json').isVisible()).toBe(true);
    await context.close();
  });

  it('selects a span by dragging over the timeline, and by a click on a bar', async () => {
    await page.goto(`${origin}/console/audit`);
    const { x, y, width } = (await page.locator('svg.timeline').boundingBox()) ?? {
      x: 0,
      y: 0,
      width: 0,
    };
    await page.mouse.move(x + width * 0.2, y + 40);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.6, y + 40, { steps: 3 });
    await page.mouse.up();
    await page.waitForURL(/start_date=.*end_date=/);
    expect(await page.textContent('#entries')).toContain('No entry matches');
    await page.goto(`${origin}/console/audit`);
    await page.mouse.click(x + width - 3, y + 80);
    await page.waitForURL(/start_date=/);
    expect(await page.locator('#entries tbody tr').count()).toBeGreaterThan(2);
  });

  it('shows new entries by itself, but not while somebody points at the list', async () => {
    await page.goto(`${origin}/console/audit`);
    const rows = page.locator('#entries tbody tr');
    const before = await rows.count();
    await page.hover('#entries table');
    await request();
    await page.waitForTimeout(7_000);
    expect(await rows.count()).toBe(before);
    await page.mouse.move(0, 0);
    await page.locator(`#entries tbody tr >> nth=${before}`).waitFor({ timeout: 8_000 });
    expect(await rows.count()).toBe(before + 1);
    expect(faults).toEqual([]);
  });

  it.each([
    [320, 'light'],
    [1280, 'dark'],
  ] as const)(
    'fits a window of %d pixels (%s), and breaks no rule of accessibility',
    async (width, colorScheme) => {
      const context = await browser.newContext({
        viewport: { width, height: 800 },
        colorScheme,
        storageState: await page.context().storageState(),
        bypassCSP: true,
      });
      const narrow = await context.newPage();
      for (const path of ['/console/audit?event_type=request', `/console/audit/${entry.id}`]) {
        await narrow.goto(origin + path);
        if (path.endsWith(entry.id)) {
          await narrow.click('text=Verify in this browser');
          await narrow.locator('.verdict').waitFor();
        }
        for (const summary of await narrow.locator('main summary').all()) await summary.click();
        expect(await narrow.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
          width,
        );
        await narrow.addScriptTag({ path: 'node_modules/axe-core/axe.min.js' });
        const { violations } = (await narrow.evaluate('axe.run()')) as { violations: Json[] };
        expect(
          violations.map(({ id, nodes }) => [id, nodes.map(({ html }: Json) => html)]),
        ).toEqual([]);
      }
      await context.close();
    },
  );
});
