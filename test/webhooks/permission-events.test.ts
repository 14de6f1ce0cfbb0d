import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { PERMISSION_EVENTS } from '../../src/db/schema';
import { checkDeliveries } from '../support/check-deliveries';
import { depth } from '../support/depth';
import { type FaultMode, FaultyDatabase } from '../support/faults';
import { answers } from '../support/internet';
import { orderMove, settleMoves } from '../support/moves';
import { deliverMessage } from '../support/queue';
import { approve, deny, makeReview, type ReviewScene } from '../support/reviews';
import { sealLogs } from '../support/seal';
import { ACT, giveSeries, makeSeriesScene } from '../support/series';
import { countRows, emptyTables, readTables } from '../support/tables';
import type { TestWebhook } from '../support/webhooks';
import {
  listDeliveries,
  makeProvenWebhook,
  makeWebhook,
  readDelivery,
  verify,
} from '../support/webhooks';
import {
  type Json,
  makeAgent,
  type TestAccount,
  type TestAgent,
  World,
  withoutContents,
} from '../support/world';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

beforeEach(() => emptyTables(env.DB));

/** Events of permissions, and the audit entries from which most of them come. */
const ALL = { events: ['audit.created', ...PERMISSION_EVENTS] };
const OF_PERMISSIONS = { events: PERMISSION_EVENTS };

const REQUEST = {
  resource: 'mailbox:for-the-webhook',
  input: { to: ['only-in-the-input'] },
  preview: { title: 'A mail', summary: 'only-in-the-preview' },
  expires_in: 3_600,
};

/** The messages that a webhook got, in order, after checking their signatures. */
function messages(world: World, { host, secret }: TestWebhook): Json[] {
  return world.internet.sentTo(host).map((received) => {
    return verify(secret, received, Number(received.headers.get('webhook-timestamp')) * 1_000);
  });
}

/**
 * The events that a webhook was told of and their permissions, sorted: messages are sent six at a
 * time.
 */
function told(world: World, webhook: TestWebhook): string[] {
  return messages(world, webhook)
    .map(({ event, data }) => `${event} ${data.permission_request_id ?? data.id}`)
    .sort();
}

/**
 * The body of the message about an event that has just happened, from the permission as a user
 * reads it.
 */
async function bodyOf(
  { world, ...account }: TestAccount,
  event: string,
  id: string,
): Promise<string> {
  const { body } = await world.must(200, 'GET', `/v1/permissions/${id}`, { token: account.token });
  return JSON.stringify({
    event,
    timestamp: new Date(world.now).toISOString(),
    data: withoutContents(body),
  });
}

/** Moves the clock some times, each time with a sweep, and delivers what it finds. */
async function pass(world: World, times: number, step = MINUTE): Promise<void> {
  for (let i = 0; i < times; i++) {
    world.advance(step);
    await world.sweep();
    await world.deliver();
  }
}

/** The stored events of permissions. */
async function stored(): Promise<Json[]> {
  const { results } = await env.DB.prepare(
    'select hex(permission) as permission, event, payload, is_pending from permission_events order by permission, event',
  ).all<Json>();
  return results;
}

/** A scene in which the first person decides, and from a minute on the second one too. */
function makeEscalating(world = new World()): Promise<ReviewScene> {
  const rule = ([first, second]: ReviewScene['people']) => ({
    members: [first.id],
    escalation: { after: 60, members: [second.id] },
  });
  return makeReview(rule, ['approver', 'approver'], { world });
}

describe('a webhook that names one event of permissions', () => {
  it.each<
    [name: string, event: string, happens: (scene: ReviewScene, id: string) => Promise<unknown>]
  >([
    ['a request that waits for people', 'permission.requested', async () => undefined],
    [
      'an approval',
      'permission.decided',
      (scene, id) => approve(scene, scene.people[0], id, { reason: 'Fine' }),
    ],
    ['a denial', 'permission.decided', (scene, id) => deny(scene, scene.people[0], id)],
    [
      'an escalation',
      'permission.escalated',
      async ({ world }) => {
        world.advance(MINUTE);
        await world.sweep();
      },
    ],
    [
      'a request that nobody decided in time',
      'permission.expired',
      async ({ world }) => {
        world.advance(HOUR);
        await world.sweep();
      },
    ],
    [
      'a request that its agent withdrew',
      'permission.expired',
      ({ agent }, id) => agent.must(200, 'POST', `/v1/permissions/${id}/withdraw`, {}),
    ],
  ])('is sent for %s once, with the permission as a user reads it', async (_, event, happens) => {
    const scene = await makeEscalating();
    const { world, account, agent } = scene;
    const webhook = await makeWebhook(account, { events: [event] });
    const { id } = await agent.request(REQUEST);
    await happens(scene, id);
    const body = await bodyOf(account, event, id);
    expect(body).not.toContain('only-in');
    await world.deliver();
    await pass(world, 2, HOUR);
    expect(world.internet.sentTo(webhook.host).map((received) => received.body)).toEqual([body]);
    expect(messages(world, webhook)).toEqual([JSON.parse(body)]);
    expect(await listDeliveries(account, webhook)).toMatchObject([{ event, status: 'succeeded' }]);
    expect(await checkDeliveries(env.DB, world.now)).toEqual([]);
  });
});

it('a webhook that names all events of permissions gets each one, and no use or end of a token', async () => {
  const scene = await makeEscalating();
  const { world, account, agent } = scene;
  const webhook = await makeWebhook(account, OF_PERMISSIONS);
  const { id: approved } = await agent.request({ ...REQUEST, token_ttl: 60 });
  await pass(world, 1);
  await approve(scene, scene.people[1], approved);
  const { id: used } = await agent.request();
  await approve(scene, scene.people[0], used);
  const { body } = await agent.must(200, 'GET', `/v1/permissions/${used}`);
  await agent.must(200, 'POST', '/v1/tokens/use', { token: body.token.value });
  const { id: revoked } = await agent.request({ ...REQUEST, max_uses: 2 });
  await approve(scene, scene.people[0], revoked);
  const { body: other } = await agent.must(200, 'GET', `/v1/permissions/${revoked}`);
  await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: other.token.id });
  await pass(world, 2, HOUR);
  expect((await account.log()).map(({ event_type }) => event_type)).toEqual(
    expect.arrayContaining(['use', 'revoke', 'expire']),
  );
  const decided = [approved, used, revoked].flatMap((id) => [
    `permission.requested ${id}`,
    `permission.decided ${id}`,
  ]);
  expect(told(world, webhook)).toEqual([...decided, `permission.escalated ${approved}`].sort());
});

it('a webhook gets no events of permissions unless it names them', async () => {
  const scene = await makeEscalating();
  const { world, account, agent } = scene;
  const webhook = await makeWebhook(account);
  const { id } = await agent.request();
  await pass(world, 1);
  await approve(scene, scene.people[0], id);
  await pass(world, 2, HOUR);
  expect(messages(world, webhook).map(({ event, data }) => [event, data.event_type])).toEqual([
    ['audit.created', 'request'],
    ['audit.created', 'approve'],
    ['audit.created', 'expire'],
  ]);
  expect((await stored()).filter(({ payload }) => payload !== null)).toEqual([]);
});

it.each([
  ['approve', 'approved'],
  ['deny', 'denied'],
])('a request that a policy decides (%s) is sent as a decision only', async (effect, status) => {
  const { world, account, agent } = await makeAgent();
  const webhook = await makeWebhook(account, OF_PERMISSIONS);
  const policy = { name: 'Rule', effect, actions: ['*'], resources: ['*'] };
  const { body } = await account.must(201, 'POST', '/v1/policies', policy);
  const { id } = await agent.request(REQUEST);
  const expected = await bodyOf(account, 'permission.decided', id);
  await world.deliver();
  await pass(world, 2, HOUR);
  expect(world.internet.sentTo(webhook.host).map((received) => received.body)).toEqual([expected]);
  expect(JSON.parse(expected).data).toMatchObject({
    status,
    decided_by: body.id,
    policy_id: body.id,
  });
});

it('a request that a series approves is sent as a decision only', async () => {
  const { world, account, agent, ada } = await makeSeriesScene();
  const { id: first } = await giveSeries({ world, account, agent, ada });
  const webhook = await makeWebhook(account, OF_PERMISSIONS);
  const { id } = await agent.request(ACT);
  const expected = await bodyOf(account, 'permission.decided', id);
  await world.deliver();
  await pass(world, 2, HOUR);
  expect(world.internet.sentTo(webhook.host).map((received) => received.body)).toEqual([expected]);
  const data = { status: 'approved', decided_by: first, policy_id: null, series: null };
  expect(JSON.parse(expected).data).toMatchObject(data);
});

it('a webhook for some agents gets only events of their permissions', async () => {
  const scene = await makeEscalating();
  const { world, account, agent, people } = scene;
  const other = await account.agent();
  const webhook = await makeWebhook(account, { ...ALL, agent_ids: [agent.id] });
  const all = await makeWebhook(account, OF_PERMISSIONS);
  const { id } = await agent.request();
  const { id: otherId } = await other.request();
  await pass(world, 1);
  for (const decided of [id, otherId]) await approve(scene, people[0], decided);
  await world.deliver();
  expect(told(world, webhook).filter((text) => !text.includes(id))).toEqual([]);
  expect(told(world, webhook)).toHaveLength(5);
  expect(told(world, all)).toHaveLength(6);
});

it("events of another account's permissions never arrive", async () => {
  const world = new World();
  const [own, foreign] = [await makeEscalating(world), await makeEscalating(world)];
  const webhook = await makeWebhook(own.account, ALL);
  const other = await makeWebhook(foreign.account, ALL);
  const { id } = await own.agent.request();
  const { id: foreignId } = await foreign.agent.request();
  await pass(world, 1);
  for (const [scene, decided] of [[own, id] as const, [foreign, foreignId] as const]) {
    expect((await approve(scene, scene.people[1], decided)).body.status).toBe('approved');
  }
  await world.deliver();
  for (const [receiver, permission] of [[webhook, id] as const, [other, foreignId] as const]) {
    const events = ['permission.requested', 'permission.escalated', 'permission.decided'];
    const expected = ['audit.created', 'audit.created', ...events].map(
      (event) => `${event} ${permission}`,
    );
    expect(told(world, receiver)).toEqual(expected.sort());
  }
});

describe('the body of a message', () => {
  it('never changes over retries, although the permission does', async () => {
    const { world, account, agent } = await makeAgent();
    const webhook = await makeWebhook(account, OF_PERMISSIONS);
    world.internet.on(webhook.host, answers(503));
    const { id } = await agent.request(REQUEST);
    const body = await bodyOf(account, 'permission.requested', id);
    await world.deliver();
    await account.must(200, 'POST', `/v1/permissions/${id}/approve`, { max_uses: 1 });
    const decided = await bodyOf(account, 'permission.decided', id);
    await pass(world, 2, 10 * MINUTE);
    world.internet.on(webhook.host, answers(200));
    await pass(world, 2, HOUR);
    const byDelivery = Map.groupBy(world.internet.sentTo(webhook.host), ({ headers }) =>
      headers.get('webhook-id'),
    );
    const sent = [...byDelivery.values()].map((attempts) =>
      attempts.map((attempt) => attempt.body),
    );
    expect(sent.map((bodies) => [bodies.length > 1, [...new Set(bodies)]])).toEqual([
      [true, [body]],
      [true, [decided]],
    ]);
    expect(messages(world, webhook)).toHaveLength(sent.flat().length);
    expect(await listDeliveries(account, webhook, '&status=succeeded')).toHaveLength(2);
  });

  it('is the same in a redelivery, which has the same webhook-id', async () => {
    const scene = await makeEscalating();
    const { world, account, agent, people } = scene;
    const webhook = await makeWebhook(account, OF_PERMISSIONS);
    const { id } = await agent.request(REQUEST);
    await pass(world, 1);
    await approve(scene, people[0], id);
    await world.deliver();
    const sent = world.internet.sentTo(webhook.host);
    const identify = (attempts: typeof sent) =>
      attempts.map(({ headers, body }) => headers.get('webhook-id') + body).sort();
    expect(sent).toHaveLength(3);
    for (const { id: delivery } of await listDeliveries(account, webhook)) {
      await account.must(
        202,
        'POST',
        `/v1/webhooks/${webhook.id}/deliveries/${delivery}/redeliver`,
      );
    }
    await world.deliver();
    const again = world.internet.sentTo(webhook.host).slice(sent.length);
    expect(identify(again)).toEqual(identify(sent));
    expect(messages(world, webhook)).toHaveLength(6);
  });

  it('is stored once for all webhooks', async () => {
    const { world, account, agent } = await makeAgent();
    const webhooks = [await makeWebhook(account, OF_PERMISSIONS), await makeWebhook(account, ALL)];
    const { id } = await agent.request(REQUEST);
    const body = await bodyOf(account, 'permission.requested', id);
    await world.deliver();
    for (const webhook of webhooks) {
      const sent = world.internet.sentTo(webhook.host).map((received) => received.body);
      expect(sent.filter((text) => text.includes('permission.requested'))).toEqual([body]);
    }
    const { results } = await env.DB.prepare('select payload from deliveries').all();
    expect(results).toEqual([{ payload: null }, { payload: null }, { payload: null }]);
    expect(await stored()).toMatchObject([{ payload: body, is_pending: 0 }]);
  });

  it('is shown only to a token that may read permissions', async () => {
    const { world, account, agent } = await makeAgent();
    const webhook = await makeWebhook(account, OF_PERMISSIONS);
    const { id } = await agent.request(REQUEST);
    const expected = JSON.parse(await bodyOf(account, 'permission.requested', id));
    await world.deliver();
    const [delivery] = await listDeliveries(account, webhook);
    const path = `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}`;
    const shown = async (...scopes: string[]) => {
      const token = await account.limitedToken('webhooks:read', ...scopes);
      return (await world.must(200, 'GET', path, { token })).body.payload;
    };
    expect(await shown('permissions:read')).toEqual(expected);
    expect(await shown('audit:read', 'audit:export', 'permissions:decide')).toBeNull();
  });
});

describe('an escalation', () => {
  it('stores nothing in an account without a webhook', async () => {
    const { world, agent } = await makeEscalating();
    await agent.request();
    world.advance(MINUTE);
    await world.sweep();
    expect(await stored()).toEqual([]);
  });

  it('is not sent to a webhook that was disabled at that time', async () => {
    const scene = await makeEscalating();
    const { world, account, agent } = scene;
    const webhook = await makeWebhook(account, OF_PERMISSIONS);
    const { id } = await agent.request();
    world.advance(MINUTE);
    await world.sweep();
    const change = (is_active: boolean) =>
      account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { is_active });
    await change(false);
    await change(true);
    await approve(scene, scene.people[1], id);
    await pass(world, 2);
    expect(told(world, webhook)).toEqual([`permission.decided ${id}`]);
  });

  it('comes after the request in the list of deliveries, even if both are sent at once', async () => {
    const { world, account, agent } = await makeEscalating();
    const webhook = await makeWebhook(account, OF_PERMISSIONS);
    await agent.request();
    world.deliveryQueue.waiting = [];
    await pass(world, 1);
    const newest = (await listDeliveries(account, webhook)).map(({ event }) => event);
    expect(newest).toEqual(['permission.escalated', 'permission.requested']);
  });

  it.runIf(depth.isDeep)(
    'is sent for each permission once if many are escalated at once',
    async () => {
      const { world, account, agent } = await makeEscalating();
      const webhook = await makeWebhook(account, { events: ['permission.escalated'] });
      const ids: string[] = [];
      for (let i = 0; i < 70; i++) ids.push((await agent.request()).id);
      await pass(world, 3);
      expect(told(world, webhook)).toEqual(ids.map((id) => `permission.escalated ${id}`).sort());
      expect(await checkDeliveries(env.DB, world.now)).toEqual([]);
    },
  );
});

describe.runIf(depth.isDeep)('erasure', () => {
  const MARK = 'only-in-this-request';

  async function hasMark(): Promise<boolean> {
    return JSON.stringify([...(await readTables(env.DB))]).includes(MARK);
  }

  it('by retention removes the payload, and the delivery shows none', async () => {
    const { world, account, agent } = await makeAgent(new World(), {
      plan: 'enterprise',
      audit_retention_days: 1,
    });
    const webhook = await makeWebhook(account, OF_PERMISSIONS);
    const { id } = await agent.request({ resource: `mailbox:${MARK}` });
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    await world.deliver();
    world.internet.on(webhook.host, answers(503));
    const { id: late } = await agent.request({ resource: `mailbox:${MARK}` });
    await account.must(200, 'POST', `/v1/permissions/${late}/deny`);
    await world.deliver();
    expect(await stored()).toHaveLength(4);
    world.advance(DAY + 1);
    await sealLogs(env.DB);
    await world.clean();
    expect(await stored()).toEqual([]);
    expect(await hasMark()).toBe(false);
    const deliveries = await listDeliveries(account, webhook);
    expect(deliveries).toHaveLength(4);
    for (const delivery of deliveries) {
      expect(await readDelivery(account, webhook, delivery.id)).toMatchObject({ payload: null });
      await account.must(
        409,
        'POST',
        `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}/redeliver`,
      );
    }
    const sent = world.internet.received.length;
    await pass(world, 2);
    expect(world.internet.received).toHaveLength(sent);
    expect(await listDeliveries(account, webhook, '&status=failed')).toMatchObject(
      Array(2).fill({ last_error: 'The audit entry or the permission is no longer kept.' }),
    );
  });

  it('of an agent removes its deliveries and their payloads', async () => {
    const scene = await makeEscalating();
    const { world, account, agent } = scene;
    const webhook = await makeWebhook(account, OF_PERMISSIONS);
    const other = await account.agent();
    const { id: kept } = await other.request();
    const { id } = await agent.request({ resource: `mailbox:${MARK}` });
    await pass(world, 1);
    await approve(scene, scene.people[0], id);
    await world.deliver();
    expect(await listDeliveries(account, webhook)).toHaveLength(5);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    expect(await listDeliveries(account, webhook)).toHaveLength(2);
    await sealLogs(env.DB);
    await pass(world, 2);
    await world.clean();
    expect(await hasMark()).toBe(false);
    expect((await stored()).map(({ payload }) => JSON.parse(payload).data.id)).toEqual([
      kept,
      kept,
    ]);
    const { results } = await env.DB.prepare(
      'select hex(permission) as permission from deliveries',
    ).all<Json>();
    expect(results).toEqual((await stored()).map(({ permission }) => ({ permission })));
  });

  it('of an account leaves no row', async () => {
    const world = new World();
    const before = await countRows(env.DB);
    const scene = await makeEscalating(world);
    const webhook = await makeWebhook(scene.account, ALL);
    const { id } = await scene.agent.request();
    await pass(world, 1);
    await approve(scene, scene.people[0], id);
    await scene.agent.request();
    await world.deliver();
    const sent = world.internet.sentTo(webhook.host).length;
    await world.must(202, 'DELETE', `/v1/admin/users/${scene.account.id}`, {
      token: env.ADMIN_TOKEN,
    });
    await pass(world, 3, 10 * MINUTE);
    expect(world.internet.sentTo(webhook.host)).toHaveLength(sent);
    expect(await countRows(env.DB)).toEqual(before);
  });
});

it.runIf(depth.isDeep)(
  'a move keeps payloads and events that wait: nothing is lost, sent twice or changed',
  async () => {
    const scene = await makeEscalating();
    const { world, account, agent, people } = scene;
    const webhook = await makeWebhook(account, OF_PERMISSIONS);
    world.internet.on(webhook.host, answers(503));
    const { id } = await agent.request(REQUEST);
    const body = await bodyOf(account, 'permission.requested', id);
    await world.deliver();
    world.advance(MINUTE);
    await world.sweep();
    world.deliveryQueue.waiting = [];
    world.slowDeliveryQueue.waiting = [];
    expect((await stored()).map(({ is_pending }) => is_pending)).toEqual([0, 1]);
    const shown = await Promise.all(
      (await listDeliveries(account, webhook)).map((delivery) =>
        readDelivery(account, webhook, delivery.id),
      ),
    );
    Object.assign(world.env, { DB_01: env.DB_01 });
    await orderMove(world, account.id, '01');
    await settleMoves(world);
    expect(await stored()).toEqual([]);
    for (const delivery of shown) {
      expect((await readDelivery(account, webhook, delivery.id)).payload).toEqual(delivery.payload);
    }
    world.internet.on(webhook.host, answers(200));
    await approve(scene, people[1], id);
    await pass(world, 10);
    const sent = world.internet.sentTo(webhook.host);
    const ids = new Set(sent.map(({ headers }) => headers.get('webhook-id')));
    expect(ids.size).toBe(3);
    expect(await listDeliveries(account, webhook, '&status=succeeded')).toHaveLength(3);
    const [requested, ...others] = Map.groupBy(sent, ({ headers }) =>
      headers.get('webhook-id'),
    ).values();
    expect(new Set(requested?.map((attempt) => attempt.body))).toEqual(new Set([body]));
    expect(others.map(([attempt]) => JSON.parse(attempt?.body ?? '').event).toSorted()).toEqual([
      'permission.decided',
      'permission.escalated',
    ]);
  },
);

/**
 * Whether each of some requests was told to a webhook in one message for each event, and nothing
 * else.
 */
async function expectOnce(
  account: TestAccount,
  webhook: TestWebhook,
  expected: [string, string][],
): Promise<void> {
  const { world } = account;
  const byDelivery = Map.groupBy(world.internet.sentTo(webhook.host), ({ headers }) =>
    headers.get('webhook-id'),
  );
  const bodies = [...byDelivery.values()].map((attempts) => [
    ...new Set(attempts.map(({ body }) => body)),
  ]);
  expect(bodies.filter((texts) => texts.length !== 1)).toEqual([]);
  const events = bodies.map(([text]) => {
    const { event, data } = JSON.parse(text ?? '');
    return `${event} ${data.permission_request_id ?? data.id}`;
  });
  expect(events.toSorted()).toEqual(expected.map(([event, id]) => `${event} ${id}`).toSorted());
  expect(await checkDeliveries(env.DB, world.now)).toEqual([]);
}

describe.runIf(depth.isDeep)('a worker', () => {
  /**
   * Two webhooks, three requests of which one is decided, and an escalation, of none of which the
   * webhooks know yet.
   */
  async function makeBacklog(database = new FaultyDatabase(env.DB)) {
    const scene = await makeEscalating(new World({ DB: database.binding }));
    const { world, account, agent, people } = scene;
    const webhooks = [
      await makeProvenWebhook(account, ALL),
      await makeProvenWebhook(account, OF_PERMISSIONS),
    ] as const;
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await agent.request(REQUEST)).id);
    world.deliveryQueue.waiting = [];
    world.advance(MINUTE);
    await world.sweep();
    await approve(scene, people[0], ids[0] ?? '');
    const events: [string, string][] = [
      ...ids.flatMap((id): [string, string][] => [
        ['permission.requested', id],
        ['permission.escalated', id],
      ]),
      ['permission.decided', ids[0] ?? ''],
    ];
    const entries = [...ids, ids[0] ?? ''].map((id): [string, string] => ['audit.created', id]);
    const expectAll = async () => {
      await expectOnce(account, webhooks[0], [...events, ...entries]);
      await expectOnce(account, webhooks[1], events);
    };
    return { database, world, account, agent, webhooks, expectAll };
  }

  it('creates each delivery once, however many workers get the message', async () => {
    const { world, webhooks, expectAll } = await makeBacklog();
    const due = world.deliveryQueue.take();
    const [message] = due;
    if (!message) throw new Error('there is no message');
    await Promise.all(
      Array.from({ length: 5 }, () => deliverMessage(message, world.env, world.runtime)),
    );
    const again = world.deliveryQueue.take();
    await Promise.all(
      [...again, ...due].map((body) => deliverMessage(body, world.env, world.runtime)),
    );
    await world.deliver();
    await expectAll();
    expect(webhooks.map(({ host }) => world.internet.sentTo(host).length)).toEqual([11, 7]);
  });

  it.runIf(depth.isDeep).each([
    ['while it reads the permissions', 2],
    ['before it writes the deliveries', 3],
  ])('creates no delivery that a faster worker creates %s', async (_, call) => {
    const { database, world, account, webhooks, expectAll } = await makeBacklog();
    const [message] = world.deliveryQueue.take();
    if (!message) throw new Error('there is no message');
    database.before(call, async () => {
      const rival = new World({ WEBHOOK_QUEUE: world.deliveryQueue.binding });
      Object.assign(rival.internet, world.internet);
      await deliverMessage(message, rival.env, world.runtime);
    });
    await deliverMessage(message, world.env, world.runtime);
    await world.deliver();
    await pass(world, 2);
    await expectAll();
    expect(await listDeliveries(account, webhooks[1])).toHaveLength(7);
  });

  it('sends no permission of an agent that is deleted while it works', async () => {
    const { database, world, account, agent, webhooks } = await makeBacklog();
    database.before(3, async () => {
      const rival = new World();
      rival.now = world.now;
      await rival.must(204, 'DELETE', `/v1/agents/${agent.id}`, { token: account.token });
      await sealLogs(env.DB);
      await rival.sweep();
    });
    await world.deliver();
    await sealLogs(env.DB);
    await pass(world, 2);
    expect(world.internet.received).toEqual([]);
    for (const webhook of webhooks) expect(await listDeliveries(account, webhook)).toEqual([]);
    expect(await countRows(env.DB)).toMatchObject({ deliveries: 0, permissions: 0 });
    expect(await stored()).toEqual([]);
  });

  /** The database calls from the queue message to the recorded attempts. */
  const CALLS = 8;

  it.each<[FaultMode, number]>(
    depth.cases(
      (['before', 'after'] as const).flatMap((mode) =>
        Array.from({ length: CALLS }, (_, i): [FaultMode, number] => [mode, i + 1]),
      ),
      5,
    ),
  )(
    'loses nothing and doubles nothing if a database call fails (%s it takes effect, call %i)',
    async (mode, call) => {
      const { database, world, expectAll } = await makeBacklog();
      database.arm({ call, mode });
      await world.deliver();
      expect(database.calls).toBeGreaterThanOrEqual(call);
      database.arm(null);
      await pass(world, 3);
      await expectAll();
    },
  );

  it('takes exactly the database calls that these tests fail in turn', async () => {
    const { database, world, expectAll } = await makeBacklog();
    database.arm(null);
    await world.deliver();
    expect(database.calls).toBe(CALLS);
    await expectAll();
  });

  it.runIf(depth.isDeep).each<FaultMode>(['before', 'after'])(
    'sends an escalation once if its write fails %s it takes effect',
    async (mode) => {
      const database = new FaultyDatabase(env.DB);
      const { world, account, agent } = await makeEscalating(new World({ DB: database.binding }));
      const webhook = await makeWebhook(account, { events: ['permission.escalated'] });
      const { id } = await agent.request();
      await world.deliver();
      world.advance(MINUTE);
      let failed = 0;
      const fail = async () => {
        failed += 1;
        // The call that is about to run.
        database.arm({ call: 0, mode });
      };
      database.before(1, fail, /insert into "permission_events"/);
      await world.sweep();
      database.arm(null);
      expect(failed).toBe(1);
      await pass(world, 3);
      await expectOnce(account, webhook, [['permission.escalated', id]]);
      expect(
        (await account.must(200, 'GET', '/v1/activity?action=permission.escalated')).body.data,
      ).toHaveLength(1);
    },
  );
});

it.runIf(depth.isDeep)(
  'many requests at once get exactly one delivery of each event',
  async () => {
    const MANY = depth.runs(120, 450);
    const { world, account, agent } = await makeAgent();
    const both = await makeProvenWebhook(account, ALL);
    const one = await makeProvenWebhook(account, OF_PERMISSIONS);
    const agents: TestAgent[] = [agent, await account.agent()];
    const requests = await Promise.all(
      Array.from({ length: MANY }, (_, i) =>
        (agents[i % 2] as TestAgent).request({ resource: `mailbox:${i}` }),
      ),
    );
    await world.deliver();
    const requested = requests.map(({ id }): [string, string] => ['permission.requested', id]);
    await expectOnce(account, both, [
      ...requested,
      ...requests.map(({ id }): [string, string] => ['audit.created', id]),
    ]);
    await expectOnce(account, one, requested);
    expect(world.internet.sentTo(both.host)).toHaveLength(2 * MANY);
    expect(world.internet.sentTo(one.host)).toHaveLength(MANY);
  },
  60_000,
);
