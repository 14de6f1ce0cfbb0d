import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { readText } from '../support/html';
import { makeMember } from '../support/members';
import { Outage } from '../support/outage';
import { World } from '../support/world';

const PAYOUT = {
  action: 'payout.send',
  resource: 'supplier:2',
  scope: { amount: 2_000, currency: 'EUR' },
  expires_in: 7 * 24 * 3_600,
};

/** Two requests in an account that is not the first, and two people who may decide them. */
async function makeQueue(overrides = {}) {
  const world = new World(overrides);
  const earlier = await world.account();
  await (await earlier.agent()).request();
  const account = await world.account();
  const agent = await account.agent();
  const first = await agent.request(PAYOUT);
  const second = await agent.request({ ...PAYOUT, expires_in: PAYOUT.expires_in - 60 });
  const ada = await makeMember(account, 'approver', 'ada@example.com');
  const ben = await makeMember(account, 'approver', 'ben@example.com');
  return { world, first, second, token: ada.token, ada: ada.browser, ben: ben.browser };
}

const cardOf = ({ id }: { id: string }) => `/console/permissions/${id}`;

describe('a request that is set aside', () => {
  it('comes last for who did it, and for nobody else who uses the browser', async () => {
    const { first, second, ada, ben } = await makeQueue();
    const answer = await ada.submit(`${cardOf(second)}/skip`);
    expect(answer.headers.get('Location')).toBe(cardOf(first));
    expect((await ada.get('/console')).text).toContain('Set aside until tomorrow');
    ben.aside = ada.aside;
    expect((await ben.get('/console')).text).not.toContain('Set aside until tomorrow');
  });

  it('is so until its own day ends, also if another one is set aside later', async () => {
    const { world, first, second, ada, token } = await makeQueue();
    const chooseZone = (time_zone: string) =>
      world.must(200, 'PUT', '/v1/me/notifications', {
        token,
        body: { quiet_hours: { start: '01:00', end: '02:00', time_zone } },
      });
    await chooseZone('Asia/Tokyo');
    await ada.submit(`${cardOf(second)}/skip`);
    await chooseZone('UTC');
    await ada.submit(`${cardOf(first)}/skip`);
    const countAside = async () =>
      (await ada.get('/console')).text.match(/<p class="soft">Set aside until tomorrow/g)?.length;
    expect(await countAside()).toBe(2);
    world.advance(4 * 3_600_000);
    expect(await countAside()).toBe(1);
  });

  it.each([
    ['Asia/Tokyo', 3],
    ['America/New_York', 17],
    ['Nowhere', 24],
    ['', 24],
  ])('is so until the day ends in the zone of the browser: in %j', async (zone, hours) => {
    const { world, second, ada } = await makeQueue();
    expect((await ada.get(cardOf(second))).text).toMatch(/name="zone" value="" data-time-zone/);
    await ada.submit(`${cardOf(second)}/skip`, { zone });
    const isAside = async () => (await ada.get('/console')).text.includes('Set aside until');
    world.advance(hours * 3_600_000 - 120_000);
    await ada.signIn();
    expect(await isAside()).toBe(true);
    world.advance(120_000);
    expect(await isAside()).toBe(false);
  });
});

it('a decision on a phone says on the next page what was granted', async () => {
  const { first, second, ada } = await makeQueue();
  const answer = await ada.submit(`${cardOf(second)}/decide?queue`, { decision: 'deny' });
  expect(answer.headers.get('Location')).toBe(cardOf(first));
  const { text } = await ada.get(cardOf(first));
  expect(readText(text)).toContain('Denied: 2,000 EUR · supplier:2');
});

it('a decision is taken, and leads to the inbox, if the next request cannot be read', async () => {
  const outage = new Outage();
  const { second, ada } = await makeQueue({ DB: outage.database(env.DB) });
  // The first call reads the request, the second one writes the decision.
  outage.arm({ call: 3, mode: 'kill before' });
  const answer = await ada.submit(`${cardOf(second)}/decide?queue`, { decision: 'deny' });
  expect(outage.hasFailed).toBe(true);
  expect([answer.status, answer.headers.get('Location')]).toEqual([303, '/console']);
  outage.arm(null);
  expect(readText((await ada.get('/console')).text)).toContain('Denied: 2,000 EUR · supplier:2');
});
