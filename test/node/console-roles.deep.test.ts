import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
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

interface Json {
  // biome-ignore lint/suspicious/noExplicitAny: answers of the API
  [name: string]: any;
}

/** Somebody who joined with a passkey, in a browser of their own. */
interface Person {
  id: string;
  name: string;
  page: Page;
  cookies: Awaited<ReturnType<BrowserContext['cookies']>>;
}

/** What no role but owner and admin may see, and where a form of it is sent. */
const OF_ADMINS = [
  '/console/members/new',
  '/console/policies/new',
  '/console/channels/new',
  '/console/connections/new',
];

describe.skipIf(!CHROMIUM)('the work of each role in Chromium', () => {
  let local: LocalConsole;
  let owner: Person;
  /** A user token of the owner. */
  let token: string;
  let agentKey: string;
  let receiver: Server;

  const call = (method: string, path: string, body?: object, credential = token) =>
    callApi(local.origin, { credential, method, path, body });

  let resources = 0;

  /** Asks for the action on a resource of its own, so that requests stand one by one in the inbox. */
  function ask(request: object = {}): Promise<Json> {
    resources += 1;
    const scope = { max_amount: 250, recipients: ['ada@example.com', 'grace@example.com'] };
    return call(
      'POST',
      '/v1/permissions',
      { action: 'mail.send', resource: `mail:${resources}`, scope, ...request },
      agentKey,
    );
  }

  const read = (id: string) => call('GET', `/v1/permissions/${id}`);

  /** Accepts an invitation with a passkey. */
  async function join(url: string, id: string, name: string): Promise<Person> {
    const context = await local.browser.newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    await joinByPasskey(page, url);
    return { id, name, page, cookies: await context.cookies() };
  }

  async function hire(role: string, name: string): Promise<Person> {
    const email = `${name.toLowerCase()}-${crypto.randomUUID()}@example.com`;
    const { id, invitation } = await call('POST', '/v1/members', { email, name, role });
    return join(invitation.url, id, name);
  }

  /** Opens another browser in which a person is signed in already. */
  async function open({ cookies }: Person, javaScriptEnabled: boolean): Promise<Page> {
    const viewport = { width: 1280, height: 800 };
    const context = await local.browser.newContext({
      viewport,
      javaScriptEnabled,
      reducedMotion: 'reduce',
    });
    await context.addCookies(cookies);
    return context.newPage();
  }

  const go = (page: Page, path: string) => page.goto(local.origin + path);
  const heading = (page: Page, name: string) =>
    page.getByRole('heading', { name, exact: true }).first().waitFor();
  const press = (page: Page, name: string) =>
    page.getByRole('button', { name, exact: true }).first().click();
  const text = async (page: Page, selector = 'main') =>
    (await page.locator(selector).textContent()) ?? '';
  /** The names of the sections, without the count beside the inbox. */
  const menu = (page: Page) =>
    page
      .locator('nav#menu li a')
      .evaluateAll((links) => links.map((link) => link.firstChild?.textContent ?? ''));

  /**
   * Waits until the page has all these parts: a click returns before the page that it opens is
   * whole.
   */
  async function expectParts(page: Page, ...parts: string[]): Promise<void> {
    for (const part of parts)
      await expect.poll(() => text(page), { timeout: 30_000 }).toContain(part);
  }

  /** Where the forms of the pages send changes, but for the sign-out. */
  async function changesOn(page: Page, paths: string[]): Promise<string[]> {
    const found = new Set<string>();
    for (const path of paths) {
      await go(page, path);
      const actions = await page
        .locator('form[method=post]')
        .evaluateAll((forms) => forms.map((form) => form.getAttribute('action') ?? ''));
      const links = await page
        .locator('main a')
        .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
      for (const address of [...actions, ...links.filter((link) => /\/new(\?|$)/.test(link))])
        found.add(address);
    }
    found.delete('/console/sign-out');
    return [...found].sort();
  }

  /**
   * The codes with which the service refuses what the pages do not show, sent with the token of the
   * person's pages.
   */
  async function refusals(
    page: Page,
    changes: [path: string, fields: Record<string, string>][],
  ): Promise<string[]> {
    await go(page, '/console/me');
    const csrf = (await page.locator('input[name=csrf]').first().getAttribute('value')) ?? '';
    const codes = [];
    for (const [path, fields] of changes) {
      const answer = await page.context().request.post(local.origin + path, {
        form: { csrf, ...fields },
        headers: { Origin: local.origin, Accept: 'application/json' },
        maxRedirects: 0,
      });
      codes.push(`${answer.status()} ${((await answer.json().catch(() => ({}))) as Json).code}`);
    }
    return codes;
  }

  async function expectForbidden(page: Page, paths: string[]): Promise<void> {
    for (const path of paths) {
      const answer = await go(page, path);
      expect([path, answer?.status()]).toEqual([path, 403]);
      expect(await text(page)).toMatch(/Your role is \w+\. This needs one of the roles .*owner/);
    }
  }

  beforeAll(async () => {
    local = await startConsole();
    owner = await join(await local.inviteOwner(), '', 'Olga');
    token = await makeUserToken(owner.page, local.origin);
    const account = await call('GET', '/v1/me');
    owner.id = account.member.id;
    await call('PATCH', `/v1/admin/users/${account.id}`, { plan: 'enterprise' }, local.operator);
    agentKey = (await call('POST', '/v1/agents', { name: 'Mail assistant' })).api_key;
    receiver = createServer((_, response) => response.end());
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });

  afterAll(async () => {
    receiver?.close();
    receiver?.closeAllConnections();
    await local?.stop();
  });

  describe.each([true, false])('with JavaScript: %s', (hasScript) => {
    /** The text of a page that keeps itself up to date, or without JavaScript is loaded again. */
    async function textOfLivePage(page: Page): Promise<string> {
      if (!hasScript) await page.reload();
      return text(page);
    }

    it('an approver narrows, denies several, and is told who was faster', async () => {
      const approver = await hire('approver', 'Ada');
      const page = await open(approver, hasScript);
      const first = await ask({ preview: { title: 'Send the newsletter' } });
      const others = [
        await ask({ preview: { title: 'Spam 1' } }),
        await ask({ preview: { title: 'Spam 2' } }),
      ];
      const kept = await ask({ preview: { title: 'Leave me alone' } });
      await go(page, '/console');
      await page.locator('.request', { hasText: 'Send the newsletter' }).locator('a').click();
      await page.getByText('Narrow the limits').click();
      await page.getByLabel('max_amount').fill('100');
      await page.getByLabel('grace@example.com').uncheck();
      await press(page, 'Approve');
      await heading(page, 'Approved');
      await expectParts(page, 'By Ada');
      expect(await read(first.id)).toMatchObject({
        granted_scope: { max_amount: 100, recipients: ['ada@example.com'] },
        decided_by: approver.id,
      });

      await go(page, '/console');
      for (const { id } of others) await page.locator(`#${id} input[type=checkbox]`).check();
      await page.getByLabel('Reason for all checked requests').fill('Nobody asked for these');
      await press(page, 'Deny the checked requests');
      for (const { id } of others) await page.locator(`#${id}`).waitFor({ state: 'detached' });
      await page.locator(`#${kept.id}`).waitFor();
      for (const { id } of others) {
        expect(await read(id)).toMatchObject({
          status: 'denied',
          decision_reason: 'Nobody asked for these',
        });
      }

      await go(page, `/console/permissions/${kept.id}`);
      await call('POST', `/v1/permissions/${kept.id}/deny`, { reason: 'I was faster' });
      await press(page, 'Approve');
      await heading(page, 'Denied');
      await expectParts(page, 'Your decision was not taken', 'I was faster');
      expect((await read(kept.id)).status).toBe('denied');
      await page.context().close();
    });

    it('two approvers decide a review, the second one what the first one left', async () => {
      const [ada, grace] = [await hire('approver', 'Ada'), await hire('approver', 'Grace')];
      const action = `payout.send-${hasScript}`;
      const review = { approvals: 2, members: [ada.id, grace.id] };
      await call('POST', '/v1/policies', {
        name: 'Two people',
        effect: 'review',
        actions: [action],
        resources: ['*'],
        review,
      });
      const { id } = await ask({ action, resource: 'account:supplier' });
      const pages = [await open(ada, hasScript), await open(grace, hasScript)] as const;
      for (const page of pages) await go(page, `/console/permissions/${id}`);
      const [first, second] = pages;
      await first.getByText('Narrow the limits').click();
      await first.getByLabel('max_amount').fill('90');
      await press(first, 'Approve');
      await first
        .getByText('You have approved it. It waits for others; you can still deny it.')
        .waitFor();
      expect(await first.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
      await expectParts(first, 'Review: 1 of 2 approvals');

      // The page of the second was opened before the first voted, with the limits of that time.
      await press(second, 'Approve');
      await second.getByText('Somebody voted after you opened the request.').waitFor();
      expect((await read(id)).status).toBe('pending');
      expect(await second.getByLabel('max_amount').inputValue()).toBe('90');
      await press(second, 'Approve');
      await heading(second, 'Approved');
      await expectParts(second, 'Review: 2 of 2 approvals');
      expect(await read(id)).toMatchObject({
        status: 'approved',
        granted_scope: { max_amount: 90 },
      });
      for (const page of pages) await page.context().close();
    });

    it('an approver approves with a passkey what needs one, and nothing else does it', async () => {
      const approver = await hire('approver', 'Ada');
      const action = `vault.open-${hasScript}`;
      const review = { members: [approver.id], passkey: true };
      await call('POST', '/v1/policies', {
        name: 'Signed',
        effect: 'review',
        actions: [action],
        resources: ['*'],
        review,
      });
      const { id } = await ask({ action });
      // The virtual authenticator is in the browser with which the person joined.
      const page = hasScript ? approver.page : await open(approver, false);
      await go(page, `/console/permissions/${id}`);
      await press(page, 'Approve with passkey');
      if (hasScript) {
        await heading(page, 'Approved');
        await expectParts(page, 'signed with a passkey');
        const [entry] = (await call('GET', `/v1/audit?permission_id=${id}&event_type=approve`))
          .data;
        expect(entry.details.votes).toEqual([
          expect.objectContaining({ by: approver.id, signature: expect.anything() }),
        ]);
      } else {
        await page.getByText('Without it you can only deny.').waitFor();
        expect(await page.getByRole('alert').first().textContent()).toContain(
          'signed with a passkey',
        );
        expect((await read(id)).status).toBe('pending');
        await press(page, 'Deny');
        await heading(page, 'Denied');
      }
      await page.context().close();
    });

    it('an approver sees nothing of what others run', async () => {
      const page = await open(await hire('approver', 'Ada'), hasScript);
      const { id } = await ask();
      await go(page, '/console');
      expect(await menu(page)).toEqual([
        'Inbox',
        'Agents',
        'Policies',
        'Audit log',
        'Members',
        'Activity',
      ]);
      const [agent] = (await call('GET', '/v1/agents')).data;
      const lists = [
        '/console/agents',
        `/console/agents/${agent.id}`,
        '/console/policies',
        '/console/members',
      ];
      const others = ['/console/audit', '/console/activity', `/console/members/${owner.id}`];
      expect(await changesOn(page, [...lists, ...others])).toEqual([]);
      expect(await changesOn(page, [`/console/permissions/${id}`])).toEqual([
        `/console/permissions/${id}/decide`,
        `/console/permissions/${id}/skip`,
      ]);
      await expectForbidden(page, [
        ...OF_ADMINS,
        '/console/agents/new',
        '/console/exports',
        '/console/webhooks',
        '/console/connections',
      ]);
      const codes = await refusals(page, [
        ['/console/agents', { name: 'Mine' }],
        [`/console/agents/${agent.id}/rotate-key`, { grace_period: '0' }],
        ['/console/policies/new', { do: 'save' }],
        ['/console/exports', { format: 'csv' }],
        [`/console/members/${owner.id}/remove`, { confirm: 'Olga' }],
      ]);
      expect(new Set(codes)).toEqual(new Set(['403 insufficient_scope']));
      await page.context().close();
    });

    it('a developer runs agents and webhooks and tries policies, and decides nothing', async () => {
      const page = await open(await hire('developer', 'Dennis'), hasScript);
      await go(page, '/console/agents');
      await page.getByRole('link', { name: 'Register an agent' }).click();
      await page.getByLabel('Name').fill(`Deployer ${hasScript}`);
      await press(page, 'Register it');
      const key = await text(page, '#secret');
      const { id } = await call(
        'POST',
        '/v1/permissions',
        { action: 'deploy.start', resource: 'service:web' },
        key,
      );
      expect(id).toMatch(/^perm_/);
      await page.getByRole('link', { name: 'I have copied it' }).click();
      await heading(page, `Deployer ${hasScript}`);
      const agent = new URL(page.url()).pathname;
      expect(await page.content()).not.toContain(key);

      await go(page, `/console/permissions/${id}`);
      await expectParts(page, 'Your role cannot decide: an approver, admin or owner can.');
      expect(await changesOn(page, ['/console', `/console/permissions/${id}`])).toEqual([]);

      await go(page, agent);
      await press(page, 'Switch off');
      await page.getByRole('button', { name: 'Switch on' }).waitFor();
      expect((await call('GET', '/v1/permissions', undefined, key)).code).toBe('agent_inactive');
      await press(page, 'Switch on');
      await page.getByRole('button', { name: 'Switch off' }).waitFor();
      await page.locator('summary', { hasText: 'Make a new key' }).click();
      await page.getByLabel('The present key works').selectOption('0');
      await press(page, 'Make a new key');
      await heading(page, `A new key for Deployer ${hasScript}`);
      const newKey = await text(page, '#secret');
      expect((await call('GET', '/v1/permissions', undefined, key)).code).toBe('unauthorized');
      expect((await call('GET', '/v1/permissions', undefined, newKey)).data).toHaveLength(1);

      await go(page, '/console/webhooks/new');
      await page
        .getByLabel('URL')
        .fill(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/${hasScript}`);
      await press(page, 'Create the webhook');
      expect(await text(page, '#secret')).toMatch(/^whsec_/);
      await page.getByRole('link', { name: 'I have copied it' }).click();
      await press(page, 'Send a test');
      await heading(page, 'Delivery of webhook.test');
      await expect
        .poll(() => textOfLivePage(page), { timeout: 60_000, interval: 1_000 })
        .toContain('succeeded');

      await go(page, '/console/policies');
      await page.getByLabel('Action').fill('mail.send');
      await page.getByLabel('Resource').fill('mail:a');
      await press(page, 'Simulate');
      await page
        .getByText('No policy applies: it would wait for anybody who may decide.')
        .waitFor();

      expect(await menu(page)).toContain('Channels');
      expect(await changesOn(page, ['/console/channels'])).toEqual([]);
      await expectForbidden(page, [...OF_ADMINS, '/console/exports', '/console/reports']);
      const codes = await refusals(page, [
        [`/console/permissions/${id}/decide`, { decision: 'approve', votes: '0' }],
        [`/console/permissions/${id}/revoke`, {}],
        ['/console/deny', { id }],
        ['/console/policies/new', { do: 'save' }],
        ['/console/channels', { kind: 'email', name: 'Mine' }],
        ['/console/channels', { kind: 'slack', name: 'Mine' }],
        ['/console/audit/export', { format: 'csv' }],
      ]);
      expect(new Set(codes)).toEqual(new Set(['403 insufficient_scope']));
      expect((await read(id)).status).toBe('pending');
      await page.context().close();
    });

    it('an auditor finds, exports, reports and verifies, and changes nothing', async () => {
      const { id } = await ask({ preview: { title: 'Send invoice 118' } });
      await call('POST', `/v1/permissions/${id}/deny`, { reason: 'Not due yet' });
      await fetch(
        `${local.origin}/cdn-cgi/local/scheduled?cron=${encodeURIComponent('* * * * *')}`,
      );
      const page = await open(await hire('auditor', 'Aldus'), hasScript);
      await go(page, '/console/audit');
      await page.locator('summary', { hasText: 'Filter' }).click();
      await page.getByLabel('Event').selectOption('deny');
      await press(page, 'Show');
      await page.waitForURL(/event_type=deny/);
      const kinds = async () => new Set(await page.locator('#entries .badge').allTextContents());
      await expect.poll(kinds, { timeout: 30_000 }).toEqual(new Set(['denial']));
      await page.locator('#entries tbody a').first().click();
      await expectParts(page, 'Not due yet', 'The agent asked', 'Denied by');
      if (hasScript) {
        await press(page, 'Verify in this browser');
        await page
          .locator('.steps li.passed, .steps li[data-state=passed], .steps li')
          .nth(2)
          .waitFor();
        expect(await page.locator('.steps').textContent()).not.toMatch(/failed|differs/);
      } else {
        await page.getByText('Verify with the command line').click();
        expect(await page.getByRole('button', { name: 'Verify in this browser' }).isVisible()).toBe(
          false,
        );
      }

      for (const [path, button, format] of [
        ['/console/exports', 'Start the export', 'json'],
        ['/console/reports', 'Start the report', 'json'],
      ] as const) {
        await go(page, `${path}/new`);
        await page.getByLabel('Format').selectOption(format);
        if (path.endsWith('reports'))
          await page.getByLabel('Last day').fill(new Date().toISOString().slice(0, 10));
        await press(page, button);
        await page.waitForURL(`**${path}`);
        await expect
          .poll(() => textOfLivePage(page), { timeout: 60_000, interval: 1_000 })
          .toContain('to download');
        const download = page.waitForEvent('download');
        await page.getByRole('link', { name: 'Download', exact: true }).first().click();
        expect((await download).suggestedFilename()).toMatch(/^(export|report)_.*\.json$/);
      }

      await go(page, '/console/activity');
      await expectParts(page, 'Aldus ordered a report');
      const [agent] = (await call('GET', '/v1/agents')).data;
      const own = [
        '/console',
        `/console/permissions/${id}`,
        '/console/agents',
        `/console/agents/${agent.id}`,
      ];
      const others = [
        '/console/policies',
        '/console/webhooks',
        '/console/channels',
        '/console/members',
        `/console/members/${owner.id}`,
      ];
      expect(await changesOn(page, [...own, ...others, '/console/activity'])).toEqual([]);
      expect(
        await changesOn(page, ['/console/audit', '/console/exports', '/console/reports']),
      ).toEqual([...['/console/audit/export', '/console/exports/new', '/console/reports/new']]);
      await expectForbidden(page, [...OF_ADMINS, '/console/agents/new', '/console/webhooks/new']);
      const codes = await refusals(page, [
        [`/console/permissions/${id}/decide`, { decision: 'approve', votes: '0' }],
        ['/console/deny', { id }],
        ['/console/agents', { name: 'Mine' }],
        [`/console/agents/${agent.id}/switch`, { is_active: 'false' }],
        ['/console/webhooks', { url: 'https://hooks.example.com/' }],
        ['/console/channels', { kind: 'email', name: 'Mine' }],
        ['/console/channels', { kind: 'slack', name: 'Mine' }],
        [`/console/members/${owner.id}/status`, { status: 'suspended' }],
      ]);
      expect(new Set(codes)).toEqual(new Set(['403 insufficient_scope']));
      await page.context().close();
    });

    it('an admin sets up a channel, and each member chooses what reaches them', async () => {
      const admin = await hire('admin', 'Alan');
      const page = await open(admin, hasScript);
      await go(page, '/console/channels/new');
      await page.getByLabel('Name').fill(`Payments ${hasScript}`);
      await page.getByLabel('A request expired undecided').uncheck();
      await page.getByLabel('Actions (optional)').fill('payment.*\nrefund.send');
      await press(page, 'Create the channel');
      await heading(page, `Payments ${hasScript}`);
      const channel = new URL(page.url()).pathname;
      expect(await call('GET', channel.replace('/console', '/v1'))).toMatchObject({
        events: [
          'permission.requested',
          'permission.escalated',
          'permission.decided',
          'permission.outcome_missing',
          'webhook.disabled',
          'account.stopped',
          'account.resumed',
        ],
        filter: { actions: ['payment.*', 'refund.send'] },
      });
      await press(page, 'Switch off');
      await page.getByRole('button', { name: 'Switch on' }).waitFor();
      await page.getByRole('link', { name: 'Change', exact: true }).click();
      await page.getByLabel('Actions (optional)').fill('');
      await press(page, 'Save the changes');
      await expectParts(page, 'All actions');

      await go(page, '/console/channels');
      await page.getByRole('link', { name: 'Notify people in Slack' }).click();
      await page.getByLabel('Name').fill(`Slack ${hasScript}`);
      await page.getByLabel('Bot token').fill('xoxb-1-000000000000-abcdef');
      await page.getByLabel('Signing secret').fill('a1'.repeat(16));
      await page.getByLabel('Slack channels').fill('C024BE91L\nC0ELSEWHERE');
      await press(page, 'Create the channel');
      await heading(page, `Slack ${hasScript}`);
      const slack = new URL(page.url()).pathname;
      const { config, inbound_url } = await call('GET', slack.replace('/console', '/v1'));
      expect(config).toEqual({ channels: [{ id: 'C024BE91L' }, { id: 'C0ELSEWHERE' }] });
      expect(await text(page, '#inbound-url')).toBe(inbound_url);
      expect(await page.content()).not.toContain('xoxb-1');
      await call('DELETE', slack.replace('/console', '/v1'));

      const grace = await hire('approver', 'Grace');
      await go(page, '/console/me');
      await page.getByLabel(`Payments ${hasScript}`).uncheck();
      await page.getByLabel('From', { exact: true }).fill('22:00');
      await page.getByLabel('Until', { exact: true }).fill('07:00');
      if (hasScript) expect(await page.getByLabel('Time zone').inputValue()).not.toBe('');
      await page.getByLabel('Time zone').fill('Europe/Berlin');
      await page.getByLabel('Delegate').selectOption(grace.id);
      await page.getByLabel('Last day (optional)').fill('2030-12-31');
      await press(page, 'Save');
      await page.getByText('Saved.').waitFor();
      expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe('22:00');
      expect(await page.getByLabel('Last day (optional)').inputValue()).toBe('2030-12-31');
      expect(await page.getByLabel(`Payments ${hasScript}`).isChecked()).toBe(false);
      expect(await page.getByLabel('Delegate').inputValue()).toBe(grace.id);

      await go(page, channel);
      await page.locator('summary', { hasText: 'Delete the channel' }).click();
      await press(page, 'Delete the channel');
      await heading(page, 'Channels');
      expect((await call('GET', channel.replace('/console', '/v1'))).code).toBe('not_found');
      for (const one of [page, grace.page]) await one.context().close();
    });

    it('an admin invites people, changes roles and suspends, and cannot touch an owner', async () => {
      const page = await open(await hire('admin', 'Alan'), hasScript);
      await go(page, '/console/members');
      await page.getByRole('link', { name: 'Invite a member' }).click();
      await page.getByRole('button', { name: 'Make the invitation' }).waitFor();
      expect(
        await page
          .locator('input[name=role]')
          .evaluateAll((all) => all.map((one) => one.getAttribute('value'))),
      ).toEqual(['admin', 'approver', 'developer', 'auditor']);
      await page.getByLabel('E-mail').fill(`new-${hasScript}@example.com`);
      await page.getByLabel('Name').fill('Niklaus');
      await page.locator('input[name=role][value=auditor]').check();
      await press(page, 'Make the invitation');
      const person = await join(await text(page, '#secret'), '', 'Niklaus');
      expect(await menu(person.page)).toContain('Exports');
      await page.getByRole('link', { name: 'I have copied it' }).click();
      await page.getByRole('heading', { name: /^Niklaus/ }).waitFor();
      const member = new URL(page.url()).pathname;
      await page.locator('input[name=role][value=approver]').check();
      await press(page, 'Save');
      const role = async () => (await call('GET', member.replace('/console', '/v1'))).role;
      await expect.poll(role).toBe('approver');
      await go(person.page, '/console');
      expect(await person.page.locator('header .who').textContent()).toContain('approver');

      await press(page, 'Suspend');
      await page.getByRole('heading', { name: 'Suspended', exact: true }).waitFor();
      await go(person.page, '/console');
      expect(new URL(person.page.url()).pathname).toBe('/console/sign-in');
      await press(page, 'Activate');
      await page.getByRole('button', { name: 'Suspend', exact: true }).waitFor();
      await person.page.click('text=Sign in with a passkey');
      await person.page.waitForURL('**/console');

      expect(await changesOn(page, [`/console/members/${owner.id}`])).toEqual([]);
      const path = `/console/members/${owner.id}`;
      const { updated_at } = await call('GET', `/v1/members/${owner.id}`);
      const codes = await refusals(page, [
        [`${path}/status`, { status: 'suspended' }],
        [path, { name: 'Olga', role: 'auditor', updated_at }],
        [`${path}/remove`, { confirm: 'ada@example.com' }],
        ['/console/members', { email: 'mine@example.com', role: 'owner' }],
      ]);
      // The answer is the page of the form, which says why.
      expect(new Set(codes.map((code) => code.slice(0, 3)))).toEqual(new Set(['403']));
      const [seen] = (await call('GET', '/v1/members?role=owner')).data;
      expect(seen).toMatchObject({ role: 'owner', status: 'active' });
      for (const one of [page, person.page]) await one.context().close();
    });
  });
});
