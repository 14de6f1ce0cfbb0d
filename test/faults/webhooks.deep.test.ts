import { env } from 'cloudflare:test';
import { expect } from 'vitest';
import { formatHexId } from '../../src/lib/typeid';
import { answers, type Receiver } from '../support/internet';
import { countRows } from '../support/tables';
import { makeWebhook, type TestWebhook } from '../support/webhooks';
import type { World } from '../support/world';
import { DAY, type Life, live, MINUTE, testJob } from './jobs';

/** More than one batch of deliveries, and more than one slice of an erasure. */
const MANY = 120;

/** Two webhooks. The second one is for a single agent. */
interface Scene {
  webhooks: [TestWebhook, TestWebhook];
  /** The position of the last entry that they must receive. */
  last: number;
}

async function addWebhooks(life: Life, many = 0, receiver?: Receiver): Promise<Scene> {
  const { world, account, agents } = life;
  const webhooks: Scene['webhooks'] = [
    await makeWebhook(account),
    await makeWebhook(account, { agent_ids: [agents[0].id] }),
  ];
  if (receiver) for (const { host } of webhooks) world.internet.on(host, receiver);
  for (let i = 0; i < many; i += 4)
    await Promise.all(Array.from({ length: 4 }, () => agents[0].request()));
  for (const agent of agents) await live(agent);
  const head =
    'select max(pos) as pos from audit_entries where pos / 4294967296 in (select account from receivers)';
  return { webhooks, last: (await env.DB.prepare(head).first<number>('pos')) ?? 0 };
}

interface DeliveryRow {
  webhook: string;
  /** The `webhook-id` header of the delivery. */
  message: string;
  entry: number;
  status: number;
}

const [PENDING, SUCCEEDED, FAILED] = [0, 1, 2];

/** The deliveries of all entries up to `last`. */
async function readDeliveries({ last }: Scene): Promise<DeliveryRow[]> {
  const { results } = await env.DB.prepare(
    `select hex(r.id) as webhook, hex(d.id) as message, pos % 4294967296 as entry, status
     from deliveries d join receivers r on number = receiver where pos <= ? order by number, pos`,
  )
    .bind(last)
    .all<DeliveryRow>();
  return results.map((row) => ({
    ...row,
    webhook: formatHexId('webhook', row.webhook),
    message: formatHexId('dlv', row.message),
  }));
}

/**
 * Checks that every entry was delivered to its webhooks in one message, which may have been sent
 * more than once.
 */
async function expectDelivered({ world }: Life, scene: Scene): Promise<unknown> {
  const deliveries = await readDeliveries(scene);
  for (const { id, host } of scene.webhooks) {
    const own = deliveries.filter(({ webhook }) => webhook === id);
    expect(own.filter(({ status }) => status !== SUCCEEDED)).toEqual([]);
    const sent = new Map(
      world.internet.sentTo(host).map(({ headers, body }) => [headers.get('webhook-id'), body]),
    );
    const bodies = own.map(({ message }) => sent.get(message));
    expect([own.length > 0, bodies.includes(undefined), new Set(bodies).size]).toEqual([
      true,
      false,
      own.length,
    ]);
  }
  return deliveries.map(({ webhook, entry }) => [webhook, entry]);
}

testJob({
  name: 'the creation and sending of deliveries',
  prepare: (life) => addWebhooks(life, MANY),
  work: (world) => world.deliver(),
  expectEnd: expectDelivered,
});

testJob({
  name: 'the sending of deliveries whose queue messages were lost',
  prepare: async (life) => {
    const scene = await addWebhooks(life);
    life.world.deliveryQueue.waiting = [];
    life.world.advance(MINUTE);
    return scene;
  },
  work: async (world) => {
    await world.sweep();
    await world.deliver();
  },
  expectEnd: expectDelivered,
});

/** Refuses each message twice. */
function refusing(world: World): Receiver {
  return (message) => {
    const id = message.headers.get('webhook-id');
    const times = world.internet.received.filter(
      ({ headers }) => headers.get('webhook-id') === id,
    ).length;
    return new Response(null, { status: times <= 2 ? 503 : 200 });
  };
}

testJob({
  name: 'the retrying of deliveries',
  prepare: (life) => addWebhooks(life, 0, refusing(life.world)),
  work: async (world) => {
    for (const pause of [0, MINUTE, 10 * MINUTE]) {
      world.advance(pause);
      await world.sweep();
      await world.deliver();
    }
  },
  expectEnd: expectDelivered,
});

/**
 * Checks that the first webhook is disabled, its deliveries have failed, and no delivery is
 * pending.
 */
async function expectDisabled({ account }: Life, scene: Scene): Promise<unknown> {
  const [first] = scene.webhooks;
  const deliveries = await readDeliveries(scene);
  expect(deliveries.filter(({ status }) => status === PENDING)).toEqual([]);
  const own = deliveries.filter(({ webhook }) => webhook === first.id);
  expect([own.length > 0, own.every(({ status }) => status === FAILED)]).toEqual([true, true]);
  expect((await account.must(200, 'GET', `/v1/webhooks/${first.id}`)).body.is_active).toBe(false);
  return deliveries.map(({ webhook, entry }) => [webhook, entry]);
}

testJob({
  name: 'the cancellation of pending deliveries to a disabled webhook',
  prepare: async (life) => {
    const scene = await addWebhooks(life, 0, answers(500));
    const [first, second] = scene.webhooks;
    await life.world.deliver();
    life.world.internet.on(second.host, answers(200));
    await life.account.must(200, 'PUT', `/v1/webhooks/${first.id}`, { is_active: false });
    life.world.advance(MINUTE);
    return scene;
  },
  work: async (world) => {
    await world.sweep();
    await world.deliver();
  },
  expectEnd: expectDisabled,
});

testJob({
  name: 'the disabling of a webhook whose receiver responds with 410',
  prepare: async (life) => {
    const scene = await addWebhooks(life);
    life.world.internet.on(scene.webhooks[0].host, answers(410));
    return scene;
  },
  work: async (world) => {
    await world.deliver();
    await world.sweep();
    await world.deliver();
  },
  expectEnd: expectDisabled,
});

testJob({
  name: 'the erasure of deleted webhooks',
  prepare: async (life) => {
    const { webhooks } = await addWebhooks(life, MANY);
    await life.world.deliver();
    for (const { id } of webhooks) await life.account.must(204, 'DELETE', `/v1/webhooks/${id}`);
  },
  work: (world) => world.sweep(),
  expectEnd: async () => {
    const { receivers, deliveries, event_feeds, erasures } = await countRows(env.DB);
    expect([receivers, deliveries, event_feeds, erasures]).toEqual([0, 0, 0, 0]);
  },
});

testJob({
  name: 'the erasure of old deliveries',
  prepare: async (life) => {
    await addWebhooks(life);
    await life.world.deliver();
    // Newer deliveries, which must stay.
    life.world.advance(20 * DAY);
    await live(life.agents[0]);
    await life.world.deliver();
    life.world.advance(11 * DAY);
  },
  work: (world) => world.clean(),
  expectEnd: async ({ world }) => {
    const old = `select count(*) as n from deliveries where created_at <= ${world.now - 30 * DAY}`;
    expect(await env.DB.prepare(old).first('n')).toBe(0);
    expect((await countRows(env.DB)).deliveries).toBeGreaterThan(0);
  },
});
