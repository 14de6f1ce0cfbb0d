import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import type { Browser } from '../support/browser';
import { agentNumbers, fillWithDenials } from '../support/bulk-log';
import { readHiddenFields, readText } from '../support/html';
import { makeMember } from '../support/members';
import { approve, makeReview } from '../support/reviews';
import { type Answer, type Json, type TestAccount, World } from '../support/world';

const HOUR = 3_600_000;
/** The most rows that a page of the console reads. */
const MOST_READ = 9_900;

/** The sequences of the entries that a page lists. */
const shown = ({ text }: Answer) =>
  [...text.matchAll(/>#(\d+)<\/a><\/th>/g)].map(([, sequence]) => Number(sequence));

/** The addresses that the cells of the first row lead to, by the name of the column. */
function cellsOf({ text }: Answer): Map<string, string> {
  const [, table = ''] = text.split('<caption class="hidden">Entries</caption>');
  const names = [...table.matchAll(/<th scope="col"[^>]*>([^<]*)<\/th>/g)].map(([, name]) => name);
  const [, row = ''] = /<tbody[^>]*>(.*?)<\/tr>/s.exec(table) ?? [];
  const cells = row.split(/<t[hd] /).slice(1);
  const links = cells.map((cell) => /href="([^"]+)"/.exec(cell)?.[1]?.replaceAll('&amp;', '&'));
  return new Map(links.map((link, index) => [names[index] ?? '', link ?? '']));
}

/** What a form of the page that is sent to the explorer says, with some fields changed. */
function fill({ text }: Answer, fields: Record<string, string>): string {
  const [, form = ''] = text.split('<form method="get" action="/console/audit">');
  const inner = form.slice(0, form.indexOf('</form>'));
  const names = [...inner.matchAll(/<(?:input|select)[^>]* name="([^"]+)"/g)].map(
    ([, name]) => name,
  );
  for (const name of Object.keys(fields)) expect(names).toContain(name);
  const empty = Object.fromEntries(names.map((name) => [name, '']));
  return `/console/audit?${new URLSearchParams({ ...empty, ...fields })}`;
}

/**
 * An account whose payouts two of its people decide, over some days, and whose neighbour has a
 * history of its own.
 */
async function makePayouts() {
  const world = new World();
  const neighbour = await makeReview({ approvals: 1 }, ['approver'], { world });
  await neighbour.agent.request({ resource: 'account:supplier-3', scope: { amount: 4_000 } });
  const scene = await makeReview({ approvals: 1 }, ['approver', 'approver', 'auditor'], { world });
  const [ada, bea, auditor] = scene.people;
  for (let i = 0; i < 12; i++) {
    const { id } = await scene.agent.request({
      action: i % 4 ? 'payout.send' : 'payout.plan',
      resource: `account:supplier-${i % 5}`,
      scope: { amount: i * 500, currency: 'EUR', nested: { amount: 1 } },
    });
    await approve(scene, i % 3 ? ada : bea, id);
    world.advance(8 * HOUR);
  }
  for (const { browser } of [ada, bea, auditor]) await browser.signIn();
  const log = (await scene.account.log()).reverse();
  return { ...scene, ada, bea, auditor, log };
}

let scene: ReturnType<typeof makePayouts> | undefined;
function payouts() {
  scene ??= makePayouts();
  return scene;
}

const sequences = (log: Json[], matches: (entry: Json) => boolean) =>
  log.filter(matches).map(({ sequence }) => sequence);

it('answers who approved payouts of an amount to a supplier in one form', async () => {
  const { auditor, bea, log } = await payouts();
  const opened = await auditor.browser.get('/console/audit');
  const asked = {
    event_type: 'approve',
    resource: 'account:supplier-*',
    decided_by: bea.id,
    scope_min: '1500',
    scope_max: '4500',
    period: 'month',
  };
  const page = await auditor.browser.get(fill(opened, asked));
  const expected = sequences(
    log,
    ({ event_type, details }) =>
      event_type === 'approve' &&
      details.decided_by === bea.id &&
      details.scope.amount >= 1500 &&
      details.scope.amount <= 4500,
  );
  expect(expected).toHaveLength(3);
  expect([page.status, shown(page), page.cost.trips]).toEqual([200, expected, 2]);
  const text = readText(page.text);
  expect(text).toContain('Amount: amount at least 1,500, at most 4,500Remove');
  expect(text).toContain('When: This month, by the clocks of UTC');
  expect(text).toContain('1,500 EUR (amount) and 1 more');
  const [, removed = ''] =
    /href="([^"]+)" aria-label="Remove the filter Amount"/.exec(page.text) ?? [];
  expect(removed).not.toContain('scope_');
  // A name that the agent chose, instead of the usual one.
  const none = await auditor.browser.get('/console/audit?scope_key=max_amount&scope_min=0');
  expect(readText(none.text)).toContain('No entry matches these filters.');
});

it('says at its field what is wrong with an amount', async () => {
  const { auditor } = await payouts();
  const query = 'scope_min=1%2C000&scope_max=2000&resource=account:*';
  const page = await auditor.browser.get(`/console/audit?${query}`);
  expect([page.status, page.text]).toEqual([
    400,
    expect.stringMatching(/value="1,000"[^>]*>.*field-scope_min-fault/s),
  ]);
  const reversed = await auditor.browser.get('/console/audit?scope_min=2&scope_max=1');
  expect([reversed.status, reversed.text]).toEqual([
    400,
    expect.stringContaining('must not be above scope_max'),
  ]);
  const unbounded = await auditor.browser.get('/console/audit?scope_key=amount');
  expect([unbounded.status, unbounded.text]).toEqual([
    400,
    expect.stringContaining('field-scope_key-fault'),
  ]);
});

it('shows the number that it read from an amount, in the language of the reader', async () => {
  const { auditor } = await payouts();
  const chipsIn = async (language: string, query: string) => {
    const headers = { 'Accept-Language': language };
    const { text } = await auditor.browser.send('GET', `/console/audit?${query}`, { headers });
    return readText(/<ul class="chips".*?<\/ul>/s.exec(text)?.[0] ?? '');
  };
  // A reader of German may mean one thousand five hundred.
  const typed = 'scope_max=1.500';
  expect(await chipsIn('de', typed)).toContain('Amount: amount at most 1,5Remove');
  expect(await chipsIn('en', typed)).toContain('Amount: amount at most 1.5Remove');
  const range = 'scope_min=1500.5&scope_max=2e3';
  expect(await chipsIn('de', range)).toContain('at least 1.500,5, at most 2.000Remove');
  expect(await chipsIn('de', 'scope_min=1500&scope_max=1500')).toContain('amount 1.500Remove');
  // What is no number is shown as it was typed.
  expect(await chipsIn('de', 'scope_min=1,000')).toContain('at least 1,000Remove');
  const { text } = await auditor.browser.get('/console/audit');
  for (const name of ['scope_min', 'scope_max'])
    expect(text).toContain(`id="field-${name}-hint">Without separators, such as 1500.5<`);
});

it('leads from every cell to the entries with the same', async () => {
  const { auditor, log } = await payouts();
  const page = await auditor.browser.get('/console/audit');
  const [first] = log;
  const cells = cellsOf(page);
  expect([...cells.keys()]).toEqual([
    ...['Entry', 'Time', 'Event', 'Agent', 'Action', 'Resource', 'Amount', 'Decided by'],
  ]);
  const same: Record<string, (entry: Json) => boolean> = {
    Time: ({ created_at }) => created_at.slice(0, 10) === first.created_at.slice(0, 10),
    Event: ({ event_type }) => event_type === first.event_type,
    Agent: ({ agent_id }) => agent_id === first.agent_id,
    Action: ({ details }) => details.action === first.details.action,
    Resource: ({ details }) => details.resource === first.details.resource,
    Amount: ({ details }) => details.scope.amount === first.details.scope.amount,
    'Decided by': ({ details }) => details.decided_by === first.details.decided_by,
  };
  for (const [name, isSame] of Object.entries(same)) {
    const filtered = await auditor.browser.get(cells.get(name) ?? '');
    expect([name, shown(filtered)]).toEqual([name, sequences(log, isSame)]);
  }
  expect(cells.get('Entry')).toBe(`/console/audit/${first.id}`);
  // A cell adds to the filters that are there.
  const narrowed = cellsOf(await auditor.browser.get('/console/audit?action=payout.send'));
  expect(narrowed.get('Amount')).toContain('action=payout.send&');
});

it('makes no filter of a number that cannot be one', async () => {
  const { world } = await payouts();
  const account = await world.account();
  const agent = await account.agent();
  const { browser } = await makeMember(account, 'auditor');
  for (const scope of [{ limits: { amount: 5 } }, { '': 5 }, { ' amount': 5 }, { name: 'five' }]) {
    await agent.request({ scope });
    expect(cellsOf(await browser.get('/console/audit')).get('Amount')).toBe('');
  }
  await agent.request({ scope: { amount: 1e21 } });
  const link = cellsOf(await browser.get('/console/audit')).get('Amount') ?? '';
  expect(shown(await browser.get(link))).toHaveLength(1);
});

it('shows a period on the clocks of the reader, whose zone the quiet hours or the browser say', async () => {
  const world = new World();
  // 20 October 2026, a Tuesday, 14:30 UTC: before the clocks of Berlin change.
  world.advance(Date.parse('2026-10-20T14:30:00Z') - world.now);
  const account = await world.account({ plan: 'pro' });
  const agent = await account.agent();
  const times: string[] = [];
  const ask = async (time: string) => {
    world.advance(Date.parse(time) - world.now);
    await agent.request();
    times.push(time);
  };
  await ask('2026-10-31T22:59:59Z');
  await ask('2026-10-31T23:00:00Z');
  await ask('2026-11-08T22:59:59Z');
  await ask('2026-11-08T23:00:00Z');
  await ask('2026-11-10T22:59:59Z');
  await ask('2026-11-10T23:00:00Z');
  await ask('2026-11-10T23:59:59Z');
  await ask('2026-11-11T00:00:00Z');
  world.advance(HOUR);
  const { browser, token } = await makeMember(account, 'auditor');
  const found = async (query: string) =>
    shown(await browser.get(`/console/audit?${query}`)).map((sequence) => times[sequence - 1]);
  const berlin = 'zone=Europe%2FBerlin';
  expect(await found('period=today')).toEqual(times.slice(-1).reverse());
  expect(await found(`period=today&${berlin}`)).toEqual(times.slice(-3).reverse());
  expect(await found(`period=week&${berlin}`)).toEqual(times.slice(-5).reverse());
  expect(await found(`period=month&${berlin}`)).toEqual(times.slice(-7).reverse());
  // What is no period or zone has no effect, and a start is more exact.
  expect(await found('period=constructor')).toHaveLength(8);
  expect(await found('period=today&zone=Moon')).toEqual(times.slice(-1).reverse());
  expect(await found('period=today&start_date=2026-11-10')).toHaveLength(4);
  const page = await browser.get('/console/audit');
  expect(page.text).toContain('name="zone" value="" data-time-zone');
  await world.must(200, 'PUT', '/v1/me/notifications', {
    token,
    body: { quiet_hours: { start: '22:00', end: '07:00', time_zone: 'Europe/Berlin' } },
  });
  const known = await browser.get('/console/audit?period=today');
  expect(shown(known)).toHaveLength(3);
  expect(known.text).toContain('name="zone" value="Europe/Berlin" data-time-zone');
  expect(known.text).toMatch(/value="today" aria-current="true"/);
  expect(readText(known.text)).toContain('When: Today, by the clocks of Europe/Berlin');
  // The days of the cells are those of the same clocks.
  const day = cellsOf(known).get('Time') ?? '';
  expect(new URLSearchParams(day.split('?')[1]).get('start_date')).toBe('2026-11-10T23:00:00.000Z');
  expect(new URLSearchParams(day.split('?')[1]).get('end_date')).toBe('2026-11-11T23:00:00.000Z');
});

/** An account with requests for a rare file, many denials after them, and its auditor. */
async function makeLongLog(denials: number, rareRequests = 1) {
  const world = new World();
  await (await world.account()).agent();
  const account = await world.account({ plan: 'pro' });
  const rare = await account.agent({ name: 'Archivist' });
  for (let i = 0; i < rareRequests; i++)
    await rare.request({ resource: 'file:rare', scope: { amount: 7 } });
  const agent = await account.agent();
  world.advance(HOUR);
  await agent.request();
  const [, number = 0] = (await agentNumbers(env.DB)).slice(-2);
  await fillWithDenials(env.DB, denials, [number]);
  const { browser } = await makeMember(account, 'auditor');
  return { world, account, browser, rare };
}

/** Loads what the script of a page loads, until it stops; returns the parts. */
async function goOn(browser: Browser, page: Answer): Promise<Answer[]> {
  const [, address] = /class="further"[^>]* hx-get="([^"]+)"/.exec(page.text) ?? [];
  if (!address) return [];
  const part = await browser.get(address.replaceAll('&amp;', '&'));
  return [part, ...(await goOn(browser, part))];
}

/** Where a person looks further without the script. */
function furtherLink({ text }: Answer): string {
  const [, link = ''] = /href="([^"]+)" rel="next">Look further</.exec(text) ?? [];
  return link.replaceAll('&amp;', '&');
}

it('searches on by itself for what no index has, and says how far it has looked', async () => {
  const { browser } = await makeLongLog(3_000);
  const page = await browser.get('/console/audit?resource=file:rare');
  expect([page.status, shown(page), page.cost.trips]).toEqual([200, [], 2]);
  expect(page.cost.read).toBeLessThan(MOST_READ);
  expect(readText(page.text)).toMatch(/Looked back to [\d-]+ [\d:]+ UTC\. No entry matches so far/);
  // It would begin again at each load.
  expect(page.text).not.toContain('every 5s');
  const parts = await goOn(browser, page);
  expect(parts.map(shown)).toEqual([[], [], [1]]);
  for (const { cost, text } of parts) {
    expect([cost.trips, cost.read < MOST_READ]).toEqual([2, true]);
    expect(text).not.toContain('<h1');
  }
  expect(readText(parts.at(-1)?.text ?? '')).toContain(
    'All entries were looked at. 1 entry matches.',
  );
  // Without the script, by links.
  let next = page;
  for (let i = 0; i < 3; i++) {
    expect(furtherLink(next)).not.toContain('part=');
    next = await browser.get(furtherLink(next));
  }
  expect(shown(next)).toEqual([1]);
  const none = await goOn(browser, await browser.get('/console/audit?scope_min=8'));
  expect(readText(none.at(-1)?.text ?? '')).toContain('No entry matches these filters.');
  // An index has these: the list is complete and stays up to date.
  const indexed = await browser.get('/console/audit?event_type=request&resource=file:rare');
  expect([shown(indexed), indexed.text.includes('every 5s')]).toEqual([[1], true]);
});

it('examines 1,000 entries for a page', async () => {
  // The request is the last of 1,000 entries, and then the next one.
  for (const [denials, found] of [
    [998, [1]],
    [999, []],
  ] as const) {
    const { browser } = await makeLongLog(denials);
    const page = await browser.get('/console/audit?resource=file:rare');
    expect([denials, shown(page)]).toEqual([denials, found]);
  }
});

it('says that matches are further ones where the search begins after the first page', async () => {
  const { browser } = await makeLongLog(2_500, 3);
  const lookFurther = async (query: string) => {
    const first = await browser.get(`/console/audit?resource=file:rare${query}`);
    const page = await browser.get(furtherLink(first));
    const last = (await goOn(browser, page)).at(-1)?.text ?? '';
    return { first: readText(first.text), page: readText(page.text), last: readText(last) };
  };
  const newest = await lookFurther('');
  expect(newest.first).toContain('No entry matches so far');
  expect(newest.page).toContain('No further entry matches so far');
  expect(newest.last).toContain('All entries were looked at. 3 further entries match.');
  // The first page has all of them.
  const oldest = await lookFurther('&order=asc');
  expect(oldest.first).toContain('3 entries match so far');
  expect(oldest.page).toContain('No further entry matches so far');
  expect(oldest.last).toContain('No further entry matches these filters.');
});

it('stops by itself after some pages, and at a full one', async () => {
  const { browser } = await makeLongLog(2_000);
  const first = await browser.get('/console/audit?resource=file:rare');
  const [, address = ''] = /class="further"[^>]* hx-get="([^"]+)"/.exec(first.text) ?? [];
  const later = async (name: string, value: number) => {
    const url = new URL(address.replaceAll('&amp;', '&'), 'https://example.com');
    url.searchParams.set(name, String(value));
    url.searchParams.delete('cursor');
    return browser.get(url.pathname + url.search);
  };
  for (const [name, value, goesOn] of [
    ['looks', 19, true],
    ['looks', 20, false],
    ['found', 49, true],
    ['found', 50, false],
  ] as const) {
    const { text } = await later(name, value);
    expect([name, value, text.includes('hx-get')]).toEqual([name, value, goesOn]);
    expect(text).toContain('>Look further</a>');
  }
  const full = await browser.get('/console/audit?resource=mailbox:*');
  expect([shown(full).length, full.text.includes('Look further')]).toEqual([50, false]);
});

/** Sends the export form of a page. */
async function exportShown(account: TestAccount, browser: Browser, query: string): Promise<Json> {
  const page = await browser.get(`/console/audit?${query}`);
  const hidden = readHiddenFields(page.text, '/console/audit/export');
  const started = await browser.submit('/console/audit/export', { ...hidden, format: 'json' });
  expect([started.status, started.headers.get('Location')]).toEqual([303, '/console/exports']);
  await account.world.work();
  account.world.advance(1);
  const { body } = await account.must(200, 'GET', '/v1/audit/export?limit=1');
  return { ...body.data[0], shown: shown(page).length };
}

it('exports exactly what is shown, with every filter', async () => {
  const { account, auditor, bea } = await payouts();
  for (const query of [
    'action=payout.send&scope_min=500&scope_max=5000',
    `resource=account:supplier-*&decided_by=${bea.id}&event_type=approve&scope_min=1`,
    'period=today&zone=Asia%2FTokyo&action=payout.send',
    'period=week&resource=account:supplier-1',
    'scope_max=-1',
  ]) {
    const made = await exportShown(account, auditor.browser, query);
    expect([query, made.status, made.row_count]).toEqual([query, 'completed', made.shown]);
  }
  const made = await exportShown(account, auditor.browser, 'scope_min=500&action=payout.send');
  expect(made).toMatchObject({ scope_key: 'amount', scope_min: 500, action: 'payout.send' });
  // A form that somebody wrote by hand gets no more than it says.
  const forged = { permission_id: 'perm_x', format: 'json' };
  const refused = await auditor.browser.submit('/console/audit/export', forged);
  expect(refused.status).toBe(400);
});
