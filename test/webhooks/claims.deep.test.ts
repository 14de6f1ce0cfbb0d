import { env } from 'cloudflare:test';
import { expect, it, vi } from 'vitest';
import { answers } from '../support/internet';
import { deliverMessage } from '../support/queue';
import {
  listDeliveries,
  makeProvenWebhook,
  makeWebhook,
  type TestWebhook,
} from '../support/webhooks';
import { type TestAgent, World } from '../support/world';

const SECOND = 1_000;
/**
 * Accounts with 50 webhooks at most: together they have more webhooks than one queue batch holds.
 */
const ACCOUNTS = 3;
const EACH = 35;

async function makeScene(make = makeProvenWebhook, accounts = 1, each = 1) {
  const world = new World();
  const [agents, webhooks]: [TestAgent[], TestWebhook[]] = [[], []];
  for (let i = 0; i < accounts; i++) {
    const account = await world.account({ plan: 'pro' });
    agents.push(await account.agent());
    for (let j = 0; j < each; j++) webhooks.push(await make(account));
  }
  return { world, agents, webhooks };
}

/** Ends the process: its queue messages are lost, and its pending work never ends. */
function kill(world: World): void {
  world.deliveryQueue.waiting = [];
  world.slowDeliveryQueue.waiting = [];
}

/**
 * Runs one sweep in a new process; returns the seconds until every webhook has received its
 * message.
 */
async function recover(world: World, webhooks: TestWebhook[]): Promise<number> {
  world.internet.received = [];
  for (const { host } of webhooks) world.internet.on(host, answers(200));
  const started = world.now;
  await world.sweep();
  const isMissing = ({ host }: TestWebhook) => world.internet.sentTo(host).length === 0;
  for (; webhooks.some(isMissing) && world.now < started + 120 * SECOND; world.advance(SECOND))
    await world.deliver();
  expect(webhooks.filter(isMissing)).toEqual([]);
  for (const { host } of webhooks) expect(world.internet.sentTo(host)).toHaveLength(1);
  return (world.now - started) / SECOND;
}

it.each([
  ['that have answered before', makeProvenWebhook, EACH],
  ['that have never answered', makeWebhook, EACH],
] as const)(
  'deliveries to webhooks %s that a killed worker had claimed are sent within 30 s of the next sweep',
  async (_, make, each) => {
    const { world, agents, webhooks } = await makeScene(make, ACCOUNTS, each);
    for (const { host } of webhooks) world.internet.on(host, () => new Promise(() => undefined));
    for (const agent of agents) await agent.request();
    for (;;) {
      const messages = [...world.deliveryQueue.take(), ...world.slowDeliveryQueue.take()];
      if (messages.length === 0) break;
      for (const message of messages)
        await deliverMessage(message, world.env, world.runtime, () => undefined);
    }
    await vi.waitFor(() => expect(world.internet.received).toHaveLength(ACCOUNTS * each));
    kill(world);
    world.advance(SECOND);
    expect(await recover(world, webhooks)).toBeLessThan(30);
  },
);

it.each<[string, (world: World) => Promise<unknown>]>([
  ['for an account', (world) => world.sweep()],
  [
    'for a webhook',
    async (world) => {
      await world.deliverOnce();
      kill(world);
      await world.sweep();
    },
  ],
])(
  'events are sent within 30 s of the next sweep if the messages that a sweep enqueued %s are lost',
  async (_, enqueue) => {
    const { world, agents, webhooks } = await makeScene(makeWebhook);
    await agents[0]?.request();
    await enqueue(world);
    expect(world.internet.received).toEqual([]);
    kill(world);
    world.advance(SECOND);
    expect(await recover(world, webhooks)).toBeLessThan(30);
  },
);

it('a sweep enqueues no delivery that becomes due after the next sweep', async () => {
  const { world, agents, webhooks } = await makeScene();
  for (const { host } of webhooks) world.internet.on(host, answers(500));
  await agents[0]?.request();
  await world.deliver();
  world.advance(10 * SECOND);
  await world.deliver();
  kill(world);
  await world.sweep();
  const number = await env.DB.prepare('select max(number) as number from receivers').first(
    'number',
  );
  const waiting = [...world.deliveryQueue.waiting, ...world.slowDeliveryQueue.waiting];
  // The second retry is due after five minutes.
  expect(waiting.filter(({ body }) => body.receiver === number)).toEqual([]);
});

it('a worker keeps its claim for as long as it works', async () => {
  const { world, agents, webhooks } = await makeScene(makeWebhook);
  const [agent, webhook] = [agents[0] as TestAgent, webhooks[0] as TestWebhook];
  const rivals = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      world.advance(SECOND);
      await world.sweep();
      await world.deliver();
    }
  };
  let lookups = 0;
  world.internet.resolver = async (_, type) => {
    if (type === 'A' && lookups++ === 0) await rivals(5);
    return Response.json({
      Status: 0,
      Answer: type === 'A' ? [{ type: 1, data: '93.184.215.14' }] : [],
    });
  };
  world.internet.on(webhook.host, async () => {
    if (world.internet.received.length === 1) await rivals(15);
    return new Response();
  });
  await agent.request();
  const started = world.now;
  await world.deliver();
  expect(world.now - started).toBe(20 * SECOND);
  expect(world.internet.sentTo(webhook.host)).toHaveLength(1);
  expect(await listDeliveries(agent.account, webhook, '&status=succeeded')).toHaveLength(1);
  expect(
    await env.DB.prepare('select lease from receivers order by number desc limit 1').first('lease'),
  ).toBeNull();
});
