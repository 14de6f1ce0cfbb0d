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
import { type TestAccount, type TestAgent, World } from '../support/world';

/** In a deep run, the maximum number of webhooks of an account. */
const MANY = 50;
/** How long all of them together may delay a queue, in milliseconds. */
const LONGEST_WAIT = 250;

interface Attacker {
  account: TestAccount;
  agent: TestAgent;
  webhooks: TestWebhook[];
}

/** Receivers that answer only after `end` is called. */
class HangingReceivers {
  asked = 0;
  private readonly release = Promise.withResolvers<void>();

  readonly receive = async () => {
    this.asked += 1;
    await this.release.promise;
    return new Response();
  };

  end(): void {
    this.release.resolve();
  }
}

/**
 * Handles the messages of both queues one at a time. Work that outlasts its message is added to
 * `behind`.
 * @returns how long messages of the account with the newest webhook blocked each queue, in
 *   milliseconds
 */
async function handleQueues(world: World, behind: Promise<void>[]) {
  const newest = 'select account from receivers order by number desc limit 1';
  const account = await env.DB.prepare(newest).first('account');
  const waited = { fast: 0, slow: 0 };
  for (;;) {
    const lane = world.deliveryQueue.waiting.length > 0 ? 'fast' : 'slow';
    const queue = lane === 'fast' ? world.deliveryQueue : world.slowDeliveryQueue;
    const [message] = queue.take(1);
    if (!message) return waited;
    const before = world.now;
    await deliverMessage(message, world.env, world.runtime, (rest) => behind.push(rest));
    if (message.account === account) waited[lane] += world.now - before;
  }
}

function change(account: TestAccount, { id }: TestWebhook, fields: object) {
  return account.must(200, 'PUT', `/v1/webhooks/${id}`, fields);
}

it.each<[string, typeof makeWebhook, (attacker: Attacker) => Promise<unknown>, number]>([
  ['that are new', makeWebhook, ({ agent }) => agent.request(), 0],
  [
    'that get another URL',
    makeProvenWebhook,
    async ({ account, agent, webhooks }) => {
      for (const webhook of webhooks)
        await change(account, webhook, { url: `https://${webhook.host}/other` });
      await agent.request();
    },
    0,
  ],
  [
    'that are enabled again',
    makeProvenWebhook,
    async ({ account, agent, webhooks }) => {
      for (const is_active of [false, true]) {
        for (const webhook of webhooks) await change(account, webhook, { is_active });
      }
      await agent.request();
    },
    // Disabling the webhooks puts messages into the fast queue.
    LONGEST_WAIT,
  ],
  ['that have answered before', makeProvenWebhook, ({ agent }) => agent.request(), LONGEST_WAIT],
  [
    'that are sent a test each',
    makeProvenWebhook,
    async ({ account, webhooks }) => {
      for (const { id } of webhooks) await account.must(202, 'POST', `/v1/webhooks/${id}/test`);
    },
    LONGEST_WAIT,
  ],
  [
    'that get a redelivery each',
    makeProvenWebhook,
    async ({ account, agent, webhooks }) => {
      const { world } = account;
      const hanging = webhooks.map(({ host }) => host);
      for (const host of hanging) world.internet.on(host, answers(200));
      await agent.request();
      await world.deliver();
      world.internet.received = [];
      for (const webhook of webhooks) {
        const [{ id }] = await listDeliveries(account, webhook);
        await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/deliveries/${id}/redeliver`);
      }
    },
    LONGEST_WAIT,
  ],
])(
  'hanging webhooks of one account %s delay other accounts by at most 250 ms',
  async (_, make, attack, most) => {
    const world = new World();
    const [account, other] = [await world.account({ plan: 'pro' }), await world.account()];
    const [agent, otherAgent] = [await account.agent(), await other.agent()];
    const [proven, fresh] = [await makeProvenWebhook(other), await makeWebhook(other)];
    const webhooks: TestWebhook[] = [];
    for (let i = 0; i < MANY; i++) webhooks.push(await make(account));
    const receivers = new HangingReceivers();
    const letHang = () => {
      for (const { host } of webhooks) world.internet.on(host, receivers.receive);
    };
    letHang();
    await attack({ account, agent, webhooks });
    letHang();
    await otherAgent.request();
    const behind: Promise<void>[] = [];
    const waited = await handleQueues(world, behind);
    await vi.waitFor(() => {
      expect(receivers.asked).toBe(MANY);
      for (const { host } of [proven, fresh]) expect(world.internet.sentTo(host)).toHaveLength(1);
    });
    expect(waited.fast).toBeLessThanOrEqual(most);
    expect(waited.slow).toBeLessThanOrEqual(LONGEST_WAIT);
    receivers.end();
    await Promise.all(behind);
    for (const webhook of webhooks)
      expect(await listDeliveries(account, webhook, '&status=pending')).toEqual([]);
  },
);
