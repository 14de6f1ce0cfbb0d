import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { startExport } from '../support/exports';
import { type FaultMode, FaultyDatabase } from '../support/faults';
import { deliverMessage } from '../support/queue';
import { listDeliveries, makeProvenWebhook, makeWebhook, readDelivery } from '../support/webhooks';
import { type Json, type TestAccount, World } from '../support/world';

const MINUTE = 60_000;

/** Runs the sweeps of two minutes, after which every claim of a crashed worker has expired. */
async function recover(world: World): Promise<void> {
  for (let i = 0; i < 2; i++) {
    world.advance(MINUTE);
    await world.sweep();
    await world.deliver();
  }
}

/** Expects one succeeded delivery per entry, and that all messages of a delivery are equal. */
async function expectAll(
  account: TestAccount,
  webhook: { id: string; host: string },
): Promise<void> {
  const log = (await account.log()).map(({ id }) => id);
  const deliveries = await listDeliveries(account, webhook);
  const entries: string[] = [];
  for (const { id, status } of deliveries) {
    const { payload } = await readDelivery(account, webhook, id);
    expect([id, status]).toEqual([id, 'succeeded']);
    entries.push(payload.data.id);
    const sent = account.world.internet
      .sentTo(webhook.host)
      .filter(({ headers }) => headers.get('webhook-id') === id);
    expect(new Set(sent.map(({ body }) => body))).toEqual(new Set([JSON.stringify(payload)]));
  }
  expect(entries.toReversed()).toEqual(log);
}

async function makeScene() {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const account = await world.account();
  const agent = await account.agent();
  const webhooks = [await makeProvenWebhook(account), await makeProvenWebhook(account)] as const;
  for (let i = 0; i < 3; i++) await agent.request();
  return { database, world, account, webhooks };
}

/** Database calls from the queue message to the recorded attempts. */
const CALLS = 6;

describe.each<FaultMode>(['before', 'after'])(
  'a database call that fails %s it takes effect',
  (mode) => {
    it.each(Array.from({ length: CALLS }, (_, i) => i + 1))(
      'loses no event and creates no second delivery (call %i)',
      async (call) => {
        const { database, world, account, webhooks } = await makeScene();
        database.arm({ call, mode });
        await world.deliver();
        expect(database.calls).toBeGreaterThanOrEqual(call);
        database.arm(null);
        await recover(world);
        for (const webhook of webhooks) await expectAll(account, webhook);
      },
    );

    it.each([1, 2])(
      'loses no event if the sweep cannot read what is due (call %i)',
      async (call) => {
        const { database, world, account, webhooks } = await makeScene();
        world.deliveryQueue.waiting = [];
        database.refuse(/event_feeds_due/);
        if (call === 2) database.refuse(/receivers_due/);
        world.advance(MINUTE);
        await world.sweep();
        await world.deliver();
        database.refuse(null);
        await recover(world);
        for (const webhook of webhooks) await expectAll(account, webhook);
      },
    );
  },
);

it('delivering takes exactly the database calls that these tests fail in turn', async () => {
  const { database, world } = await makeScene();
  database.arm(null);
  await world.deliver();
  expect(database.calls).toBe(CALLS);
});

it('no event is lost when the queues refuse or lose messages', async () => {
  const { world, account, webhooks } = await makeScene();
  const agent = await account.agent();
  world.deliveryQueue.broken = true;
  world.slowDeliveryQueue.broken = true;
  await agent.request();
  await world.deliver();
  world.deliveryQueue.broken = false;
  world.slowDeliveryQueue.broken = false;
  world.deliveryQueue.waiting = [];
  await agent.request();
  world.deliveryQueue.waiting = [];
  await recover(world);
  for (const webhook of webhooks) await expectAll(account, webhook);
});

it('a queue message that arrives several times, even concurrently, sends each delivery once', async () => {
  const { world, account, webhooks } = await makeScene();
  const [message] = world.deliveryQueue.take();
  if (!message) throw new Error('there is no message');
  await Promise.all(
    Array.from({ length: 5 }, () => deliverMessage(message, world.env, world.runtime)),
  );
  const again = world.deliveryQueue.take();
  await Promise.all(
    [...again, ...again, message].map((body) => deliverMessage(body, world.env, world.runtime)),
  );
  await world.deliver();
  for (const webhook of webhooks) {
    await expectAll(account, webhook);
    expect(world.internet.sentTo(webhook.host)).toHaveLength(3);
  }
});

it('no event is lost or sent twice when a faster worker creates the deliveries first', async () => {
  const { database, world, account, webhooks } = await makeScene();
  const agent = await account.agent();
  database.before(2, async () => {
    await agent.request();
    const rival = new World({ WEBHOOK_QUEUE: world.deliveryQueue.binding });
    Object.assign(rival.internet, world.internet);
    const { results } = await env.DB.prepare(
      'select max(account) as account from receivers',
    ).all<Json>();
    await deliverMessage({ shard: '00', account: results[0].account }, rival.env, world.runtime);
  });
  await world.deliver();
  await recover(world);
  for (const webhook of webhooks) {
    await expectAll(account, webhook);
    expect(world.internet.sentTo(webhook.host)).toHaveLength(4);
  }
});

it('no delivery of an agent is created or sent if it is deleted during the fan-out', async () => {
  const { database, world, account, webhooks } = await makeScene();
  const { body: agents } = await account.must(200, 'GET', '/v1/agents');
  database.before(2, async () => {
    const rival = new World();
    await rival.must(204, 'DELETE', `/v1/agents/${agents.data[0].id}`, { token: account.token });
    await rival.sweep();
  });
  await world.deliver();
  await recover(world);
  expect(world.internet.received).toEqual([]);
  for (const webhook of webhooks) expect(await listDeliveries(account, webhook)).toEqual([]);
  const left =
    'select count(*) as n from deliveries where receiver >= (select max(number) - 1 from receivers)';
  expect(await env.DB.prepare(left).first('n')).toBe(0);
});

it('a queue message for an unknown account, receiver or shard does nothing', async () => {
  const world = new World();
  const bodies: Json[] = [
    { shard: '00', account: 999_999 },
    { shard: '00', account: 999_999, receiver: 999_999 },
    { shard: 'zz', account: 1 },
  ];
  for (const body of bodies) {
    const result = await deliverMessage(body, world.env, world.runtime);
    expect(result.explicitAcks).toHaveLength(1);
  }
});

it('a queue message that names a webhook of another account sends nothing', async () => {
  const { world, account } = await makeScene();
  const stranger = await world.account();
  world.deliveryQueue.take();
  const { results } = await env.DB.prepare(
    'select number from accounts order by number desc limit 1',
  ).all<Json>();
  const { results: webhooks } = await env.DB.prepare(
    'select max(number) as number from receivers',
  ).all<Json>();
  await account.must(200, 'GET', '/v1/me');
  await stranger.must(200, 'GET', '/v1/me');
  await env.DB.prepare('update receivers set due_at = 1').run();
  await deliverMessage(
    { shard: '00', account: results[0].number, receiver: webhooks[0].number },
    world.env,
    world.runtime,
  );
  expect(world.internet.received).toEqual([]);
});

it('a webhook gets the event of a completed export once, whichever database call fails', async () => {
  for (const mode of ['before', 'after'] as const) {
    for (let call = 1; call <= 6; call++) {
      const database = new FaultyDatabase(env.DB);
      const world = new World({ DB: database.binding });
      const account = await world.account();
      const webhook = await makeWebhook(account);
      await startExport(account);
      database.arm({ call, mode });
      await world.work();
      database.arm(null);
      for (let i = 0; i < 3; i++) {
        world.advance(MINUTE);
        await world.sweep();
        await world.work();
        await world.deliver();
      }
      const events = world.internet.sentTo(webhook.host).map(({ body }) => JSON.parse(body).event);
      expect([mode, call, events]).toEqual([mode, call, ['audit.export.completed']]);
    }
  }
});
