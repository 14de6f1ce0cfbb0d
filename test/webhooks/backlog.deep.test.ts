import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { fillLog } from '../support/exports';
import { makeWebhook } from '../support/webhooks';
import { World } from '../support/world';

it('a backlog of entries is delivered once to each of 20 webhooks', async () => {
  const entries = 1_200;
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  const webhooks = await Promise.all(Array.from({ length: 20 }, () => makeWebhook(account)));
  await fillLog(agent, entries - 1, 20);
  await world.deliver();
  expect(webhooks.map(({ host }) => world.internet.sentTo(host).length)).toEqual(
    Array(20).fill(entries),
  );
  expect(
    await env.DB.prepare('select count(*) as n from deliveries where status = 1').first('n'),
  ).toBe(20 * entries);
});
