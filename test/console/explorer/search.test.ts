import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import type { Browser } from '../../support/browser';
import { agentNumbers, fillWithDenials } from '../../support/bulk-log';
import { readText } from '../../support/html';
import { makeMember } from '../../support/members';
import { type Answer, World } from '../../support/world';
import { shown } from './scene';

const HOUR = 3_600_000;
/** The most rows that a page of the console reads. */
const MOST_READ = 9_900;

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
