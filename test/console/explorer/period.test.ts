import { expect, it } from 'vitest';
import { readText } from '../../support/html';
import { makeMember } from '../../support/members';
import { World } from '../../support/world';
import { cellsOf, shown } from './scene';

const HOUR = 3_600_000;

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

it('writes the days of the timeline in the language of the reader', async () => {
  const world = new World();
  await (await (await world.account()).agent()).request();
  world.advance(3 * HOUR);
  const account = await world.account({ plan: 'pro' });
  const agent = await account.agent();
  await agent.request();
  world.advance(240 * HOUR);
  await agent.request();
  const { browser } = await makeMember(account, 'auditor');
  const ticksIn = async (language: string) => {
    const headers = { 'Accept-Language': language };
    const { text } = await browser.send('GET', '/console/audit', { headers });
    return [...text.matchAll(/text-anchor="middle">([^<]+)</g)].map(([, tick]) => tick);
  };
  expect(await ticksIn('en')).toContain('Feb 6');
  expect(await ticksIn('de')).toContain('6. Feb.');
  expect(await ticksIn('ar-EG')).toEqual(expect.arrayContaining([expect.stringMatching(/^6 /)]));
});
