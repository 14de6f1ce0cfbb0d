import { beforeEach, describe, expect, it } from 'vitest';
import type { Browser } from '../support/browser';
import { callUpstream, makePayments, RULES, UPSTREAM } from '../support/connection-calls';
import { readText } from '../support/html';
import { makeMember } from '../support/members';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const LIST = '/console/connections';

let world: World;
let account: TestAccount;
let agent: TestAgent;
let browser: Browser;
/** A connection of the account; another account has one with the same name. */
let connection: Json;

beforeEach(async () => {
  world = new World();
  world.internet.on(UPSTREAM, () => Response.json({ done: true }));
  const other = await world.account();
  await makePayments(await other.agent());
  account = await world.account();
  agent = await account.agent();
  connection = await makePayments(agent, { wait: 0 });
  ({ browser } = await makeMember(account, 'owner'));
});

const path = () => `${LIST}/${connection.id}`;
const read = async () => (await account.must(200, 'GET', `/v1/connections/${connection.id}`)).body;

/** The fields of the form on a page, as a browser sends them. */
function fieldsOf(html: string): Record<string, string[]> {
  const fields: Record<string, string[]> = {};
  const add = (name: string | undefined, value: string) => {
    if (name) fields[name] = [...(fields[name] ?? []), unescapeHtml(value)];
  };
  const form = /<form method="post" action="\/console\/connections[^"]*" class="card">.*?<\/form>/s;
  const [text = ''] = form.exec(html) ?? [];
  const elements = /<input\b([^>]*)>|<(textarea|select)\b([^>]*)>(.*?)<\/\2>/gs;
  for (const [, input, tag, others, inner = ''] of text.matchAll(elements)) {
    const attributes = input ?? others ?? '';
    const name = /\bname="([^"]*)"/.exec(attributes)?.[1];
    if (tag === 'textarea') add(name, inner);
    else if (tag === 'select') add(name, /value="([^"]*)" selected/.exec(inner)?.[1] ?? '');
    else if (!/type="checkbox"/.test(attributes) || /\bchecked/.test(attributes))
      add(name, /\bvalue="([^"]*)"/.exec(attributes)?.[1] ?? '');
  }
  const { csrf: _, ...others } = fields;
  return others;
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

describe('the list', () => {
  it('shows the connections of the account, and how to make the first one', async () => {
    const page = await browser.get(LIST);
    expect([page.status, page.cost.trips <= 2]).toEqual([200, true]);
    expect(readText(page.text)).toContain(`Payments https://${UPSTREAM}/v1 on Mailer · 3 rules`);
    expect(page.text.match(/\/console\/connections\/conn_/g)).toHaveLength(1);
    await account.must(204, 'DELETE', `/v1/connections/${connection.id}`);
    expect(readText((await browser.get(LIST)).text)).toContain('There are no connections yet.');
    const developer = await makeMember(account, 'developer');
    const { text } = await developer.browser.get(LIST);
    expect(readText(text)).toContain('An admin or owner can create one.');
    expect((await developer.browser.get(`${LIST}/new`)).status).toBe(403);
    const approver = await makeMember(account, 'approver');
    expect((await approver.browser.get(LIST)).status).toBe(403);
  });
});

describe('the form of a new connection', () => {
  it.each(['github', 'stripe', 'slack', 'openai', 'other'])(
    'is filled in for %s, with rules that the service takes',
    async (service) => {
      const services = await browser.get(`${LIST}/new`);
      expect(services.text).toContain(`${LIST}/new?service=${service}`);
      const page = await browser.get(`${LIST}/new?service=${service}`);
      const fields = fieldsOf(page.text);
      const filled = service === 'other' ? { name: 'O', base_url: 'https://o.example.com' } : {};
      const sent = await browser.submit(LIST, {
        ...{ ...fields, ...filled, secret: 'sk_1', agent_ids: agent.id, do: 'save' },
      });
      expect([sent.status, readText(sent.text).split('Create a connection').at(-1)]).toEqual([
        303,
        '',
      ]);
      const id = sent.headers.get('Location')?.split('/').at(-1);
      const { body } = await account.must(200, 'GET', `/v1/connections/${id}`);
      expect(body.auth).toEqual({ type: 'header', header: 'Authorization', prefix: 'Bearer ' });
      expect(body.rules[0].effect).toBe('allow');
      expect(body.rules.at(-1)).toEqual({ effect: 'ask', whole_input: false });
      expect(readText((await browser.get(`${LIST}/${id}`)).text)).toContain('every path');
    },
  );

  it('says what is wrong, keeps what was typed, and shows no secret again', async () => {
    const fields = fieldsOf((await browser.get(`${LIST}/new?service=other`)).text);
    const sent = await browser.submit(LIST, {
      ...{ ...fields, name: 'Bank', base_url: 'https://10.0.0.1', secret: 'sk_SECRET' },
      ...{ agent_ids: agent.id, 'paths-1': 'v1', 'scope-1': 'amount', do: 'save' },
    });
    expect(sent.status).toBe(400);
    const shown = readText(sent.text);
    for (const fault of ['must begin with / or *', 'needs lines such as amount = {amount}'])
      expect(shown.toLowerCase()).toContain(fault);
    expect(sent.text).toContain('value="Bank"');
    expect(sent.text).not.toContain('sk_SECRET');
    const again = await browser.submit(LIST, {
      ...{ ...fieldsOf(sent.text), 'paths-1': '/v1', 'scope-1': '', secret: 'sk_SECRET' },
    });
    expect(readText(again.text).toLowerCase()).toContain('must name a host, not an ip address');
  });

  it('adds, moves and removes rules without saving', async () => {
    let fields = fieldsOf((await browser.get(`${LIST}/new?service=stripe`)).text);
    const press = async (button: string) => {
      const page = await browser.submit(LIST, { ...fields, do: button });
      expect(page.status).toBe(200);
      fields = fieldsOf(page.text);
      return fields.rule?.map((at) => fields[`paths-${at}`]?.[0]);
    };
    expect(fields.rule).toHaveLength(4);
    expect(await press('up-2')).toEqual(['', '/v1/payouts', '/v1/refunds', '']);
    expect(await press('remove-0')).toEqual(['/v1/payouts', '/v1/refunds', '']);
    expect(await press('add')).toEqual(['/v1/payouts', '/v1/refunds', '', '']);
    expect((await account.must(200, 'GET', '/v1/connections')).body.data).toHaveLength(1);
  });
});

describe('the page of a connection', () => {
  it('shows where it leads, its rules, its calls with outcomes, and its reads', async () => {
    const waits = await callUpstream(agent, connection, { body: { amount: 5 } });
    const done = await callUpstream(agent, connection, { body: { amount: 6 } });
    await account.must(200, 'POST', `/v1/permissions/${done.body.permission_id}/approve`);
    await callUpstream(agent, connection, { body: { amount: 6 } });
    for (let i = 0; i < 3; i++) await callUpstream(agent, connection, { method: 'GET' });
    const page = await browser.get(path());
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    const text = readText(page.text);
    for (const part of [
      `Base URL https://${UPSTREAM}/v1`,
      `/v1/connections/${connection.id}/proxy`,
      'sent at once GET or HEAD on every path',
      'refused DELETE on every path',
      'asks Every method on every path',
      'pending',
      '2026-01-31 Mailer 3',
    ])
      expect(text).toContain(part);
    expect(page.text).toContain(`/console/permissions/${waits.body.permission_id}`);
    expect(page.text).toContain(`/console/permissions/${done.body.permission_id}`);
    expect(text).toMatch(/done|succeeded/);
    expect(page.text).not.toContain('sk_SECRET');
    const auditor = await makeMember(account, 'auditor');
    const seen = await auditor.browser.get(path());
    expect(seen.status).toBe(200);
    expect(seen.text).not.toContain(`${path()}/edit`);
    expect((await auditor.browser.submit(`${path()}/delete`)).status).toBe(403);
  });

  it('changes only what differs, and keeps every rule as it is', async () => {
    const rules = [
      ...RULES.slice(0, 2),
      {
        ...{ effect: 'ask', action: 'a.b', resource: 'c:d', title: 'Pay {a.b}' },
        scope: { 'a = b': '{x}', amount: '{amount}' },
        series: { requests: 5, expires_in: 90, varies: ['amount'] },
        whole_input: true,
      },
    ];
    await account.must(200, 'PUT', `/v1/connections/${connection.id}`, { rules });
    const before = await read();
    const fields = fieldsOf((await browser.get(`${path()}/edit`)).text);
    const same = await browser.submit(`${path()}/edit`, { ...fields, do: 'save' });
    expect([same.status, await read()]).toEqual([303, before]);
    await browser.submit(`${path()}/edit`, { ...fields, name: 'New', wait: '3', do: 'save' });
    expect(await read()).toEqual({
      ...{ ...before, name: 'New', wait: 3, updated_at: expect.any(String) },
    });
    const stale = await browser.submit(`${path()}/edit`, { ...fields, name: 'Old', do: 'save' });
    expect([stale.status, (await read()).name]).toEqual([409, 'New']);
    const { data } = (await account.must(200, 'GET', '/v1/activity?action=connection.updated'))
      .body;
    const changes = data.map((record: Json) => record.changes.join());
    expect(changes.toSorted()).toEqual(['name,wait', 'rules']);
  });

  it('needs the credential again for another host', async () => {
    const fields = fieldsOf((await browser.get(`${path()}/edit`)).text);
    const moved = { ...fields, base_url: 'https://elsewhere.example.com', do: 'save' };
    const refused = await browser.submit(`${path()}/edit`, moved);
    expect([refused.status, readText(refused.text)]).toEqual([
      400,
      expect.stringContaining('required again for another origin'),
    ]);
    expect((await browser.submit(`${path()}/edit`, { ...moved, secret: 'x' })).status).toBe(303);
    expect((await read()).base_url).toBe('https://elsewhere.example.com');
  });

  it('tests, switches and deletes the connection', async () => {
    const tested = await browser.submit(`${path()}/test`, { path: '/balance' });
    expect(readText(tested.text)).toContain('The service answered 200 after 0 ms.');
    const wrong = await browser.submit(`${path()}/test`, { path: 'x' });
    expect(readText(wrong.text)).toContain('The path must be a path that begins with /');
    world.internet.on(UPSTREAM, () => {
      throw new TypeError('Network connection lost.');
    });
    const failed = await browser.submit(`${path()}/test`, { path: '/balance' });
    expect([failed.status, readText(failed.text)]).toEqual([
      200,
      expect.stringContaining('The other service could not be reached.'),
    ]);
    await browser.submit(`${path()}/switch`, { is_active: 'false' });
    expect((await read()).is_active).toBe(false);
    const stale = await browser.submit(`${path()}/switch`, { is_active: 'true', updated_at: 'x' });
    expect([stale.status, (await read()).is_active]).toEqual([409, false]);
    const { updated_at } = await read();
    await browser.submit(`${path()}/switch`, { is_active: 'true', updated_at });
    expect((await read()).is_active).toBe(true);
    expect((await browser.submit(`${path()}/delete`)).status).toBe(303);
    expect((await browser.get(path())).status).toBe(404);
  });
});
