import { describe, expect, it } from 'vitest';
import type { Browser } from '../support/browser';
import { depth } from '../support/depth';
import { readText } from '../support/html';
import { makeMember } from '../support/members';
import { approve, makeReview } from '../support/reviews';
import { asIdentifier } from '../support/texts';
import { type Answer, type Json, makeAgent, type TestAccount, World } from '../support/world';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const HOSTILE = `<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e${'x'.repeat(150)}`;

/** The sequences of the entries that a page lists. */
const shown = ({ text }: Answer) =>
  [...text.matchAll(/>#(\d+)<\/a><\/th>/g)].map(([, sequence]) => Number(sequence));

const linkTo = ({ text }: Answer, label: string) => {
  const [, href = ''] = new RegExp(`<a[^>]* href="([^"]+)"[^>]*>${label}</a>`).exec(text) ?? [];
  return href.replaceAll('&amp;', '&');
};

/** The bars of the timeline: where each leads, and how many entries it says it has. */
const bars = ({ text }: Answer) =>
  [...text.matchAll(/<a href="([^"]+)" tabindex="-1"><title>[^<]*: (\d+) /g)].map(
    ([, href = '', entries]) => ({
      href: href.replaceAll('&amp;', '&'),
      entries: Number(entries),
    }),
  );

/** Every sequence that a list shows, page after page. */
async function showAll(browser: Browser, path: string): Promise<number[]> {
  const all: number[] = [];
  for (let next = path; next !== ''; ) {
    const page = await browser.get(next);
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    all.push(...shown(page));
    next = linkTo(page, '(?:Older|Newer)');
  }
  return all;
}

/**
 * An account with two agents whose entries are spread over two days, and its auditor. The tests
 * only read it.
 */
let shared: ReturnType<typeof makeLog> | undefined;

function readLog() {
  shared ??= makeLog();
  return shared;
}

async function makeLog() {
  const { world, account, agent } = await makeAgent(new World(), { plan: 'pro' });
  const other = await account.agent({ name: 'Archivist' });
  for (let i = 0; i < 30; i++) {
    await agent.approved({ action: i % 2 ? 'email.send' : 'file.read' });
    if (i % 10 === 0) await other.request({ action: 'file.read', resource: `file:${i}` });
    world.advance(HOUR);
  }
  const log = (await account.log()).reverse();
  const { browser } = await makeMember(account, 'auditor');
  return { world, account, agent, other, browser, log };
}

const sequences = (log: Json[], matches: (entry: Json) => boolean) =>
  log.filter(matches).map(({ sequence }) => sequence);

describe('the explorer', () => {
  it('shows the entries that the filters in the address match, as the API does', async () => {
    const { account, browser, agent, other, log } = await readLog();
    expect(await showAll(browser, '/console/audit')).toEqual(sequences(log, () => true));
    expect(await showAll(browser, '/console/audit?order=asc')).toEqual(
      sequences(log, () => true).reverse(),
    );
    const { permission_request_id: permission, created_at } = log[5];
    const cases: [string, (entry: Json) => boolean][] = [
      [`agent_id=${other.id}`, ({ agent_id }) => agent_id === other.id],
      ['event_type=approve', ({ event_type }) => event_type === 'approve'],
      ['action=email.send', ({ details }) => details.action === 'email.send'],
      ['resource=file:*', ({ details }) => details.resource.startsWith('file:')],
      ['resource=file:10', ({ details }) => details.resource === 'file:10'],
      [`decided_by=${account.id}`, ({ details }) => details.decided_by === account.id],
      [`permission_id=${permission}`, (entry) => entry.permission_request_id === permission],
      [`start_date=${created_at}`, (entry) => entry.created_at >= created_at],
      // What a field of a form sends: a time without an offset.
      [`end_date=${created_at.slice(0, 16)}`, (entry) => entry.created_at < created_at],
      [
        `agent_id=${agent.id}&event_type=request&action=file.read&start_date=2026-02-01&end_date=`,
        ({ agent_id, event_type, details, created_at: at }) =>
          agent_id === agent.id &&
          event_type === 'request' &&
          details.action === 'file.read' &&
          at >= '2026-02-01',
      ],
    ];
    for (const [query, matches] of cases) {
      const expected = sequences(log, matches);
      expect(expected.length).toBeGreaterThan(0);
      expect(await showAll(browser, `/console/audit?${query}`)).toEqual(expected);
    }
  });

  it('filters by a value that is clicked on, and shows how to remove each filter', async () => {
    const { browser, other } = await readLog();
    const page = await browser.get('/console/audit?event_type=request');
    const filtered = await browser.get(linkTo(page, '<bdi title="[^"]+">Archivist</bdi>'));
    expect(shown(filtered)).toHaveLength(3);
    expect(filtered.text).toMatch(/Agent: <bdi title="[^"]+">Archivist<\/bdi>/);
    expect(filtered.text).toContain('aria-label="Remove the filter Event"');
    const [, href = ''] =
      /<a href="([^"]+)" aria-label="Remove the filter Event"/.exec(filtered.text) ?? [];
    expect(href).toBe(`/console/audit?agent_id=${other.id}`);
    expect(linkTo(filtered, 'Remove all filters')).toBe('/console/audit');
    const one = await browser.get(
      linkTo(page, '<bdi class="breakable" title="file:20">file:<wbr/>20</bdi>'),
    );
    expect(one.text).toMatch(/Resource: <code>file:20/);
    expect(shown(one)).toHaveLength(1);
    const nothing = await browser.get('/console/audit?action=nothing');
    expect([nothing.status, shown(nothing)]).toEqual([200, []]);
    expect(nothing.text).toContain('No entry matches these filters');
  });

  it('says at the field what is wrong with a filter, and keeps what was typed', async () => {
    const { account } = await makeAgent();
    const { browser } = await makeMember(account, 'auditor');
    const page = await browser.get('/console/audit?start_date=yesterday%22%3E&event_type=approve');
    expect([page.status, page.cost.trips]).toEqual([400, 2]);
    expect(page.text).toContain('value="yesterday&quot;&gt;"');
    expect(page.text).toContain('id="field-start_date-fault"');
    expect(page.text).toContain('<option value="approve" selected="">');
    const order = await browser.get('/console/audit?start_date=2026-02-02&end_date=2026-02-01');
    expect([order.status, order.text]).toEqual([
      400,
      expect.stringContaining('must not be after the end'),
    ]);
  });

  it('shortens a long name of an agent, as the forms do that let one choose agents', async () => {
    const account = await new World().account();
    const agent = await account.agent({ name: 'W'.repeat(255) });
    await agent.request();
    const { browser } = await makeMember(account, 'admin');
    for (const page of ['audit', 'policies/new', 'webhooks/new', 'channels/new']) {
      const { text } = await browser.get(`/console/${page}`);
      expect([
        page,
        text.includes(`>${'W'.repeat(60)}…</bdi>`),
        text.includes(`>${'W'.repeat(61)}`),
      ]).toEqual([
        page,
        true,
        // The filter of the explorer is a list to choose from, which no long name widens.
        page === 'audit',
      ]);
    }
  });

  it('counts the entries over time, and each bar leads to exactly its entries', async () => {
    const { browser, log } = await readLog();
    const page = await browser.get('/console/audit');
    const found = bars(page);
    expect(found.length).toBeGreaterThan(5);
    expect(page.text).toMatch(/ from \d{4}-[\d-]+[ \d:]* UTC until now/);
    expect(page.text).toMatch(/<title>[\d-]+[ \d:]* UTC: \d/);
    expect(page.text).toContain('>UTC</text>');
    expect(found.reduce((sum, { entries }) => sum + entries, 0)).toBe(log.length);
    const lists: number[] = [];
    for (const { href, entries } of [found[0], found[3], found.at(-1)] as typeof found) {
      const span = await browser.get(href);
      expect([span.status, shown(span).length]).toEqual([200, entries]);
      lists.push(...bars(span).map((bar) => bar.entries));
      expect(linkTo(span, 'Wider')).toContain('start_date=');
    }
    expect(lists.length).toBeGreaterThan(3);
    // Earlier and later spans are next to each other.
    const [first] = found as [(typeof found)[0]];
    const later = await browser.get(linkTo(await browser.get(first.href), 'Later →'));
    expect(shown(later)[shown(later).length - 1]).toBe(first.entries + 1);
    const old = await browser.get(linkTo(await browser.get(first.href), '← Earlier'));
    expect(old.text).toContain('<h2 id="timeline-title">0 entries');
  });

  it('keeps the newest page up to date, and only that', async () => {
    const { account, agent } = await makeAgent();
    const { browser } = await makeMember(account, 'approver');
    expect((await browser.get('/console/audit')).text).toContain('The log has no entries yet');
    await agent.request();
    const page = await browser.get('/console/audit?action=email.send');
    expect(page.text).toMatch(
      /<div id="entries"[^>]* hx-get="\/console\/audit\?action=email\.send&amp;part=list"/,
    );
    expect(page.text).toContain('data-pauses');
    await agent.request();
    const part = await browser.get('/console/audit?action=email.send&part=list');
    expect([shown(part), part.cost.trips]).toEqual([[2, 1], 2]);
    expect(part.text).toMatch(/^<div id="entries"/);
    for (const query of ['order=asc', 'end_date=2026-02-01']) {
      expect((await browser.get(`/console/audit?${query}`)).text).not.toContain('hx-get');
    }
  });
});

/** Starts an export as the page's form does; returns it completed. */
async function exportShown(
  { world, account, browser }: { world: World; account: TestAccount; browser: Browser },
  query: string,
) {
  const page = await browser.get(`/console/audit?${query}`);
  const form = page.text.split('action="/console/audit/export"')[1]?.split('</form>')[0] ?? '';
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
    ([, name, value]) => [name, value] as [string, string],
  );
  const fields = {
    ...Object.fromEntries(hidden.filter(([name]) => name !== 'csrf')),
    format: 'csv',
    include_details: 'on',
  };
  const started = await browser.submit('/console/audit/export', fields);
  expect([started.status, started.headers.get('Location')]).toEqual([303, '/console/exports']);
  await world.work();
  // So that the next one is newer.
  world.advance(1);
  const { body } = await account.must(200, 'GET', '/v1/audit/export?limit=1');
  return body.data[0];
}

describe('the export of exactly what is shown', () => {
  it.runIf(depth.isDeep)('has as many rows as the filters show', async () => {
    const scene = await readLog();
    const { browser, other, log } = scene;
    const queries = [
      '',
      `agent_id=${other.id}`,
      'event_type=approve',
      `start_date=${log[20].created_at}&end_date=${log[7].created_at}`,
      `agent_id=${log[0].agent_id}&event_type=request&start_date=2026-02-01&order=asc`,
      'action=email.send',
      'action=email.send&event_type=request',
      'resource=file:*',
      `decided_by=${scene.account.id}&action=email.send`,
    ];
    const counts: number[] = [];
    for (const query of queries) {
      const { status, row_count, include_details } = await exportShown(scene, query);
      expect([status, include_details]).toEqual(['completed', true]);
      expect(row_count).toBe((await showAll(browser, `/console/audit?${query}`)).length);
      counts.push(row_count);
    }
    expect(counts[0]).toBe(log.length);
    expect(counts.every((count) => count > 0)).toBe(true);
    expect(new Set(counts.slice(0, 5)).size).toBe(5);
  });

  it('is offered only to those who may export, and only with filters that an export can have', async () => {
    const { account, agent } = await makeAgent();
    await agent.request();
    for (const [role, mayExport] of [
      ['owner', true],
      ['auditor', true],
      ['approver', false],
      ['developer', false],
    ] as const) {
      const { browser } = await makeMember(account, role);
      const page = await browser.get('/console/audit');
      expect(page.text.includes('action="/console/audit/export"')).toBe(mayExport);
      const status = mayExport ? 303 : 403;
      expect((await browser.submit('/console/audit/export', { format: 'json' })).status).toBe(
        status,
      );
      const other = await browser.get('/console/audit?permission_id=perm_x');
      expect(other.text).not.toContain('action="/console/audit/export"');
    }
  });

  it('says why it is refused, and keeps what was chosen', async () => {
    const { account, agent } = await makeAgent();
    await agent.request();
    const { browser } = await makeMember(account, 'auditor');
    const fields = { format: 'parquet', event_type: 'request' };
    for (let i = 0; i < 5; i++)
      expect((await browser.submit('/console/audit/export', fields)).status).toBe(303);
    const refused = await browser.submit('/console/audit/export', fields);
    expect(refused.status).toBe(429);
    expect(refused.text).toContain('<option value="parquet" selected="">');
    expect(refused.text).toContain('<input type="hidden" name="event_type" value="request"/>');
    expect(shown(refused)).toEqual([1]);
    const wrong = await browser.submit('/console/audit/export', { format: 'pdf' });
    expect([wrong.status, wrong.text]).toEqual([
      400,
      expect.stringContaining('id="field-format-fault"'),
    ]);
  });
});

describe('an entry', () => {
  it('tells the story of its request: who voted, who decided, and what became of the token', async () => {
    const { world, account, agent, people } = await makeReview({ approvals: 2 });
    const { id } = await agent.request({ scope: { amount: 250 }, reason: 'An invoice' });
    await approve({ world }, people[0], id, { reason: 'As agreed' });
    await approve({ world }, people[1], id);
    const { token } = (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body;
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    const [request, approval, use] = await account.log();
    const { browser } = people[2];
    const page = await browser.get(`/console/audit/${approval.id}`);
    expect([page.status, page.cost.trips]).toEqual([200, 2]);
    expect(page.text.match(/voted to approve/g)).toHaveLength(2);
    expect(readText(page.text)).toContain(
      `${people[0].email} and ${people[1].email} approved 250 (amount) · `,
    );
    expect(page.text).toContain('“<bdi>As agreed</bdi>”');
    expect(page.text).toContain('not signed');
    expect(page.text).toContain('>Limit <code>amount</code></th>');
    expect(page.text).toContain(`href="/console/permissions/${id}"`);
    expect(linkTo(page, '← Previous')).toBe(`/console/audit/${request.id}`);
    expect(linkTo(page, 'Next →')).toBe(`/console/audit/${use.id}`);
    expect(page.text).toContain('npm run verify -- entry.json');
    for (const { id: entry } of [request, use])
      expect((await browser.get(`/console/audit/${entry}`)).status).toBe(200);
  });

  it('explains the gaps that erased entries leave', async () => {
    const { account, agent } = await makeAgent();
    const other = await account.agent();
    await agent.request();
    for (let i = 0; i < 3; i++) await other.request();
    await agent.request();
    await account.must(204, 'DELETE', `/v1/agents/${other.id}`);
    const [first, last] = await account.log();
    const { browser } = await makeMember(account, 'auditor');
    const page = await browser.get(`/console/audit/${last.id}`);
    expect(page.text).toContain('Entries #2 to #4 were erased');
    expect(linkTo(page, '← Previous')).toBe(`/console/audit/${first.id}`);
    const list = await browser.get('/console/audit');
    expect([shown(list), list.text]).toEqual([
      [5, 1],
      expect.stringContaining('Entries #2 to #4 were erased'),
    ]);
    for (const { text } of [page, list])
      expect(text.match(/Entries are erased when their agent is deleted/g)).toHaveLength(1);
    expect((await browser.get('/console/audit?event_type=request')).text).not.toContain(
      'were erased',
    );
  });

  it('answers its script as the API answers', async () => {
    const { world, account, agent } = await makeAgent();
    const { id: member, browser } = await makeMember(account, 'auditor');
    await agent.request();
    const [{ id }] = await account.log();
    expect(await statusOf(browser, `/console/audit/${id}/proof`)).toEqual([409, 'conflict']);
    await world.sweep();
    for (const [path, api] of [
      [`/console/audit/${id}/entry`, `/v1/audit/${id}`],
      [`/console/audit/${id}/proof`, `/v1/audit/${id}/proof`],
      [`/console/audit/members/${member}`, `/v1/members/${member}`],
    ] as const) {
      const { status, body } = await browser.get(path);
      expect([status, body]).toEqual([200, (await account.must(200, 'GET', api)).body]);
    }
  });

  it('belongs to its account, and is gone after the retention period', async () => {
    const { world, account, agent } = await makeAgent();
    await agent.request();
    const [{ id }] = await account.log();
    const { browser } = await makeMember(await world.account(), 'owner');
    const paths = [
      `/console/audit/${id}`,
      `/console/audit/${id}/entry`,
      `/console/audit/${id}/proof`,
    ];
    const member = await makeMember(account, 'auditor');
    for (const path of [...paths, `/console/audit/members/${member.id}`, '/console/audit/nobody']) {
      expect((await browser.get(path)).status).toBe(404);
    }
    expect(shown(await browser.get(`/console/audit?agent_id=${agent.id}`))).toEqual([]);
    world.advance(8 * DAY);
    await member.browser.signIn();
    for (const path of paths) expect((await member.browser.get(path)).status).toBe(404);
  });
});

it('shows hostile texts as nothing but text', async () => {
  const { account, agent } = await makeAgent(new World(), { plan: 'pro' });
  const hostile = await account.agent({ name: HOSTILE });
  await hostile.request({
    resource: `file:${asIdentifier(HOSTILE)}`,
    scope: { [HOSTILE]: HOSTILE },
  });
  await agent.request();
  const [{ id }] = await account.log();
  const { browser } = await makeMember(account, 'auditor');
  const paths = [
    '/console/audit',
    `/console/audit/${id}`,
    `/console/audit?action=${encodeURIComponent(HOSTILE)}&agent_id=${encodeURIComponent(HOSTILE + 'x'.repeat(10_000))}`,
  ];
  for (const path of paths) {
    const { text, status } = await browser.get(path);
    expect(status).toBe(200);
    expect(text).not.toMatch(/<script>|<img/);
    expect(text).toContain('&lt;script&gt;');
    expect(text).toContain('<span class="unseen">U+202E</span>');
    expect(text).not.toMatch(/<option[^>]*>[^<]*\u202e/);
  }
});

async function statusOf(browser: Browser, path: string) {
  const { status, body } = await browser.get(path);
  return [status, body?.code];
}
