import { describe, expect, it } from 'vitest';
import type { Browser } from '../support/browser';
import { depth } from '../support/depth';
import { readHiddenFields, readText } from '../support/html';
import { makeMember } from '../support/members';
import { type Json, type TestAccount, World } from '../support/world';

const NEW = '/console/policies/new';
const REFUNDS = {
  name: 'Refunds',
  effect: 'approve',
  actions: ['refund.*'],
  resources: ['*'],
  conditions: { amount: {} },
};
const BUDGET = { per: 'day', requests: 3, sum: { key: 'amount', max: 1.5 } };

/** The fields of the form as a person fills them in for a policy without a budget. */
const FILLED = {
  name: 'Refunds',
  effect: 'approve',
  actions: 'refund.*',
  resources: '*',
  agents: 'all',
  priority: '0',
  do: 'save',
};
const FIELDS = {
  budget_per: 'day',
  budget_requests: '3',
  budget_key: 'amount',
  budget_max: '1.5',
  expires_at: '2026-02-01T12:30',
};

async function makeScene(role = 'admin') {
  const world = new World();
  await world.account();
  const account = await world.account();
  const { browser } = await makeMember(account, role);
  return { world, account, browser, agent: await account.agent() };
}

async function createPolicy(account: TestAccount, fields: Json): Promise<Json> {
  return (await account.must(201, 'POST', '/v1/policies', { ...REFUNDS, ...fields })).body;
}

/** Sends the form of a page with these fields. */
async function fill(browser: Browser, path: string, fields: Record<string, string>) {
  const hidden = readHiddenFields((await browser.get(path)).text, path);
  return await browser.submit(path, { ...hidden, ...FILLED, ...fields });
}

/** The text of a page, without its markup. */
async function textOf(browser: Browser, path: string): Promise<string> {
  return readText((await browser.get(path)).text);
}

describe('the form of a policy', () => {
  it('sets a budget and an expiry, and shows them again', async () => {
    const { account, browser } = await makeScene();
    expect((await fill(browser, NEW, FIELDS)).status).toBe(303);
    const [policy] = (await account.must(200, 'GET', '/v1/policies')).body.data;
    expect([policy.budget, policy.expires_at]).toEqual([BUDGET, '2026-02-01T12:30:00.000Z']);
    const { text } = await browser.get(`/console/policies/${policy.id}`);
    for (const [name, value] of Object.entries(FIELDS).slice(1))
      expect(text).toMatch(new RegExp(`<input[^>]* name="${name}"[^>]* value="${value}"`));
    expect(text).toMatch(/<option value="day" selected="">/);
  });

  it('keeps the count and the expiry of a policy when something else is changed', async () => {
    const { world, account, browser, agent } = await makeScene();
    const expiry = '2026-01-31T12:00:00.500Z';
    const policy = await createPolicy(account, { budget: BUDGET, expires_at: expiry });
    await agent.request({ action: 'refund.send', scope: { amount: 1 } });
    world.advance(1_000);
    const fields = { ...FIELDS, expires_at: '2026-01-31T12:00:00.500', name: 'Other' };
    expect((await fill(browser, `/console/policies/${policy.id}`, fields)).status).toBe(303);
    const { body } = await account.must(200, 'GET', `/v1/policies/${policy.id}`);
    expect(body).toMatchObject({ name: 'Other', budget: BUDGET, expires_at: expiry });
    expect(body.usage).toMatchObject({ requests: 1, sum: 1 });
  });

  it('takes budget and expiry away where they are empty, or the effect has none', async () => {
    const { account, browser } = await makeScene();
    const none = Object.fromEntries(Object.keys(FIELDS).map((name) => [name, '']));
    for (const fields of [none, { ...FIELDS, effect: 'deny' }]) {
      const policy = await createPolicy(account, {
        budget: BUDGET,
        expires_at: '2026-03-01T00:00:00Z',
      });
      expect((await fill(browser, `/console/policies/${policy.id}`, fields)).status).toBe(303);
      const { body } = await account.must(200, 'GET', `/v1/policies/${policy.id}`);
      expect([body.budget, body.expires_at, body.usage]).toEqual([null, null, null]);
    }
  });

  it.each<[Record<string, string>, string]>(
    depth.cases(
      [
        [{ budget_per: '' }, 'budget_per'],
        [{ budget_requests: '0' }, 'budget_requests'],
        [{ budget_requests: 'many' }, 'budget_requests'],
        [{ budget_key: '' }, 'budget_key'],
        [{ budget_max: '' }, 'budget_max'],
        [{ budget_max: '0.0000001' }, 'budget_max'],
        [{ budget_max: '1e9' }, 'budget_max'],
        [{ expires_at: '2026-01-31T12:00' }, 'expires_at'],
        [{ expires_at: 'soon' }, 'expires_at'],
      ],
      3,
    ),
  )('says at the field what is wrong with %j', async (fields, name) => {
    const { account, browser } = await makeScene();
    const { status, text } = await fill(browser, NEW, { ...FIELDS, ...fields });
    expect(status).toBe(400);
    expect(text).toMatch(new RegExp(`id="field-${name}"[^>]*aria-invalid="true"`));
    expect((await account.must(200, 'GET', '/v1/policies')).body.data).toEqual([]);
  });

  it('refuses a period without a limit', async () => {
    const { browser } = await makeScene();
    const fields = { budget_per: 'day', budget_requests: '', budget_key: '', budget_max: '' };
    const { status, text } = await fill(browser, NEW, fields);
    expect([status, text.includes('must have requests or sum')]).toEqual([400, true]);
  });
});

describe('the pages of policies', () => {
  it('say the budget, what is used of it, and when it is exhausted', async () => {
    const { world, account, browser, agent } = await makeScene('auditor');
    const policy = await createPolicy(account, { budget: BUDGET });
    await createPolicy(account, {
      ...{ name: 'All', priority: -1 },
      budget: { per: 'total', requests: 1 },
    });
    const paths = ['/console/policies', `/console/policies/${policy.id}`];
    for (const path of paths) {
      const text = await textOf(browser, path);
      expect(text).toContain('Each day (UTC) at most 3 requests and 1.5 of amount together.');
      expect(text).toContain('Today (UTC): 0 of 3 approved, 0 of 1.5 amount.');
      expect(text).not.toContain('exhausted');
    }
    await agent.request({ action: 'refund.send', scope: { amount: 1.5 } });
    for (const path of paths) {
      const text = await textOf(browser, path);
      expect(text).toContain('Today (UTC): 1 of 3 approved, 1.5 of 1.5 amount.');
      expect(text).toContain('exhausted');
    }
    const list = await textOf(browser, '/console/policies');
    expect(list).toContain('In all at most 1 request.');
    expect(list).toContain('Since 2026-01-31 12:00 UTC: 0 of 1 approved.');
    // The session ends after 12 hours without a request.
    world.advance(6 * 3_600_000);
    await browser.get('/console');
    world.advance(6 * 3_600_000);
    expect(await textOf(browser, paths[1] ?? '')).toContain('Today (UTC): 0 of 3 approved');
  });

  it('write numbers as in the language of the reader', async () => {
    const { account, browser, agent } = await makeScene('auditor');
    const policy = await createPolicy(account, {
      budget: { per: 'day', requests: 3_000, sum: { key: 'amount', max: 20_000.5 } },
      conditions: { amount: { min: 1.5, max: 2_000.5 }, parts: { max: 4_000 } },
      max_uses: 1_000,
    });
    await agent.request({ action: 'refund.send', scope: { amount: 1_000.5, parts: 1 } });
    for (const path of ['/console/policies', `/console/policies/${policy.id}`]) {
      const headers = { 'Accept-Language': 'de' };
      const text = readText((await browser.send('GET', path, { headers })).text);
      expect(text).toContain('amount is from 1,5 to 2.000,5 and parts is at most 4.000.');
      expect(text).toContain('allows at most 1.000 uses.');
      expect(text).toContain('at most 3.000 requests and 20.000,5 of amount together.');
      expect(text).toContain('1 of 3.000 approved, 1.000,5 of 20.000,5 amount.');
    }
  });

  it('say when a policy expires, and that it has expired', async () => {
    const { world, account, browser } = await makeScene();
    const policy = await createPolicy(account, { expires_at: '2026-01-31T12:01:00Z' });
    const path = `/console/policies/${policy.id}`;
    expect(await textOf(browser, path)).toContain('It expires on 2026-01-31 12:01 UTC.');
    world.advance(60_000);
    const text = await textOf(browser, path);
    expect(text).toContain('It expired on 2026-01-31 12:01 UTC.');
    expect(text).toMatch(/approve\s?expired\s?created by/);
    expect(await textOf(browser, '/console/policies')).toMatch(/approve\s?expired priority 0/);
  });

  it('name the policies without room in a simulation and beside a request', async () => {
    const { account, browser, agent } = await makeScene();
    await createPolicy(account, { budget: { per: 'total', requests: 1 } });
    const asked = { action: 'refund.send', resource: 'order:1', scope: { amount: 1 } };
    await agent.request(asked);
    const { id } = await agent.request(asked);
    const query = new URLSearchParams({ ...asked, scope: '{"amount": 1}' });
    const simulated = await textOf(browser, `/console/policies?${query}`);
    expect(simulated).toContain('Expired, or without room in the budget: Refunds');
    const card = await textOf(browser, `/console/permissions/${id}`);
    expect(card).toContain('Refunds would apply, but has no room left in its budget.');
  });

  it('try a draft on past requests without its budget, and say so', async () => {
    const { browser, agent } = await makeScene();
    await agent.request({ action: 'refund.send', scope: { amount: 1 } });
    const { status, text } = await fill(browser, NEW, { ...FIELDS, do: 'try' });
    expect(status).toBe(200);
    expect(readText(text)).toContain('Its budget is not counted here');
    expect(readText(text)).toContain('It expires on 2026-02-01 12:30 UTC.');
  });
});
