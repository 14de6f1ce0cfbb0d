import { env } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import { depth } from '../support/depth';
import { answers, hang, type Receiver } from '../support/internet';
import { deliverMessage } from '../support/queue';
import {
  listDeliveries,
  makeWebhook,
  readDelivery,
  readWebhook,
  verify,
} from '../support/webhooks';
import { type Json, type TestAccount, World } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR],
  ...[14 * HOUR, 20 * HOUR, DAY],
];
const LONG = { expires_in: 7 * 86_400 };

async function makeScene(receiver?: Receiver) {
  const world = new World();
  const account = await world.account({ plan: 'pro' });
  const agent = await account.agent();
  const webhook = await makeWebhook(account);
  if (receiver) world.internet.on(webhook.host, receiver);
  return { world, account, agent, webhook };
}

/**
 * Moves the clock to the next attempt of a delivery and runs it; expects no attempt a millisecond
 * earlier.
 */
async function retry(account: TestAccount, webhook: { id: string }, id: string): Promise<Json> {
  const { world } = account;
  const { next_attempt_at } = await readDelivery(account, webhook, id);
  world.now = Date.parse(next_attempt_at) - 1;
  await world.sweep();
  await world.deliver();
  expect((await readDelivery(account, webhook, id)).next_attempt_at).toBe(next_attempt_at);
  world.advance(1);
  await world.sweep();
  await world.deliver();
  return readDelivery(account, webhook, id);
}

async function only(account: TestAccount, webhook: { id: string }): Promise<Json> {
  const [{ id }, ...others] = await listDeliveries(account, webhook);
  expect(others).toEqual([]);
  return readDelivery(account, webhook, id);
}

it('a failing delivery is retried on schedule with the same message, and fails after the last attempt', async () => {
  const { world, account, agent, webhook } = await makeScene(answers(503));
  await agent.request(LONG);
  await world.deliver();
  let delivery = await only(account, webhook);
  // The last attempt comes before five days of failures would disable the webhook.
  const [attempts, waits]: [Json[], number[]] = [[], []];
  for (const [i, step] of STEPS.entries()) {
    expect(delivery).toMatchObject({
      status: 'pending',
      attempts: i + 1,
      last_status_code: 503,
      completed_at: null,
    });
    const wait = Date.parse(delivery.next_attempt_at) - world.now;
    expect(wait).toBeGreaterThanOrEqual(step * 0.8 - 1);
    expect(wait).toBeLessThanOrEqual(step * 1.2 + 1);
    waits.push(wait / step);
    attempts.push({
      at: new Date(world.now).toISOString(),
      status_code: 503,
      error: 'The answer was 503.',
      duration_ms: 0,
    });
    expect(delivery.attempt_history).toEqual(attempts);
    delivery = await retry(account, webhook, delivery.id);
  }
  expect(delivery).toMatchObject({
    status: 'failed',
    attempts: 10,
    next_attempt_at: null,
    last_error: 'The answer was 503.',
    completed_at: new Date(world.now).toISOString(),
  });
  expect(new Set(waits).size).toBe(STEPS.length);
  const sent = world.internet.sentTo(webhook.host);
  expect(sent).toHaveLength(10);
  expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
  expect(new Set(sent.map(({ headers }) => headers.get('webhook-id')))).toEqual(
    new Set([delivery.id]),
  );
  const last = sent.at(-1);
  if (last) verify(webhook.secret, last, world.now);
  world.advance(2 * DAY);
  await world.sweep();
  await world.deliver();
  expect(world.internet.sentTo(webhook.host)).toHaveLength(10);
});

it('a delivery that succeeds after a retry shows every attempt', async () => {
  const { world, account, agent, webhook } = await makeScene(answers(500));
  await agent.request(LONG);
  await world.deliver();
  const { id, attempt_history } = await only(account, webhook);
  world.internet.on(webhook.host, () => {
    world.advance(40);
    return new Response('ok', { status: 202 });
  });
  const delivery = await retry(account, webhook, id);
  const at = new Date(world.now - 40).toISOString();
  expect(delivery).toMatchObject({
    status: 'succeeded',
    attempts: 2,
    last_status_code: 202,
    last_error: null,
  });
  expect(delivery.completed_at).toBe(new Date(world.now).toISOString());
  expect(delivery.attempt_history).toEqual([
    ...attempt_history,
    { at, status_code: 202, error: null, duration_ms: 40 },
  ]);
});

it('the first two retries are sent from delayed queue messages, without a sweep', async () => {
  const { world, account, agent, webhook } = await makeScene(answers(500));
  await agent.request(LONG);
  await world.deliver();
  for (const wait of [6 * SECOND, 6 * MINUTE]) {
    world.advance(wait);
    await world.deliver();
  }
  expect((await only(account, webhook)).attempts).toBe(3);
  expect([...world.deliveryQueue.waiting, ...world.slowDeliveryQueue.waiting]).toEqual([]);
});

describe('Retry-After', () => {
  it.each<[string, string, number, number]>([
    ['a number of seconds', '60', 60 * SECOND, 60 * SECOND],
    ['more seconds than the delay after the next attempt', '3600', 5 * MINUTE, 5 * MINUTE],
    ['fewer seconds than the scheduled delay', '1', 4 * SECOND, 6 * SECOND],
    ['a date', 'Sat, 31 Jan 2026 12:02:00 GMT', 2 * MINUTE, 2 * MINUTE],
    ['a date that has passed', 'Sat, 31 Jan 2026 11:00:00 GMT', 4 * SECOND, 6 * SECOND],
    ['an invalid text', 'soon', 4 * SECOND, 6 * SECOND],
    ['a negative number', '-60', 4 * SECOND, 6 * SECOND],
    ['a number of 30 digits', '9'.repeat(30), 4 * SECOND, 6 * SECOND],
    ['a fraction', '60.5', 4 * SECOND, 6 * SECOND],
  ])(
    'sets the delay of the next attempt within the bounds of the schedule: %s',
    async (_, text, least, most) => {
      for (const status of [429, 503]) {
        const { world, account, agent, webhook } = await makeScene(
          answers(status, { 'Retry-After': text }),
        );
        await agent.request();
        await world.deliver();
        const wait = Date.parse((await only(account, webhook)).next_attempt_at) - world.now;
        expect(wait).toBeGreaterThanOrEqual(least);
        expect(wait).toBeLessThanOrEqual(most);
      }
    },
  );
});

describe('an attempt', () => {
  const endless = () =>
    new ReadableStream(
      { pull: (controller) => controller.enqueue(new Uint8Array(1_024)) },
      { highWaterMark: 0 },
    );
  it.each<[string, (world: World) => Receiver, number | null, string]>([
    ['does not answer', ({ internet }) => hang(internet), null, 'No answer within 15 seconds.'],
    [
      'resets the connection',
      () => () => Promise.reject(new TypeError('Network connection lost.')),
      null,
      'The connection failed.',
    ],
    [
      'has an untrusted certificate',
      () => () =>
        Promise.reject(new Error("TLS peer's certificate is not trusted; reason = self signed")),
      null,
      'A secure connection could not be made: check the certificate, the port and the host name.',
    ],
    [
      'fails the TLS handshake',
      () => () => Promise.reject(new Error('internal error; reference = 8auedj0nts6p56n671d01hke')),
      null,
      'A secure connection could not be made: check the certificate, the port and the host name.',
    ],
    [
      'has an invalid certificate that Cloudflare reports with 526',
      () => answers(526),
      526,
      'A secure connection could not be made: check the certificate, the port and the host name.',
    ],
    ['answers 500', () => answers(500), 500, 'The answer was 500.'],
    ['answers 404', () => answers(404), 404, 'The answer was 404.'],
    [
      'redirects',
      () => answers(307, { Location: 'https://a.example.com' }),
      307,
      'The answer was 307; redirects are not followed.',
    ],
    [
      'answers 500 with an endless body',
      () => () => new Response(endless(), { status: 500 }),
      500,
      'The answer was 500.',
    ],
  ])('fails with a plain error if the receiver %s', async (_, receiver, status, reason) => {
    const { world, account, agent, webhook } = await makeScene();
    world.internet.on(webhook.host, receiver(world));
    await agent.request();
    await world.deliver();
    const delivery = await only(account, webhook);
    expect(delivery).toMatchObject({
      status: 'pending',
      attempts: 1,
      last_status_code: status,
      last_error: reason,
    });
    expect(delivery.attempt_history).toEqual([
      expect.objectContaining({
        status_code: status,
        error: reason,
        duration_ms: /15 seconds/.test(reason) ? 15_000 : 0,
      }),
    ]);
    expect(Date.parse(delivery.next_attempt_at)).toBeGreaterThan(world.now);
  });

  it.each([200, 204, 299])(
    'succeeds with the head of a %d, whatever its body does',
    async (status) => {
      const breaks = () =>
        new ReadableStream(
          { pull: (controller) => controller.error(new Error('no gzip')) },
          { highWaterMark: 0 },
        );
      const neverEnds = () =>
        new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(9)) });
      for (const body of [breaks, neverEnds, endless]) {
        const { world, account, agent, webhook } = await makeScene();
        world.internet.on(webhook.host, () => {
          const response = new Response(status === 204 ? null : body(), { status });
          world.internet.timeOutSoon();
          return response;
        });
        await agent.request();
        await world.deliver();
        const delivery = await only(account, webhook);
        expect(delivery).toMatchObject({
          status: 'succeeded',
          last_status_code: status,
          last_error: null,
        });
        expect(delivery.attempt_history).toEqual([expect.objectContaining({ duration_ms: 0 })]);
      }
    },
  );

  it('does not read the body of an answer', async () => {
    const { world, agent, webhook } = await makeScene();
    const seen: string[] = [];
    const body = () =>
      new ReadableStream(
        {
          pull: (controller) => {
            seen.push('read');
            controller.enqueue(new Uint8Array(1_024));
          },
          cancel: () => {
            seen.push('cancelled');
          },
        },
        { highWaterMark: 0 },
      );
    for (const status of [500, 200]) {
      world.internet.on(webhook.host, () => new Response(body(), { status }));
      await agent.request();
      await world.deliver();
    }
    expect(seen).toEqual(['cancelled', 'cancelled']);
  });
});

describe('an answer 410', () => {
  it('disables the webhook and cancels its pending deliveries', async () => {
    const { world, account, agent, webhook } = await makeScene(answers(500));
    for (let i = 0; i < 8; i++) await agent.request(LONG);
    await world.deliver();
    world.internet.on(webhook.host, answers(410));
    world.internet.received = [];
    world.advance(6 * SECOND);
    await world.deliver();
    expect(await readWebhook(account, webhook)).toMatchObject({
      is_active: false,
      disabled_reason: expect.stringMatching(/410/),
    });
    const deliveries = await listDeliveries(account, webhook);
    expect(deliveries.map(({ status }) => status)).toEqual(Array(8).fill('failed'));
    expect(deliveries.filter((delivery) => delivery.last_status_code === 410)).toHaveLength(
      world.internet.received.length,
    );
    const sent = world.internet.received.length;
    await agent.request(LONG);
    world.advance(DAY);
    await world.sweep();
    await world.deliver();
    expect(world.internet.received).toHaveLength(sent);
    world.internet.on(webhook.host, answers(200));
    const { body } = await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, {
      is_active: true,
    });
    expect(body).toMatchObject({ is_active: true, disabled_reason: null });
    await agent.request(LONG);
    await world.deliver();
    expect(world.internet.received).toHaveLength(sent + 1);
  });
});

describe('a webhook whose attempts fail', () => {
  it.runIf(depth.isDeep)('for five days is disabled', async () => {
    const { world, account, agent, webhook } = await makeScene(answers(500));
    const started = world.now;
    for (let day = 0; day < 5; day++) {
      world.now = started + day * DAY;
      await agent.request(LONG);
      await world.deliver();
      await world.sweep();
      await world.deliver();
      expect((await readWebhook(account, webhook)).is_active).toBe(true);
    }
    world.now = started + 5 * DAY - 1;
    await agent.request(LONG);
    await world.deliver();
    expect((await readWebhook(account, webhook)).is_active).toBe(true);
    world.now = started + 5 * DAY;
    await agent.request(LONG);
    await world.deliver();
    expect(await readWebhook(account, webhook)).toMatchObject({
      is_active: false,
      disabled_reason: `Every attempt has failed since ${new Date(started).toISOString()}.`,
    });
    expect(await listDeliveries(account, webhook, '&status=pending')).toEqual([]);
  });

  it.runIf(depth.isDeep)(
    'for five days is disabled, even if it was updated with the same settings meanwhile',
    async () => {
      const { world, account, agent, webhook } = await makeScene(answers(500));
      for (let day = 0; day <= 5; day++) {
        await agent.request(LONG);
        await world.deliver();
        const { url, is_active } = await readWebhook(account, webhook);
        expect([day, is_active]).toEqual([day, day < 5]);
        if (day < 5)
          await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { url, is_active });
        world.advance(DAY);
      }
    },
  );

  it.runIf(depth.isDeep)('but succeed once in a while is not disabled', async () => {
    const { world, account, agent, webhook } = await makeScene(answers(500));
    for (let day = 0; day < 12; day++) {
      world.internet.on(webhook.host, answers(day % 4 === 3 ? 204 : 500));
      await agent.request(LONG);
      await world.deliver();
      await world.sweep();
      await world.deliver();
      world.advance(DAY);
    }
    expect((await readWebhook(account, webhook)).is_active).toBe(true);
  });
});

describe.runIf(depth.isDeep)('the slow queue', () => {
  /** Marks the newest webhook as fast. */
  const prove = () =>
    env.DB.prepare(
      'update receivers set is_slow = 0 where number = (select max(number) from receivers)',
    ).run();
  const isSlow = async () =>
    Boolean(
      await env.DB.prepare('select is_slow from receivers order by number desc limit 1').first(
        'is_slow',
      ),
    );

  it('serves webhooks whose last attempt failed or took over a second', async () => {
    const { world, agent, webhook } = await makeScene();
    const after = (milliseconds: number, status: number) => () => {
      world.advance(milliseconds);
      return new Response(null, { status });
    };
    const steps: [number, number, boolean][] = [
      [0, 200, false],
      [0, 500, true],
      [0, 200, false],
      [1_000, 200, false],
      [1_001, 200, true],
      [1_001, 200, true],
      [0, 204, false],
    ];
    for (const [milliseconds, status, expected] of steps) {
      const wasSlow = await isSlow();
      world.internet.on(webhook.host, after(milliseconds, status));
      await agent.request(LONG);
      const messages = world.deliveryQueue.waiting.filter(({ due }) => due <= world.now);
      expect(messages.map(({ body }) => body.receiver)).toEqual([undefined]);
      expect(world.slowDeliveryQueue.waiting.filter(({ due }) => due <= world.now)).toEqual([]);
      await world.deliverOnce();
      // The account's message delivers to a fast webhook directly, and enqueues a message for a
      // slow one.
      expect(world.slowDeliveryQueue.waiting.some(({ due }) => due <= world.now)).toBe(wasSlow);
      await world.deliver();
      expect([milliseconds, status, await isSlow()]).toEqual([milliseconds, status, expected]);
    }
  });

  it('gets the remaining deliveries after the first timeouts of a fast webhook', async () => {
    const { world, account, agent, webhook } = await makeScene();
    await prove();
    world.internet.on(webhook.host, hang(world.internet));
    for (let i = 0; i < 40; i++) await agent.request(LONG);
    await world.deliverOnce();
    expect(world.internet.received).toHaveLength(6);
    expect(world.deliveryQueue.waiting).toEqual([]);
    expect(world.slowDeliveryQueue.waiting.map(({ body }) => body.receiver)).toEqual([
      expect.any(Number),
    ]);
    world.internet.on(webhook.host, answers(200));
    await world.deliver();
    expect(await listDeliveries(account, webhook, '&status=succeeded')).toHaveLength(34);
  });

  it('gets the remaining deliveries after the first quick failures of a fast webhook', async () => {
    const { world, agent } = await makeScene(answers(500));
    await prove();
    for (let i = 0; i < 40; i++) await agent.request(LONG);
    await world.deliverOnce();
    expect(world.internet.received).toHaveLength(6);
  });

  it('serves a webhook that is new, has a new URL or was enabled again, until it has answered', async () => {
    const changes: [Json[], boolean][] = [
      [[{ url: 'https://new.example.com/' }], true],
      [[{ is_active: false }, { is_active: true }], true],
      [[{ is_active: true }], false],
      [[{ is_active: true, description: 'The same' }], false],
    ];
    for (const [steps, expected] of changes) {
      const { world, account, agent, webhook } = await makeScene();
      expect(await isSlow()).toBe(true);
      await agent.request(LONG);
      await world.deliverOnce();
      expect(world.internet.received).toEqual([]);
      await world.deliver();
      expect([world.internet.received.length, await isSlow()]).toEqual([1, false]);
      for (const change of steps)
        await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, change);
      expect([steps, await isSlow()]).toEqual([steps, expected]);
      const { url } = await readWebhook(account, webhook);
      await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { url });
      expect(await isSlow()).toBe(expected);
    }
  });

  it('hands a backlog to the fast queue after the first quick answer', async () => {
    const { world, account, agent, webhook } = await makeScene();
    for (let i = 0; i < 40; i++) await agent.request(LONG);
    await world.deliverOnce();
    const [message] = world.slowDeliveryQueue.take();
    if (!message) throw new Error('there is no message');
    await deliverMessage(message, world.env, world.runtime);
    expect([world.internet.received.length, world.slowDeliveryQueue.waiting]).toEqual([6, []]);
    await world.deliver();
    expect(await listDeliveries(account, webhook, '&status=succeeded')).toHaveLength(40);
  });

  it('gets a webhook whose host name is slow to look up, before anything is sent', async () => {
    const { world, agent, webhook } = await makeScene();
    const lookUp = (milliseconds: number) => () => {
      world.advance(milliseconds);
      return Response.json({ Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] });
    };
    world.internet.resolver = lookUp(500);
    await agent.request();
    await world.deliver();
    expect([await isSlow(), world.internet.received.length]).toEqual([false, 1]);
    world.internet.resolver = lookUp(501);
    await agent.request();
    await world.deliverOnce();
    expect([await isSlow(), world.internet.received.length]).toEqual([true, 1]);
    expect(world.deliveryQueue.waiting).toEqual([]);
    await world.deliver();
    expect([await isSlow(), world.internet.sentTo(webhook.host).length]).toEqual([true, 2]);
    world.internet.resolver = null;
    await agent.request();
    await world.deliver();
    expect([await isSlow(), world.internet.sentTo(webhook.host).length]).toEqual([false, 3]);
  });
});

it.runIf(depth.isDeep)(
  'fifty hanging webhooks do not delay fifty others when queue messages are handled one at a time',
  async () => {
    const world = new World();
    const accounts = [await world.account({ plan: 'pro' }), await world.account({ plan: 'pro' })];
    const agents = await Promise.all(accounts.map((account) => account.agent()));
    const makeEach = () =>
      Promise.all(
        accounts.flatMap((account) => Array.from({ length: 25 }, () => makeWebhook(account))),
      );
    const [hanging, healthy] = [await makeEach(), await makeEach()];
    for (const { host } of hanging) world.internet.on(host, answers(500));
    for (const agent of agents) await agent.request(LONG);
    await world.deliver();
    for (const { host } of hanging) world.internet.on(host, hang(world.internet));
    const committed = world.now;
    for (const round of [2, 3]) {
      for (const agent of agents) await agent.request(LONG);
      while (world.deliveryQueue.waiting.length > 0) await world.deliverOnce();
      for (const { host } of healthy) expect(world.internet.sentTo(host)).toHaveLength(round);
      for (const { host } of hanging) expect(world.internet.sentTo(host)).toHaveLength(1);
    }
    // The clock did not move, so no request to a hanging receiver was made.
    expect(world.now).toBe(committed);
    await Promise.all(
      world.slowDeliveryQueue
        .take()
        .map((message) => deliverMessage(message, world.env, world.runtime)),
    );
    expect(world.now).toBeGreaterThan(committed);
    for (const { host } of hanging) expect(world.internet.sentTo(host).length).toBeGreaterThan(1);
  },
);

it('a damaged entry delays no other entry, and the service logs nothing of its content', async () => {
  const log = vi.spyOn(console, 'error');
  const { world, account, agent, webhook } = await makeScene();
  const { id } = await agent.request();
  await env.DB.prepare(
    `update audit_entries set details = 'secret' where pos = (select max(pos) from audit_entries)`,
  ).run();
  await agent.request();
  await world.deliver();
  expect(world.internet.sentTo(webhook.host)).toHaveLength(1);
  expect(world.internet.received[0]?.body).not.toContain(id);
  const deliveries = await listDeliveries(account, webhook);
  expect(deliveries.map(({ status }) => status).toSorted()).toEqual(['failed', 'succeeded']);
  expect(log.mock.calls.flat().join()).toContain('entry_unreadable');
  expect(log.mock.calls.flat().join()).not.toContain('secret');
  log.mockRestore();
  await env.DB.prepare(
    `update audit_entries set details = '{"resource":"x"}' where details = 'secret'`,
  ).run();
});
