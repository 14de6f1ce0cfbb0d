import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Browser } from '../support/browser';
import { readHiddenFields } from '../support/html';
import { makeMember, type TestMember } from '../support/members';
import { countRows } from '../support/tables';
import { makeWebhook } from '../support/webhooks';
import { type Answer, type TestAccount, World } from '../support/world';

const PERIOD = { start: '2026-01-01', end: '2026-01-30' };
const DATES = { start_date: PERIOD.start, end_date: PERIOD.end };
const POLICY = {
  name: 'Mail',
  effect: 'approve',
  actions: 'mail.*',
  resources: '*',
  priority: '0',
  do: 'save',
};

/**
 * The forms that create something: the page that shows them, where they are sent, and what a person
 * types.
 */
const forms: [page: string, action: string, fields: Record<string, string | string[]>][] = [
  ['/console/agents/new', '/console/agents', { name: 'Mailer' }],
  ['/console/agents/:agent', '/console/agents/:agent/rotate-key', { grace_period: '0' }],
  [
    '/console/webhooks/new',
    '/console/webhooks',
    { url: 'https://hooks.example.com/a', events: ['audit.created'] },
  ],
  ['/console/webhooks/:webhook', '/console/webhooks/:webhook/rotate-secret', {}],
  [
    '/console/connections/new?service=other',
    '/console/connections',
    {
      ...{ name: 'Mail', base_url: 'https://mail.example.com', auth_type: 'none' },
      ...{ agent_ids: ':agent', rule: [] },
      ...{ wait: '25', timeout: '60', repeat_after: '600' },
    },
  ],
  [
    '/console/channels/new',
    '/console/channels',
    { name: 'Mail', events: ['permission.requested'] },
  ],
  ['/console/policies/new', '/console/policies/new', POLICY],
  ['/console/members/new', '/console/members', { email: 'new@example.com', role: 'auditor' }],
  [
    '/console/me/tokens/new',
    '/console/me/tokens',
    { name: 'CI', lifetime: '90', scopes: 'agents:read' },
  ],
  ['/console/exports/new', '/console/exports', { format: 'csv', ...DATES }],
  ['/console/reports/new', '/console/reports', { report_type: 'gdpr', format: 'json', ...PERIOD }],
  ['/console/audit', '/console/audit/export', { format: 'csv' }],
];

let account: TestAccount;
let owner: TestMember;
const ids: Record<string, string> = {};

beforeAll(async () => {
  account = await new World().account({ plan: 'enterprise' });
  owner = await makeMember(account, 'owner');
  const agent = await account.agent();
  ids.agent = agent.id;
  // An empty log has nothing to export.
  await agent.request();
  ids.webhook = (await makeWebhook(account)).id;
});

const fill = (path: string) => path.replace(/:(\w+)/, (_, name) => ids[name] ?? '');

/** The form as the page has it. */
async function open(
  browser: Browser,
  page: string,
  action: string,
): Promise<Record<string, string>> {
  return readHiddenFields((await browser.get(fill(page))).text, fill(action));
}

/** What a person sees of an answer: where it leads, or the secret that it shows. */
function seen({ status, headers, text }: Answer) {
  const [secret] =
    /cs[ai]_[0-9A-Za-z]{40}|csu_[0-9A-Za-z]{40}|whsec_[A-Za-z0-9+/=]+/.exec(text) ?? [];
  return [status, headers.get('Location') ?? secret];
}

/** Every page with a secret shows it in the same way. */
const WITH_SECRET =
  /<section class="card" aria-labelledby="secret-title">.*Copy it now: it is shown only this once\..*<pre id="secret">.*class="button" href="[^"]+">I have copied it</s;

describe.each(forms)('the form of %s that is sent to %s', (page, action, typed) => {
  it('creates once when it is sent twice, and shows the same again', async () => {
    const { browser } = owner;
    const filled = Object.entries(typed).map(([name, value]) => [
      name,
      value === ':agent' ? (ids.agent ?? '') : value,
    ]);
    const shown: Record<string, string> = await open(browser, page, action);
    const fields = { ...shown, ...Object.fromEntries(filled) };
    expect(fields.once).toMatch(/^[\w-]{22}$/);
    const first = await browser.submit(fill(action), fields);
    expect(first.status).toBeLessThan(400);
    if (first.status < 300) expect(first.text).toMatch(WITH_SECRET);
    const { stored_answers, activity, ...before } = await countRows(env.DB);
    const second = await browser.submit(fill(action), fields);
    expect(seen(second)).toEqual(seen(first));
    expect(seen(first)[1]).toBeTruthy();
    expect(second.cost.trips).toBeLessThanOrEqual(2);
    expect(await countRows(env.DB)).toEqual({ ...before, stored_answers, activity });
  });
});

it('creates once when it is sent twice at the same moment', async () => {
  const { browser } = owner;
  const fields = {
    ...(await open(browser, '/console/agents/new', '/console/agents')),
    name: 'Twin',
  };
  const count = async () =>
    (await account.must(200, 'GET', '/v1/agents?limit=100')).body.data.length;
  const before = await count();
  const answers = await Promise.all([1, 2, 3].map(() => browser.submit('/console/agents', fields)));
  expect(new Set(answers.map((answer) => JSON.stringify(seen(answer)))).size).toBe(1);
  expect(await count()).toBe(before + 1);
});

it('creates another one from the same page if something else is typed, and from a new page', async () => {
  const { browser } = owner;
  const fields = await open(browser, '/console/agents/new', '/console/agents');
  const keys = new Set<unknown>();
  for (const form of [
    fields,
    fields,
    await open(browser, '/console/agents/new', '/console/agents'),
  ]) {
    const [, key] = seen(
      await browser.submit('/console/agents', { ...form, name: `Agent ${keys.size}` }),
    );
    keys.add(key);
  }
  expect(keys.size).toBe(3);
});

it('shows nobody else what the form created', async () => {
  const twin = await makeMember(account, 'admin');
  const fields = {
    ...(await open(owner.browser, '/console/agents/new', '/console/agents')),
    name: 'Mine',
  };
  const csrf = await owner.browser.csrf();
  const mine = seen(await owner.browser.submit('/console/agents', { ...fields, csrf }));
  expect((await twin.browser.submit('/console/agents', { ...fields, csrf })).status).toBe(403);
  const theirs = seen(await twin.browser.submit('/console/agents', fields));
  expect(theirs[0]).toBe(201);
  expect(theirs).not.toEqual(mine);
});

it('shows the key no more once the agent is deleted or the person may no longer see it', async () => {
  const developer = await makeMember(account, 'developer');
  const fields = {
    ...(await open(developer.browser, '/console/agents/new', '/console/agents')),
    name: 'Short-lived',
  };
  const path = '/console/agents';
  const [, key] = seen(await developer.browser.submit(path, fields));
  await account.must(200, 'PUT', `/v1/members/${developer.id}`, { role: 'auditor' });
  expect((await developer.browser.submit(path, fields)).status).toBe(403);
  await account.must(200, 'PUT', `/v1/members/${developer.id}`, { role: 'developer' });
  expect(seen(await developer.browser.submit(path, fields))[1]).toBe(key);
  const { data } = (await account.must(200, 'GET', '/v1/agents?limit=100')).body;
  const { id } = data.find(({ name }: { name: string }) => name === 'Short-lived');
  await account.must(204, 'DELETE', `/v1/agents/${id}`);
  expect(seen(await developer.browser.submit(path, fields))[1]).not.toBe(key);
});

it('shows the key for five minutes', async () => {
  const world = new World();
  const { browser } = await makeMember(await world.account(), 'owner');
  const path = '/console/agents';
  const fields = { ...(await open(browser, '/console/agents/new', path)), name: 'Later' };
  const first = seen(await browser.submit(path, fields));
  world.advance(5 * 60_000);
  expect(seen(await browser.submit(path, fields))).toEqual(first);
  world.advance(1_000);
  const late = await browser.submit(path, fields);
  expect(late.status).toBe(409);
  expect(late.text).toContain('This form was sent before.');
  expect(late.text).not.toContain(first[1]);
});

it('approves the request once with the rule that is made of it', async () => {
  const agent = await account.agent();
  const { id } = await agent.request({
    action: 'mail.send',
    resource: 'mail:support',
    scope: { max: 5 },
  });
  const page = `/console/policies/new?permission=${id}`;
  const { text } = await owner.browser.get(page);
  const fields = {
    ...{
      ...readHiddenFields(text, '/console/policies/new'),
      ...POLICY,
      permission: id,
      approve: 'on',
    },
    ...{ condition_key: 'max', condition_operator: 'max', condition_value: '5' },
  };
  for (let i = 0; i < 2; i++) {
    const [status, location] = seen(await owner.browser.submit('/console/policies/new', fields));
    expect([status, location]).toEqual([303, `/console/permissions/${id}`]);
  }
});
