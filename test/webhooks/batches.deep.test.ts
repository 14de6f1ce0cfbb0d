import { env } from 'cloudflare:test';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { fillLog } from '../support/exports';
import { FaultyDatabase } from '../support/faults';
import { answers, type Receiver } from '../support/internet';
import { deliverMessage } from '../support/queue';
import { listDeliveries, makeProvenWebhook, readWebhook } from '../support/webhooks';
import { World } from '../support/world';

const MINUTE = 60_000;
const DAY = 86_400_000;

/** Makes a webhook with `count` pending events. */
async function makeBacklog(
  count: number,
  receiver?: (scene: Awaited<ReturnType<typeof open>>) => Receiver,
) {
  const scene = await open();
  if (receiver) scene.world.internet.on(scene.webhook.host, receiver(scene));
  if (count > 1) await fillLog(scene.agent, count - 1, 20);
  else await scene.agent.request();
  return scene;
}

async function open() {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const account = await world.account({ plan: 'pro' });
  const agent = await account.agent();
  const webhook = await makeProvenWebhook(account);
  const change = (fields: object) => account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, fields);
  return { database, world, account, agent, webhook, change };
}

/** Counts the deliveries of the newest webhook by status. */
async function countStates() {
  const { results } = await env.DB.prepare(
    'select status, count(*) as n from deliveries where receiver = (select max(number) from receivers) group by status',
  ).all<{ status: number; n: number }>();
  return Object.fromEntries(
    results.map(({ status, n }) => [['pending', 'succeeded', 'failed'][status], n]),
  );
}

async function recover(world: World): Promise<void> {
  for (let i = 0; i < 2; i++) {
    world.advance(MINUTE);
    await world.sweep();
    await world.deliver();
  }
}

describe('a worker that delivers in batches', () => {
  /**
   * Database calls for 210 deliveries: fan-out (2 calls), the claim, and the records of three
   * batches.
   */
  const CALLS = 6;

  it('delivers 210 events in six database calls', async () => {
    const { database, world, webhook } = await makeBacklog(210);
    database.arm(null);
    await world.deliver();
    expect(database.calls).toBe(CALLS);
    expect(world.internet.sentTo(webhook.host)).toHaveLength(210);
    expect(await countStates()).toEqual({ succeeded: 210 });
  });

  it.each(Array.from({ length: CALLS }, (_, i) => i + 1))(
    'loses no event if database call %i fails',
    async (call) => {
      for (const mode of ['before', 'after'] as const) {
        const { database, world, webhook } = await makeBacklog(210);
        database.arm({ call, mode });
        await world.deliver();
        database.arm(null);
        await recover(world);
        expect([mode, await countStates()]).toEqual([mode, { succeeded: 210 }]);
        const sent = world.internet
          .sentTo(webhook.host)
          .map(({ headers }) => headers.get('webhook-id'));
        expect(new Set(sent).size).toBe(210);
        // Attempts that could not be recorded are recorded with the next batch, so only the last
        // batch is sent twice.
        expect(sent.length).toBeLessThanOrEqual(call < CALLS ? 210 : 220);
      }
    },
  );

  it.each([
    ['all 210 attempts if the receiver succeeds', 200, { succeeded: 210 }, 210],
    ['six attempts if the receiver fails', 500, { pending: 210 }, 6],
  ])('makes %s', async (_, status, states, sent) => {
    const { world, webhook } = await makeBacklog(210, () => answers(status));
    await world.deliverOnce();
    expect(world.internet.sentTo(webhook.host)).toHaveLength(sent);
    expect(await countStates()).toEqual(states);
  });

  it('attempts at least 30 of 40 deliveries to a slow webhook that always fails', async () => {
    const { database, world, webhook } = await makeBacklog(40);
    await env.DB.prepare(
      'update receivers set is_slow = 1 where number = (select max(number) from receivers)',
    ).run();
    world.internet.on(webhook.host, () => {
      world.advance(150);
      return new Response(null, { status: 500 });
    });
    database.arm(null);
    await world.deliver();
    // Six attempts run in parallel, and each moves the shared clock by 150 ms.
    expect(world.internet.sentTo(webhook.host).length).toBeGreaterThanOrEqual(30);
    expect(await countStates()).toEqual({ pending: 40 });
  });
});

describe('a webhook that changes while a worker sends to it', () => {
  it.each([
    ['in the middle of a page', 150, 300],
    ['at the end of a page', 400, 400],
  ])(
    'gets at most the rest of the page after it is disabled %s, in few database calls',
    async (_, moment, most) => {
      const { database, world, webhook } = await makeBacklog(
        450,
        ({ world, webhook, change }) =>
          async () => {
            if (world.internet.sentTo(webhook.host).length === moment)
              await change({ is_active: false });
            return new Response();
          },
      );
      database.arm(null);
      await world.deliver();
      expect(world.internet.sentTo(webhook.host).length).toBeLessThanOrEqual(most);
      expect(database.calls).toBeLessThan(15);
      const { succeeded = 0, ...others } = await countStates();
      expect(succeeded).toBe(world.internet.received.length);
      expect(others).toEqual({ failed: 450 - succeeded });
    },
  );

  it('gets no pending delivery after it is disabled and enabled again', async () => {
    const { database, world, agent, webhook } = await makeBacklog(
      420,
      ({ world, webhook, change }) =>
        async () => {
          if (world.internet.sentTo(webhook.host).length === 400) {
            for (const is_active of [false, true]) await change({ is_active });
          }
          return new Response();
        },
    );
    database.arm(null);
    await world.deliver();
    expect(world.internet.sentTo(webhook.host)).toHaveLength(400);
    expect(database.calls).toBeLessThan(15);
    expect(await countStates()).toEqual({ succeeded: 400, failed: 20 });
    await agent.request();
    await world.deliver();
    expect(world.internet.sentTo(webhook.host)).toHaveLength(401);
  });

  it('gets at most 200 of 450 messages after it is deleted', async () => {
    const { world, webhook } = await makeBacklog(450, ({ world, webhook, account }) => async () => {
      if (world.internet.sentTo(webhook.host).length === 50)
        await account.must(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
      return new Response();
    });
    await world.deliver();
    await recover(world);
    expect(world.internet.sentTo(webhook.host).length).toBeLessThanOrEqual(200);
  });

  it.each([500, 410])(
    'is not affected by an answer %i of its old URL after the URL changes',
    async (status) => {
      const { world, account, agent, webhook, change } = await makeBacklog(1, () => answers(500));
      await world.deliver();
      world.advance(5 * DAY);
      let isMoved = false;
      world.internet.on('new.example.com', answers(200));
      world.internet.on(webhook.host, async () => {
        if (!isMoved) await change({ url: 'https://new.example.com/' });
        isMoved = true;
        return new Response(null, { status });
      });
      await agent.request({ expires_in: 604_800 });
      await world.deliver();
      expect(await readWebhook(account, webhook)).toMatchObject({
        is_active: true,
        disabled_reason: null,
      });
      const row = await env.DB.prepare(
        'select is_slow, failing_since from receivers order by number desc limit 1',
      ).first();
      expect(row).toEqual({ is_slow: 1, failing_since: null });
      await recover(world);
      world.advance(5 * MINUTE);
      await recover(world);
      expect(world.internet.sentTo('new.example.com').length).toBeGreaterThan(0);
      expect(await listDeliveries(account, webhook, '&status=pending')).toEqual([]);
    },
  );
});

it('a test event that is requested while a worker sends causes no duplicate messages', async () => {
  let isFirst = true;
  const { world, webhook } = await makeBacklog(20, ({ world, account, webhook }) => async () => {
    if (isFirst) {
      isFirst = false;
      await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
      await world.sweep();
      await world.deliver();
    }
    return new Response();
  });
  await world.deliver();
  const sent = world.internet.sentTo(webhook.host).map(({ headers }) => headers.get('webhook-id'));
  expect(sent).toHaveLength(21);
  expect(new Set(sent).size).toBe(21);
});

it('a redelivery is refused if its agent is deleted concurrently', async () => {
  const { database, world, account, agent, webhook } = await makeBacklog(1);
  await world.deliver();
  const [{ id }] = await listDeliveries(account, webhook);
  database.before(2, async () => {
    await new World().must(204, 'DELETE', `/v1/agents/${agent.id}`, { token: account.token });
  });
  await account.must(409, 'POST', `/v1/webhooks/${webhook.id}/deliveries/${id}/redeliver`);
  expect(await countStates()).toEqual({ succeeded: 1 });
});

it('a slow webhook stays slow if nothing could be sent', async () => {
  const { world, account, agent, webhook } = await makeBacklog(1, () => answers(500));
  await world.deliver();
  await agent.request();
  world.advance(90 * DAY + 1);
  world.internet.on(webhook.host, answers(200));
  await world.deliver();
  expect((await listDeliveries(account, webhook)).map(({ last_error }) => last_error)).toEqual([
    'The audit entry or the permission is no longer kept.',
    'The audit entry or the permission is no longer kept.',
  ]);
  expect(
    await env.DB.prepare('select is_slow from receivers order by number desc limit 1').first(
      'is_slow',
    ),
  ).toBe(1);
});

it('a webhook that is disabled while deliveries are created is not marked as due', async () => {
  const { database, world, webhook } = await makeBacklog(1);
  database.before(2, async () => {
    await env.DB.prepare(
      'update receivers set is_active = 0 where number = (select max(number) from receivers)',
    ).run();
  });
  await world.deliver();
  const row = await env.DB.prepare(
    'select due_at, erase_at from receivers order by number desc limit 1',
  ).first();
  expect(row).toEqual({ due_at: null, erase_at: null });
  expect(await countStates()).toEqual({});
  expect(world.internet.sentTo(webhook.host)).toEqual([]);
});

describe('when the receiver of a fast webhook starts to hang', () => {
  /**
   * Handles a message whose receiver does not answer yet: the message is acknowledged, and the
   * attempt continues.
   */
  async function deliverToHanging() {
    const scene = await open();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Response>();
    scene.world.internet.on(scene.webhook.host, () => {
      asked.resolve();
      return answer.promise;
    });
    await scene.agent.request();
    const rest: Promise<unknown>[] = [];
    const [message] = scene.world.deliveryQueue.take(1);
    if (!message) throw new Error('there is no message');
    const { explicitAcks } = await deliverMessage(
      message,
      scene.world.env,
      scene.world.runtime,
      (work) => rest.push(work),
    );
    expect([explicitAcks.length, rest.length]).toEqual([1, 1]);
    await asked.promise;
    expect(await countStates()).toEqual({ pending: 1 });
    return { ...scene, finish: () => Promise.all([answer.resolve(new Response()), ...rest]) };
  }

  it('the message is acknowledged at once, and the attempt is recorded when the receiver answers', async () => {
    const { finish } = await deliverToHanging();
    await finish();
    expect(await countStates()).toEqual({ succeeded: 1 });
  });

  it('an attempt that could not be recorded is repeated after a sweep', async () => {
    const { database, world, finish } = await deliverToHanging();
    database.refuse(/./);
    await finish();
    database.refuse(null);
    await recover(world);
    expect(await countStates()).toEqual({ succeeded: 1 });
  });

  it('the deployment does not wait for waitUntil before it acknowledges', () => {
    expect(parse(env.WRANGLER).compatibility_flags).toContain(
      'queue_consumer_no_wait_for_wait_until',
    );
  });
});
