import { describe, expect, it } from 'vitest';
import type { Browser } from '../support/browser';
import { download, startExport } from '../support/exports';
import { readHiddenFields } from '../support/html';
import { answers } from '../support/internet';
import { makeMember } from '../support/members';
import { PERIOD, startReport } from '../support/reports';
import { makeWebhook, readDelivery, readWebhook } from '../support/webhooks';
import { type Answer, makeAgent, ORIGIN, type TestAccount, World } from '../support/world';

const HOUR = 3_600_000;
const HOSTILE = `<script>alert(1)</script> "><img src=x> \u202e ${'w'.repeat(1_500)}`;

async function enter(role = 'auditor', fields: Record<string, unknown> = {}) {
  const { world, account, agent } = await makeAgent(new World(), fields);
  return { world, account, agent, browser: (await makeMember(account, role)).browser };
}

/** Sends a form. A field that is a list occurs several times. */
async function send(
  browser: Browser,
  path: string,
  fields: Record<string, string | string[]> = {},
): Promise<Answer> {
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one]),
  );
  return browser.send('POST', path, {
    raw: new URLSearchParams([['csrf', await browser.csrf()], ...pairs]).toString(),
    headers: {
      Origin: ORIGIN,
      Accept: 'text/html',
      'Content-Type': 'application/x-www-form-urlencoded',
    },
  });
}

/** The address of a link of a page. */
function linkOf({ text }: Answer, label: string): string {
  const address = new RegExp(`href="([^"]*)"[^>]*>${label}</a>`).exec(text)?.[1];
  if (!address) throw new Error(`the page has no link ${label}`);
  return address.replaceAll('&amp;', '&');
}

async function lastExport(account: TestAccount) {
  return (await account.must(200, 'GET', '/v1/audit/export')).body.data[0];
}

const EXPORT = { start_date: '2026-01-01', end_date: '2026-01-31', agent_id: '', format: 'json' };

describe('the exports of the console', () => {
  it('are started from a form, and can be downloaded with their proof while they are kept', async () => {
    const { world, account, agent, browser } = await enter();
    await agent.request();
    world.advance(1);
    const empty = await browser.get('/console/exports');
    expect(empty.text).toContain('There are no exports yet.');
    expect((await browser.get('/console/exports/new')).text).toContain('value="2026-01-31"');
    const fields = {
      ...EXPORT,
      agent_id: agent.id,
      event_types: ['request', 'deny'],
      include_details: 'on',
    };
    const sent = await send(browser, '/console/exports', fields);
    expect([sent.status, sent.headers.get('Location')]).toEqual([303, '/console/exports']);
    expect(await lastExport(account)).toMatchObject({
      ...{
        format: 'json',
        start_date: '2026-01-01',
        end_date: '2026-01-31',
        include_details: true,
      },
      ...{ agent_id: agent.id, event_types: ['request', 'deny'], status: 'processing' },
    });

    const running = await browser.get('/console/exports');
    expect(running.text).toMatch(/id="files"[^>]*hx-get="\/console\/exports\?part=list"/);
    for (const text of ['being made', '<progress', 'Mailer', 'only request and denial entries'])
      expect(running.text).toContain(text);
    expect(running.cost.trips).toBe(2);
    await world.work();
    const part = await browser.get('/console/exports?part=list');
    expect(part.text).not.toContain('<h1>');
    const ready = await browser.get('/console/exports');
    expect(ready.text).not.toContain('hx-get');
    for (const text of ['1 entry', 'ready', 'href="/docs/guides/verifying#check-an-export"']) {
      expect(ready.text).toContain(text);
    }
    expect(JSON.parse((await download(world, linkOf(ready, 'Download'))).text)).toHaveLength(1);
    expect((await download(world, linkOf(ready, 'Download the proof'))).status).toBe(200);
    expect((await world.call('GET', '/docs/guides/verifying')).status).toBe(200);

    world.advance(24 * HOUR);
    await browser.signIn();
    const expired = await browser.get('/console/exports');
    for (const label of ['Download', 'Download the proof'])
      expect(expired.text).not.toContain(`>${label}</a>`);
    const again = await browser.get(linkOf(expired, 'Make it again'));
    expect(again.text.match(/checked=""/g)).toHaveLength(3);
    expect(again.text).toContain(`<option value="${agent.id}" selected="">Mailer</option>`);
  });

  it('show what was typed and what is wrong with it', async () => {
    const { account, browser } = await enter();
    const sent = await send(browser, '/console/exports', {
      ...{
        ...EXPORT,
        start_date: '2026-02-30',
        event_types: 'deny',
        agent_id: HOSTILE,
        format: 'parquet',
      },
    });
    expect(sent.status).toBe(400);
    expect(sent.text).toMatch(
      /id="field-start_date"[^>]*aria-invalid="true"[^>]*value="2026-02-30"/,
    );
    expect(sent.text).toMatch(/id="field-start_date-fault">must be a date/);
    expect(sent.text).toContain('<option value="parquet" selected="">');
    expect(sent.text).toMatch(/value="deny" checked=""/);
    expect(sent.text).not.toMatch(/name="include_details"[^>]* checked/);
    expect(sent.text).not.toContain('<script>alert');
    const turned = await send(browser, '/console/exports', { ...EXPORT, start_date: '2026-02-01' });
    expect(turned.text).toMatch(/id="field-start_date-fault">must not be after the end/);
    expect(await lastExport(account)).toBeUndefined();
  });

  it('say in words why one failed or is refused', async () => {
    const { world, account, agent, browser } = await enter();
    await Promise.all(
      Array.from({ length: 5 }, () => startExport(account, { agent_id: agent.id })),
    );
    const sent = await send(browser, '/console/exports', EXPORT);
    expect(sent.status).toBe(429);
    expect(sent.text).toMatch(/role="alert"[^>]*>The account has 5 processing exports and reports/);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    await world.work();
    const page = await browser.get('/console/exports');
    expect(page.text).toContain(
      'An agent whose entries it may hold was deleted while it was being made.',
    );
  });

  it('have pages', async () => {
    const { world, account, browser } = await enter();
    for (let i = 0; i < 21; i++) {
      if (i % 5 === 0) await world.work();
      world.advance(1);
      await startExport(account, { format: 'csv' });
    }
    const first = await browser.get('/console/exports');
    const second = await browser.get(linkOf(first, 'Older'));
    expect(
      [first, second].map(({ text }) => text.match(/<h2>2020-01-01 to 20[^,]+, CSV/g)?.length),
    ).toEqual([20, 1]);
  });

  it('are made again with all of their filters', async () => {
    const { world, account, browser } = await enter();
    const filters = { resource: 'mailbox:*', scope_key: 'amount', scope_min: -1.5 };
    await startExport(account, { format: 'csv', action: 'pay.out', ...filters });
    await world.work();
    world.advance(24 * HOUR);
    await browser.signIn();
    const page = await browser.get('/console/exports');
    expect(page.text).toContain('resource <code>mailbox:*</code>');
    const form = await browser.get(linkOf(page, 'Make it again'));
    for (const value of ['pay.out', 'mailbox:*', 'amount', '-1.5'])
      expect(form.text).toContain(`value="${value}"`);
    const fields = { ...EXPORT, action: 'pay.out', ...filters, scope_min: '-1.5' };
    expect((await send(browser, '/console/exports', fields)).status).toBe(303);
    const { body } = await account.must(200, 'GET', '/v1/audit/export');
    for (const made of body.data) expect(made).toMatchObject({ action: 'pay.out', ...filters });
  });

  it.each(['approver', 'developer'])('are not for the role %s', async (role) => {
    const { browser } = await enter(role);
    for (const path of [
      '/console/exports',
      '/console/exports/new',
      '/console/reports',
      '/console/reports/new',
    ]) {
      expect((await browser.get(path)).status).toBe(403);
    }
    expect((await send(browser, '/console/exports', EXPORT)).status).toBe(403);
    expect((await send(browser, '/console/reports', REPORT)).status).toBe(403);
    expect((await browser.get('/console')).text).not.toContain('href="/console/exports"');
  });
});

const REPORT = { report_type: 'gdpr', ...PERIOD, format: 'json' };

describe('the reports of the console', () => {
  it('are started from a form, and can be downloaded', async () => {
    const { world, browser } = await enter('auditor', { plan: 'enterprise' });
    expect((await browser.get('/console/reports')).text).toContain(
      'There are no compliance reports yet.',
    );
    const form = await browser.get('/console/reports/new');
    expect(form.text).toMatch(/value="2025-12-01"[\s\S]*value="2025-12-31"/);
    const sent = await send(browser, '/console/reports', REPORT);
    expect([sent.status, sent.headers.get('Location')]).toEqual([303, '/console/reports']);
    expect((await browser.get('/console/reports')).text).toContain(
      'hx-get="/console/reports?part=list"',
    );
    await world.work();
    const ready = await browser.get('/console/reports');
    expect(ready.text).toContain('GDPR (Regulation (EU) 2016/679)');
    expect(ready.cost.trips).toBe(2);
    expect(JSON.parse((await download(world, linkOf(ready, 'Download'))).text).report_type).toBe(
      'gdpr',
    );
  });

  it('show what is wrong with the period at its field', async () => {
    const { browser } = await enter('auditor', { plan: 'enterprise' });
    const sent = await send(browser, '/console/reports', { ...REPORT, start: '2026-02-01' });
    expect(sent.status).toBe(400);
    expect(sent.text).toMatch(/id="field-start"[^>]*aria-invalid="true"[^>]*value="2026-02-01"/);
    expect(sent.text).toMatch(/id="field-start-fault">must not be after the end/);
    const malformed = await send(browser, '/console/reports', { ...REPORT, start: HOSTILE });
    expect(malformed.text).toMatch(/id="field-start-fault">must be a date/);
    expect(malformed.text).not.toContain('<script>alert');
  });

  it('say that the plan is needed, and that too many are being made', async () => {
    const { browser } = await enter();
    const page = await browser.get('/console/reports');
    expect(page.text).toContain('Compliance reports come with the plan enterprise.');
    expect(page.text).not.toContain('href="/console/reports/new"');
    const sent = await send(browser, '/console/reports', REPORT);
    expect(sent.status).toBe(403);
    expect(sent.text).toMatch(
      /role="alert"[^>]*>Compliance reports come with the plan enterprise\./,
    );

    const rich = await enter('auditor', { plan: 'enterprise' });
    await Promise.all(Array.from({ length: 5 }, () => startReport(rich.account)));
    expect((await send(rich.browser, '/console/reports', REPORT)).status).toBe(429);
  });
});

const EVENTS = ['audit.created', 'report.failed'];

describe('the webhooks of the console', () => {
  it('are created with the secret shown once, and changed', async () => {
    const { world, account, agent, browser } = await enter('developer');
    expect((await browser.get('/console/webhooks')).text).toContain('There are no webhooks yet.');
    const created = await send(browser, '/console/webhooks', {
      ...{
        url: ' https://hooks.example.com/a ',
        description: HOSTILE,
        events: EVENTS,
        agent_ids: [agent.id],
      },
    });
    expect([created.status, created.headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(created.text).toMatch(/whsec_[A-Za-z0-9+/]{43}=/);
    const path = linkOf(created, 'I have copied it');
    const id = path.split('/').at(-1) ?? '';
    const webhook = await readWebhook(account, { id });
    expect(webhook).toMatchObject({
      url: 'https://hooks.example.com/a',
      events: EVENTS,
      agent_ids: [agent.id],
    });

    const page = await browser.get(path);
    for (const text of ['audit.created, report.failed', 'Mailer', 'U+202E'])
      expect(page.text).toContain(text);
    for (const text of ['whsec_', '<script>alert', '<img', '\u202e'])
      expect(page.text).not.toContain(text);
    expect(page.cost.trips).toBe(2);
    const form = await browser.get(`${path}/edit`);
    expect(form.text.match(/checked=""/g)).toHaveLength(3);
    world.advance(1);
    const fields = {
      url: 'https://hooks.example.com/b',
      description: HOSTILE,
      events: EVENTS.toReversed(),
    };
    const old = { ...fields, updated_at: webhook.updated_at };
    const edited = await send(browser, `${path}/edit`, old);
    expect([edited.status, edited.headers.get('Location')]).toEqual([303, path]);
    expect(await readWebhook(account, { id })).toMatchObject({
      ...webhook,
      url: fields.url,
      agent_ids: null,
      updated_at: expect.any(String),
    });
    const [activity] = (await account.must(200, 'GET', '/v1/activity')).body.data;
    expect(activity).toMatchObject({ action: 'webhook.updated', changes: ['url', 'agent_ids'] });

    // The form that was opened before does not undo that.
    const stale = { ...old, url: 'https://hooks.example.com/a', agent_ids: [agent.id] };
    const late = await send(browser, `${path}/edit`, stale);
    expect(late.status).toBe(409);
    expect(late.text).toContain('value="https://hooks.example.com/a"');
    for (const now of ['https://hooks.example.com/b', 'all agents'])
      expect(late.text).toContain(`is now: ${now}`);
    const { updated_at } = await readWebhook(account, { id });
    expect(late.text).toContain(`name="updated_at" value="${updated_at}"`);
    expect((await send(browser, `${path}/edit`, { ...stale, updated_at })).status).toBe(303);

    await send(browser, `${path}/switch`, { is_active: 'false' });
    expect((await browser.get('/console/webhooks')).text).toMatch(/badge neutral">off</);
    const refused = await send(browser, `${path}/test`);
    expect([refused.status, refused.text.includes('role="alert">The webhook is disabled')]).toEqual(
      [409, true],
    );
    const shownOff = readHiddenFields((await browser.get(path)).text, `${path}/switch`);
    account.world.advance(1);
    await account.must(200, 'PUT', `/v1/webhooks/${id}`, {
      description: 'Keep it off: the receiver was stolen',
    });
    const outdated = await send(browser, `${path}/switch`, shownOff);
    expect([outdated.status, (await readWebhook(account, { id })).is_active]).toEqual([409, false]);
    expect(outdated.text).toContain('The webhook was changed since you opened the page.');
    const again = readHiddenFields(outdated.text, `${path}/switch`);
    expect([(await send(browser, `${path}/switch`, again)).status, again.is_active]).toEqual([
      303,
      'true',
    ]);
    const rotated = await send(browser, `${path}/rotate-secret`);
    expect(rotated.text).toMatch(/whsec_[A-Za-z0-9+/]{43}=/);
    const deleted = await send(browser, `${path}/delete`);
    expect([deleted.status, deleted.headers.get('Location')]).toEqual([303, '/console/webhooks']);
    expect((await browser.get(path)).status).toBe(404);
  });

  it('show what was typed and what is wrong with it', async () => {
    const { account, agent, browser } = await enter('developer');
    const url = 'https://127.0.0.1/"><img src=x>';
    const sent = await send(browser, '/console/webhooks', {
      url,
      description: 'Mine',
      events: EVENTS,
    });
    expect(sent.status).toBe(400);
    expect(sent.text).toMatch(/id="field-url-fault">must/);
    expect(sent.text).toContain('value="https://127.0.0.1/&quot;&gt;&lt;img src=x&gt;"');
    expect(sent.text.match(/checked=""/g)).toHaveLength(2);
    const none = await send(browser, '/console/webhooks', {
      url: 'https://a.example.com',
      description: 'Mine',
    });
    expect(none.text).toContain('Check at least one event.');
    expect(none.text).toContain('value="Mine"');
    const stranger = await account.world.account();
    const foreign = await stranger.agent();
    const webhook = await makeWebhook(account);
    const path = `/console/webhooks/${webhook.id}/edit`;
    const { updated_at } = await readWebhook(account, webhook);
    const fields = {
      ...{ url: `https://${webhook.host}/hook`, events: EVENTS },
      ...{ agent_ids: [agent.id, foreign.id], updated_at },
    };
    const named = await send(browser, path, fields);
    expect([named.status, named.text.includes('is not an agent of this account')]).toEqual([
      400,
      true,
    ]);
    expect((await send(browser, path, { ...fields, agent_ids: [] })).status).toBe(303);
    expect((await readWebhook(account, webhook)).events).toEqual(EVENTS);
  });

  it('send tests, and show each delivery with its attempts until it has ended', async () => {
    const { world, account, browser } = await enter('developer');
    const webhook = await makeWebhook(account);
    const path = `/console/webhooks/${webhook.id}`;
    const sent = await send(browser, `${path}/test`);
    const delivery = sent.headers.get('Location') ?? '';
    const waiting = await browser.get(delivery);
    expect(waiting.text).toContain(`hx-get="${delivery}?part=progress"`);
    expect(waiting.text).toContain('There was no attempt yet.');
    await world.deliver();
    const ended = await browser.get(delivery);
    expect(ended.text).not.toContain('hx-get');
    for (const text of [
      '>200</td>',
      'Delivered',
      `&quot;webhook_id&quot;: &quot;${webhook.id}&quot;`,
    ]) {
      expect(ended.text).toContain(text);
    }
    expect(ended.cost.trips).toBe(1);
    expect((await browser.get(`${delivery}?part=progress`)).text).toMatch(
      /^<section id="delivery">/,
    );

    world.advance(1);
    const off = await makeWebhook(account);
    const unsent = await send(browser, `/console/webhooks/${off.id}/test`);
    await account.must(200, 'PUT', `/v1/webhooks/${off.id}`, { is_active: false });
    await world.deliver();
    const givenUp = await browser.get(unsent.headers.get('Location') ?? '');
    expect(givenUp.text).toContain('There was no attempt.');

    world.advance(1);
    const slow = await makeWebhook(account);
    world.internet.on(slow.host, answers(503));
    await send(browser, `/console/webhooks/${slow.id}/test`);
    await world.deliver();
    expect((await browser.get('/console/webhooks')).text).toContain(
      '1 delivery failed and will be tried again',
    );
    world.internet.on(webhook.host, () => new Response(HOSTILE, { status: 410 }));
    const again = (await send(browser, `${delivery}/redeliver`)).headers.get('Location') ?? '';
    expect(again).not.toBe(delivery);
    await world.deliver();
    const failed = await browser.get(again);
    expect(failed.text).toContain('The answer was 410.');
    expect(failed.text).toContain(delivery.split('/').at(-1));
    expect(failed.text).not.toContain('<script>alert');
    const list = await browser.get(path);
    expect(list.text).toContain('The receiver answered 410: it is gone.');
    const only = async (status: string) => (await browser.get(`${path}?status=${status}`)).text;
    expect((await only('failed')).includes(again)).toBe(true);
    expect((await only('failed')).includes(delivery)).toBe(false);
    expect(await only('pending')).toContain('No delivery is pending.');
    const all = await browser.get('/console/webhooks');
    expect(all.text).toContain('1 of the last 2 deliveries failed');
    expect(all.text).toMatch(/badge bad">disabled</);
    expect(all.cost.trips).toBe(2);
    const refused = await send(browser, `${again}/redeliver`);
    expect([refused.status, refused.text.includes('role="alert">The webhook is disabled')]).toEqual(
      [409, true],
    );
    expect((await readDelivery(account, webhook, again.split('/').at(-1) ?? '')).status).toBe(
      'failed',
    );
  });

  it('let an auditor look only, and an approver not at all', async () => {
    const { world, account, browser: auditor } = await enter('auditor');
    const webhook = await makeWebhook(account);
    const path = `/console/webhooks/${webhook.id}`;
    const { body } = await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
    await world.deliver();
    const delivery = `${path}/deliveries/${body.id}`;
    for (const page of ['/console/webhooks', path, delivery]) {
      const { status, text } = await auditor.get(page);
      expect([
        status,
        /<form method="post" action="\/console\/webhooks|\/edit|\/new/.test(text),
      ]).toEqual([200, false]);
    }
    const changes = [
      '/edit',
      '/switch',
      '/rotate-secret',
      '/delete',
      '/test',
      `/deliveries/${body.id}/redeliver`,
    ];
    for (const change of ['', ...changes.map((change) => `/${webhook.id}${change}`)]) {
      expect((await send(auditor, `/console/webhooks${change}`)).status).toBe(403);
    }
    for (const page of ['/console/webhooks/new', `${path}/edit`])
      expect((await auditor.get(page)).status).toBe(403);
    const { browser: approver } = await makeMember(account, 'approver');
    for (const page of ['/console/webhooks', path, delivery])
      expect((await approver.get(page)).status).toBe(403);
  });

  it('of another account are not found', async () => {
    const { world, browser } = await enter('developer');
    const other = await world.account();
    const webhook = await makeWebhook(other);
    const { body } = await other.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
    const path = `/console/webhooks/${webhook.id}`;
    const pages = [path, `${path}/edit`, `${path}/deliveries/${body.id}`, '/console/webhooks/x'];
    for (const page of pages) expect((await browser.get(page)).status).toBe(404);
    const changes = [
      'edit',
      'switch',
      'rotate-secret',
      'delete',
      'test',
      `deliveries/${body.id}/redeliver`,
    ];
    for (const change of changes) {
      const fields = { is_active: 'false', url: 'https://a.example.com', events: EVENTS };
      expect((await send(browser, `${path}/${change}`, fields)).status).toBe(404);
    }
    expect((await readWebhook(other, webhook)).is_active).toBe(true);
  });
});
