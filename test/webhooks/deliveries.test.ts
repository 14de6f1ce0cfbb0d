import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { startExport } from '../support/exports';
import { FaultyDatabase } from '../support/faults';
import { readReport, startReport } from '../support/reports';
import { sealLogs } from '../support/seal';
import { countRows } from '../support/tables';
import {
  listDeliveries,
  makeWebhook,
  readDelivery,
  readWebhook,
  verify,
} from '../support/webhooks';
import { type Json, type TestAccount, World } from '../support/world';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The messages that a webhook received, in order; each signature is verified. */
function messages(world: World, webhook: { host: string; secret: string }): Json[] {
  return world.internet
    .sentTo(webhook.host)
    .map((received) => verify(webhook.secret, received, world.now));
}

function messageOf({
  id,
  event_type,
  agent_id,
  permission_request_id,
  details,
  created_at,
}: Json): Json {
  const data = { id, event_type, agent_id, permission_request_id, details };
  return { event: 'audit.created', timestamp: created_at, data };
}

async function newest(account: TestAccount, webhook: { id: string }): Promise<Json> {
  const [{ id }] = await listDeliveries(account, webhook);
  return readDelivery(account, webhook, id);
}

describe('each new audit entry', () => {
  it.runIf(depth.isDeep)('is sent, whatever its event type', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    await agent.request();
    const webhook = await makeWebhook(account);
    await account.must(201, 'POST', '/v1/policies', {
      name: 'x',
      effect: 'deny',
      actions: ['never.*'],
      resources: ['*'],
    });
    await agent.request({ action: 'never.mind' });
    const approved = await agent.approved({ max_uses: 2, token_ttl: 60 });
    await agent.must(200, 'POST', '/v1/tokens/use', { token: approved.token.value });
    await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: approved.token.id });
    await agent.approved({ token_ttl: 30 });
    const { id } = await agent.request({
      scope: { '2': ['é', '😀'], '10': { b: 1, a: 2 } },
      reason: '"\n',
    });
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`, { reason: 'Nein' });
    for (let i = 0; i < 130; i++) await agent.request({ expires_in: 60 });
    world.advance(60_000);
    await world.sweep();
    await world.deliver();
    const [, ...entries] = await account.log();
    expect(entries).toHaveLength(271);
    const byId = ({ data: { id: one } }: Json, { data: { id: other } }: Json) =>
      one < other ? -1 : 1;
    const received = world.internet.sentTo(webhook.host).map(({ body }) => JSON.parse(body));
    expect(received.toSorted(byId)).toEqual(entries.map(messageOf).toSorted(byId));
    expect(new Set(entries.map(({ event_type }) => event_type)).size).toBe(6);
    expect(
      new Set(world.internet.received.map(({ headers }) => headers.get('webhook-id'))).size,
    ).toBe(271);
  });

  it('is sent to every webhook, with the headers of Standard Webhooks', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const webhooks = [
      await makeWebhook(account),
      await makeWebhook(account),
      await makeWebhook(account),
    ];
    await agent.request();
    await world.deliver();
    const [entry] = await account.log();
    for (const webhook of webhooks) {
      expect(messages(world, webhook)).toEqual([messageOf(entry)]);
      const [received] = world.internet.sentTo(webhook.host);
      expect(Object.fromEntries(received?.headers ?? [])).toEqual({
        'content-type': 'application/json',
        'user-agent': expect.stringMatching(/^Countersign/),
        'webhook-id': (await newest(account, webhook)).id,
        'webhook-timestamp': String(world.now / 1_000),
        'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
      });
      expect(() =>
        verify(webhook.secret, { ...(received as Json), body: `${received?.body} ` }, world.now),
      ).toThrow();
    }
  });

  it('is sent only to webhooks whose filters match', async () => {
    const world = new World();
    const account = await world.account();
    const [one, other] = [await account.agent(), await account.agent()];
    const ofOne = await makeWebhook(account, { agent_ids: [one.id] });
    const ofBoth = await makeWebhook(account, {
      agent_ids: [one.id, other.id],
      events: ['audit.created'],
    });
    const ofNone = await makeWebhook(account, {
      events: ['audit.export.completed', 'webhook.test'],
    });
    const stranger = await makeWebhook(await world.account());
    await one.request();
    await other.request();
    await world.deliver();
    const counts = [ofOne, ofBoth, ofNone, stranger].map(
      ({ host }) => world.internet.sentTo(host).length,
    );
    expect(counts).toEqual([1, 2, 0, 0]);
    expect(messages(world, ofOne)[0].data.agent_id).toBe(one.id);
    await account.must(200, 'PUT', `/v1/webhooks/${ofOne.id}`, { agent_ids: null });
    await other.request();
    await world.deliver();
    expect(world.internet.sentTo(ofOne.host)).toHaveLength(2);
  });

  it('is sent and listed in the order of the log', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const webhook = await makeWebhook(account);
    for (let i = 0; i < 30; i++) await agent.request();
    await world.deliver();
    const log = await account.log();
    expect(messages(world, webhook).map(({ data }) => data.id)).toEqual(log.map(({ id }) => id));
    const listed: string[] = [];
    for (const { id } of (await listDeliveries(account, webhook)).toReversed()) {
      listed.push((await readDelivery(account, webhook, id)).payload.data.id);
    }
    expect(listed).toEqual(log.map(({ id }) => id));
  });
});

describe('an account without webhooks', () => {
  it('causes no additional database work', async () => {
    const world = new World();
    const [account, watched, quiet] = [
      await world.account(),
      await world.account(),
      await world.account(),
    ];
    await makeWebhook(watched);
    const { id } = await makeWebhook(quiet);
    await quiet.must(200, 'PUT', `/v1/webhooks/${id}`, { is_active: false });
    const body = { action: 'file.read', resource: 'file:a' };
    const written: number[] = [];
    const read: number[] = [];
    for (const { agent } of [account, quiet, watched].map((owner) => ({ agent: owner.agent() }))) {
      const { key } = await agent;
      await world.must(201, 'POST', '/v1/permissions', { token: key, body });
      await world.deliver();
      const { cost } = await world.must(201, 'POST', '/v1/permissions', { token: key, body });
      written.push(cost.written);
      read.push(cost.read);
      expect(cost.trips).toBe(2);
      await world.deliver();
    }
    const [without = 0, off, on = 0] = written;
    expect([without, off]).toEqual([11, 11]);
    expect(on - without).toBeLessThanOrEqual(2);
    expect(world.deliveryQueue.waiting).toEqual([]);
    expect(read[1]).toBe(read[0]);
    const agent = await watched.agent();
    await agent.request();
    const marked = await agent.must(201, 'POST', '/v1/permissions', body);
    expect(marked.cost.written).toBe(11);
    expect(world.deliveryQueue.waiting).toHaveLength(1);
  });

  it('causes no queue message', async () => {
    const world = new World();
    const agent = await (await world.account()).agent();
    await agent.approved();
    await startExport(agent.account);
    await world.work();
    expect(world.deliveryQueue.waiting).toEqual([]);
  });
});

describe('a webhook gets only the events', () => {
  it('after it was created or last enabled', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const first = await makeWebhook(account);
    const path = `/v1/webhooks/${first.id}`;
    const seen: string[] = [];
    seen.push((await agent.request()).id);
    const second = await makeWebhook(account);
    const both = (await agent.request()).id;
    await world.deliver();
    await account.must(200, 'PUT', path, { is_active: false });
    await agent.request();
    await world.deliver();
    await agent.request();
    await account.must(200, 'PUT', path, { is_active: true });
    await account.must(200, 'PUT', path, { is_active: true });
    seen.push(both, (await agent.request()).id);
    await account.must(200, 'PUT', path, { is_active: true });
    await world.deliver();
    expect(messages(world, first).map(({ data }) => data.permission_request_id)).toEqual(seen);
    expect(messages(world, second)).toHaveLength(4);
  });

  it('after it was last enabled, even if the account had another webhook before', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const first = await makeWebhook(account);
    await agent.request();
    await account.must(204, 'DELETE', `/v1/webhooks/${first.id}`);
    await agent.request();
    const second = await makeWebhook(account, { is_active: false });
    await agent.request();
    await account.must(200, 'PUT', `/v1/webhooks/${second.id}`, { is_active: true });
    const { id } = await agent.request();
    await world.deliver();
    expect(world.internet.sentTo(first.host)).toEqual([]);
    expect(messages(world, second).map(({ data }) => data.permission_request_id)).toEqual([id]);
  });

  it('after its creation when earlier entries were erased', async () => {
    const world = new World();
    const account = await world.account();
    const gone = await account.agent();
    const agent = await account.agent();
    for (let i = 0; i < 3; i++) await gone.request();
    await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
    await sealLogs(env.DB);
    await world.sweep();
    const webhook = await makeWebhook(account);
    const { id } = await agent.request();
    await world.deliver();
    expect(messages(world, webhook).map(({ data }) => data.permission_request_id)).toEqual([id]);
  });
});

it('disabling a webhook cancels its pending deliveries, and enabling it does not send them', async () => {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  const webhook = await makeWebhook(account);
  const path = `/v1/webhooks/${webhook.id}`;
  world.internet.on(webhook.host, () => new Response(null, { status: 500 }));
  for (let i = 0; i < 3; i++) await agent.request({ expires_in: 7 * 86_400 });
  await world.deliver();
  const sent = world.internet.received.length;
  expect(await listDeliveries(account, webhook, '&status=pending')).toHaveLength(3);
  await account.must(200, 'PUT', path, { is_active: false });
  const check = async () => {
    expect(await listDeliveries(account, webhook, '&status=pending')).toEqual([]);
    for (const delivery of await listDeliveries(account, webhook)) {
      expect(delivery).toMatchObject({ status: 'failed', next_attempt_at: null });
      expect(delivery.last_error).toMatch(/was disabled/);
    }
  };
  await check();
  await world.deliver();
  await check();
  const failed = await listDeliveries(account, webhook, '&status=failed');
  expect(failed).toHaveLength(3);
  expect(failed[0].completed_at).toBe(new Date(world.now).toISOString());
  await account.must(200, 'PUT', path, { is_active: true });
  world.internet.on(webhook.host, () => new Response());
  world.advance(DAY);
  await world.sweep();
  await world.deliver();
  expect(world.internet.received).toHaveLength(sent);
  await agent.request({ expires_in: 7 * 86_400 });
  await world.deliver();
  expect(world.internet.received).toHaveLength(sent + 1);
});

it('disabling a webhook and enabling it again cancels its pending deliveries', async () => {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  const webhook = await makeWebhook(account);
  world.internet.on(webhook.host, () => new Response(null, { status: 500 }));
  for (let i = 0; i < 3; i++) await agent.request({ expires_in: 7 * 86_400 });
  await world.deliver();
  world.advance(60_000);
  for (const is_active of [false, true])
    await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { is_active });
  world.internet.on(webhook.host, () => new Response());
  world.internet.received = [];
  await world.deliver();
  await world.sweep();
  await world.deliver();
  expect(world.internet.received).toEqual([]);
  const { id } = await agent.request({ expires_in: 7 * 86_400 });
  await world.deliver();
  expect(messages(world, webhook).map(({ data }) => data.permission_request_id)).toEqual([id]);
  expect(await listDeliveries(account, webhook, '&status=failed')).toHaveLength(3);
});

describe('the test event', () => {
  it('is sent whatever the filters of the webhook', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const webhook = await makeWebhook(account, {
      events: ['report.failed'],
      agent_ids: [agent.id],
    });
    const { body } = await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
    expect(body).toEqual({
      id: expect.stringMatching(/^dlv_/),
      webhook_id: webhook.id,
      event: 'webhook.test',
      status: 'pending',
      attempts: 0,
      next_attempt_at: new Date(world.now).toISOString(),
      last_status_code: null,
      last_error: null,
      created_at: new Date(world.now).toISOString(),
      completed_at: null,
    });
    await world.deliver();
    const message = {
      event: 'webhook.test',
      timestamp: body.created_at,
      data: { webhook_id: webhook.id },
    };
    expect(messages(world, webhook)).toEqual([message]);
    expect(await readDelivery(account, webhook, body.id)).toMatchObject({
      status: 'succeeded',
      payload: message,
    });
  });

  it('is refused for a disabled webhook', async () => {
    const world = new World();
    const account = await world.account();
    const webhook = await makeWebhook(account, { is_active: false });
    const before = await countRows(env.DB);
    const { body } = await account.must(409, 'POST', `/v1/webhooks/${webhook.id}/test`);
    expect(body.code).toBe('conflict');
    expect(await countRows(env.DB)).toEqual(before);
  });
});

describe('a redelivery', () => {
  it('is a new delivery of the same message, with the same webhook-id', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const webhook = await makeWebhook(account);
    await agent.request();
    await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
    await world.deliver();
    const originals = await listDeliveries(account, webhook);
    for (const { id, event } of originals) {
      const known = world.internet.received.length;
      const again = `/v1/webhooks/${webhook.id}/deliveries/${id}/redeliver`;
      const { body: second } = await account.must(202, 'POST', again);
      expect(second).toMatchObject({ event, status: 'pending', attempts: 0 });
      await world.deliver();
      const { body: third } = await account.must(202, 'POST', again.replace(id, second.id));
      await world.deliver();
      expect(new Set([id, second.id, third.id]).size).toBe(3);
      const sent = world.internet.received.filter(
        ({ headers }) => headers.get('webhook-id') === id,
      );
      expect(sent).toHaveLength(3);
      expect(world.internet.received).toHaveLength(known + 2);
      expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
    }
    const all = await listDeliveries(account, webhook);
    expect(all.map(({ status }) => status)).toEqual(Array(6).fill('succeeded'));
  });

  it('is refused if the webhook is disabled', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const webhook = await makeWebhook(account);
    await agent.request();
    await world.deliver();
    const [{ id }] = await listDeliveries(account, webhook);
    await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { is_active: false });
    const { body } = await account.must(
      409,
      'POST',
      `/v1/webhooks/${webhook.id}/deliveries/${id}/redeliver`,
    );
    expect(body.code).toBe('conflict');
  });

  it('is refused if the plan no longer keeps the entry, and the payload is no longer shown', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const webhook = await makeWebhook(account);
    await agent.request();
    await world.deliver();
    const [{ id }] = await listDeliveries(account, webhook);
    world.advance(7 * DAY);
    expect((await readDelivery(account, webhook, id)).payload).not.toBeNull();
    world.advance(1);
    expect(await readDelivery(account, webhook, id)).toMatchObject({
      status: 'succeeded',
      payload: null,
    });
    const { body } = await account.must(
      409,
      'POST',
      `/v1/webhooks/${webhook.id}/deliveries/${id}/redeliver`,
    );
    expect(body.code).toBe('conflict');
  });
});

describe('the list of deliveries', () => {
  it('can be filtered by status and read page by page', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const webhook = await makeWebhook(account);
    const statuses = [200, 500, 410, 204, 200, 500];
    for (const status of statuses) {
      world.internet.on(webhook.host, () => new Response(null, { status }));
      await agent.request();
      await world.deliver();
      if (status === 410)
        await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { is_active: true });
      world.advance(1);
    }
    const all = await listDeliveries(account, webhook);
    expect(all.map(({ status }) => status)).toEqual([
      'pending',
      'succeeded',
      'succeeded',
      'failed',
      'failed',
      'succeeded',
    ]);
    for (const status of ['pending', 'succeeded', 'failed']) {
      const wanted = all.filter((delivery) => delivery.status === status);
      expect(await listDeliveries(account, webhook, `&status=${status}`)).toEqual(wanted);
      const path = `/v1/webhooks/${webhook.id}/deliveries?limit=1&status=${status}`;
      const paged: Json[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body }: Json = await account.must(
          200,
          'GET',
          `${path}${cursor && `&cursor=${cursor}`}`,
        );
        paged.push(...body.data);
        cursor = body.next_cursor;
      }
      expect(paged).toEqual(wanted);
    }
    const { next_cursor } = (
      await account.must(200, 'GET', `/v1/webhooks/${webhook.id}/deliveries?limit=1`)
    ).body;
    const other = await makeWebhook(account);
    for (const path of [`${other.id}/deliveries?`, `${webhook.id}/deliveries?status=failed&`]) {
      const { body } = await account.must(
        400,
        'GET',
        `/v1/webhooks/${path}limit=1&cursor=${next_cursor}`,
      );
      expect(body.code).toBe('invalid_cursor');
    }
  });
});

it('an export sends an event when it completes or fails', async () => {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  await agent.request();
  const webhook = await makeWebhook(account, {
    events: ['audit.export.completed', 'audit.export.failed'],
  });
  const id = await startExport(account);
  world.advance(1_000);
  await world.work();
  await world.deliver();
  const at = new Date(world.now).toISOString();
  const { body: finished } = await account.must(200, 'GET', `/v1/audit/export/${id}`);
  expect(finished.status).toBe('completed');
  expect(messages(world, webhook)).toEqual([
    { event: 'audit.export.completed', timestamp: at, data: finished },
  ]);
  await world.work();
  await world.deliver();
  expect(world.internet.received).toHaveLength(1);

  world.advance(1);
  const failing = await startExport(account);
  await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
  await world.sweep();
  await world.deliver();
  const { body: failed } = await account.must(200, 'GET', `/v1/audit/export/${failing}`);
  expect([failed.status, failed.error]).toEqual(['failed', 'agent_deleted']);
  expect(messages(world, webhook).slice(1)).toEqual([
    { event: 'audit.export.failed', timestamp: failed.created_at, data: failed },
  ]);
  const [delivery] = await listDeliveries(account, webhook);
  expect(delivery).toMatchObject({ event: 'audit.export.failed', status: 'succeeded' });
  expect((await countRows(env.DB)).file_results).toBe(0);
});

it('a report sends an event when it completes or fails', async () => {
  const world = new World();
  const account = await world.account({ plan: 'enterprise' });
  const agent = await account.agent();
  const webhook = await makeWebhook(account, { events: ['report.completed', 'report.failed'] });
  const id = await startReport(account);
  world.advance(1_000);
  await world.work();
  await world.deliver();
  const finished = await readReport(account, id);
  expect(finished.status).toBe('completed');
  const told = [{ event: 'report.completed', timestamp: finished.completed_at, data: finished }];
  expect(messages(world, webhook)).toEqual(told);
  const failing = await startReport(account);
  await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
  await world.sweep();
  await world.deliver();
  const failed = await readReport(account, failing);
  expect([failed.status, failed.error]).toEqual(['failed', 'agent_deleted']);
  const at = new Date(world.now).toISOString();
  expect(messages(world, webhook)).toEqual([
    ...told,
    { event: 'report.failed', timestamp: at, data: failed },
  ]);
});

describe('the event of a completed export is not sent to a webhook', () => {
  it('that was disabled and enabled after the completion', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const webhook = await makeWebhook(account);
    await startExport(account);
    await world.work();
    world.deliveryQueue.waiting = [];
    for (const is_active of [false, true])
      await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { is_active });
    await agent.request();
    await world.deliver();
    expect(messages(world, webhook).map(({ event }) => event)).toEqual(['audit.created']);
    expect((await countRows(env.DB)).file_results).toBe(0);
  });

  /** Loses the queue messages, so that a sweep has to create the deliveries. */
  async function loseMessages(world: World): Promise<void> {
    world.deliveryQueue.waiting = [];
    world.advance(1_000);
    await world.sweep();
    await world.deliver();
  }

  /** An account with two webhooks: `witness` stays enabled, `webhook` changes. */
  async function openPair(database = env.DB) {
    const world = new World({ DB: database });
    const account = await world.account();
    const witness = await makeWebhook(account, { events: ['audit.export.completed'] });
    const webhook = await makeWebhook(account, {
      events: ['audit.export.completed', 'audit.created'],
    });
    const change = (is_active: boolean) =>
      account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { is_active });
    const finish = async () => {
      const id = await startExport(account);
      await world.work();
      return id;
    };
    const told = (to: { host: string; secret: string }) =>
      messages(world, to)
        .map(({ data }) => data.export_id)
        .sort();
    return { world, account, witness, webhook, change, finish, told };
  }

  it('that was created after the completion', async () => {
    const { world, account, witness, finish, told } = await openPair();
    const before = await finish();
    const fresh = await makeWebhook(account);
    const after = await finish();
    await loseMessages(world);
    expect(told(witness)).toEqual([before, after].sort());
    expect(told(fresh)).toEqual([after]);
  });

  it('that was disabled at the completion, even if another webhook was active and the queue message was lost', async () => {
    const { world, witness, webhook, change, finish, told } = await openPair();
    const before = await finish();
    await change(false);
    const meanwhile = await finish();
    await change(true);
    await change(true);
    const after = await finish();
    await loseMessages(world);
    expect(told(witness)).toEqual([before, meanwhile, after].sort());
    expect(told(webhook)).toEqual([after]);
    // Enabling a webhook that is already enabled changes nothing, so it gets the next event.
    await change(true);
    const later = await finish();
    await loseMessages(world);
    expect(told(webhook)).toEqual([after, later].sort());
  });

  it('that the service had disabled before the completion', async () => {
    const { world, account, witness, webhook, change, finish, told } = await openPair();
    world.internet.on(webhook.host, () => new Response(null, { status: 410 }));
    await (await account.agent()).request();
    await world.deliver();
    expect(await readWebhook(account, webhook)).toMatchObject({ is_active: false });
    world.internet.received = [];
    world.internet.on(webhook.host, () => new Response());
    const meanwhile = await finish();
    await change(true);
    const after = await finish();
    await loseMessages(world);
    expect(told(witness)).toEqual([meanwhile, after].sort());
    expect(told(webhook)).toEqual([after]);
  });

  it('that is disabled and enabled while the deliveries are created', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, witness, webhook, change, finish, told } = await openPair(database.binding);
    const before = await finish();
    // Between reading the pending events and creating their deliveries.
    database.before(2, async () => {
      await change(false);
      await change(true);
    });
    await world.deliver();
    expect(told(witness)).toEqual([before]);
    expect(told(webhook)).toEqual([]);
  });
});

it.runIf(depth.isDeep)('an export that fails after its last attempt sends an event', async () => {
  const world = new World();
  const account = await world.account();
  const webhook = await makeWebhook(account);
  const id = await startExport(account);
  await env.DB.prepare('update files set attempts = 20 where due_at is not null').run();
  await world.work();
  await world.deliver();
  const { body } = await account.must(200, 'GET', `/v1/audit/export/${id}`);
  expect(messages(world, webhook)).toEqual([
    { event: 'audit.export.failed', timestamp: new Date(world.now).toISOString(), data: body },
  ]);
});

describe('deliveries of a deleted agent', () => {
  it('are not shown or sent after the deletion, and are erased by the sweep', async () => {
    const world = new World();
    const account = await world.account();
    const [leaving, staying] = [await account.agent(), await account.agent()];
    const webhook = await makeWebhook(account);
    await leaving.request();
    await world.deliver();
    const [{ id }] = await listDeliveries(account, webhook);
    const path = `/v1/webhooks/${webhook.id}/deliveries/${id}`;
    await account.must(202, 'POST', `${path}/redeliver`);
    await staying.request({ expires_in: 7 * 86_400 });
    world.internet.on(webhook.host, () => new Response(null, { status: 500 }));
    await leaving.request();
    await world.deliver();
    await leaving.request();
    await account.must(204, 'DELETE', `/v1/agents/${leaving.id}`);
    const sent = world.internet.received.length;
    await account.must(404, 'GET', path);
    await account.must(404, 'POST', `${path}/redeliver`);
    expect(await listDeliveries(account, webhook)).toHaveLength(1);
    world.internet.on(webhook.host, () => new Response());
    world.advance(HOUR);
    await world.deliver();
    await world.sweep();
    await world.deliver();
    const messages = world.internet.received
      .slice(sent)
      .map(({ body }) => JSON.parse(body).data.agent_id);
    expect(messages).toEqual([staying.id]);
    await sealLogs(env.DB);
    await world.sweep();
    expect((await countRows(env.DB)).erasures).toBe(0);
    const { results } = await env.DB.prepare(
      'select d.agent from deliveries d left join agents a on a.number = d.agent where d.agent is not null and a.number is null',
    ).all();
    expect(results).toEqual([]);
  });
});

it('no delivery of a deleted account is sent, and the sweep erases everything of its webhooks', async () => {
  const world = new World();
  await world.sweep();
  const before = await countRows(env.DB);
  const account = await world.account();
  const agent = await account.agent();
  const webhook = await makeWebhook(account);
  for (let i = 0; i < 600; i += 100) {
    await agent.request();
    await world.deliver();
  }
  await env.DB.prepare(
    `insert into deliveries (receiver, id, original, disable_count, event, pos, agent, payload, status, attempts, due_at,
       last_status_code, last_error, duration, failures, created_at, completed_at)
     select receiver, randomblob(16), original, disable_count, event, pos, agent, payload, status, attempts, due_at,
       last_status_code, last_error, duration, failures, created_at, completed_at
     from deliveries, (with recursive n(i) as (select 1 union all select i + 1 from n where i < 300) select i from n)
     where receiver = (select max(number) from receivers)`,
  ).run();
  await startExport(account);
  await agent.request();
  const sent = world.internet.received.length;
  await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: env.ADMIN_TOKEN });
  await world.work();
  await world.deliver();
  // The sweep waits longest for a file whose worker may have outlived its lease.
  for (let i = 0; i < 5; i++) {
    world.advance(5 * 60_000);
    await world.sweep();
    await world.deliver();
  }
  expect(world.internet.received).toHaveLength(sent);
  expect(world.internet.sentTo(webhook.host)).toHaveLength(sent);
  expect(await countRows(env.DB)).toEqual(before);
});

it.runIf(depth.isDeep)(
  'the webhooks of an inactive account get nothing until the account is active again',
  async () => {
    const world = new World();
    const account = await world.account({ plan: 'pro' });
    const agent = await account.agent();
    const webhook = await makeWebhook(account);
    await agent.request({ expires_in: 60 });
    const token = env.ADMIN_TOKEN;
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
      token,
      body: { is_active: false },
    });
    for (let i = 0; i < 20; i++) {
      world.advance(60_000);
      await world.sweep();
      await world.deliver();
    }
    expect(world.internet.received).toEqual([]);
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
      token,
      body: { is_active: true },
    });
    for (let i = 0; i < 6; i++) {
      world.advance(60_000);
      await world.sweep();
      await world.deliver();
    }
    expect(world.internet.received.map(({ body }) => JSON.parse(body).data.event_type)).toEqual([
      'request',
      'expire',
    ]);
    expect(await listDeliveries(account, webhook, '&status=succeeded')).toHaveLength(2);
  },
);

it('deliveries are erased after 30 days', async () => {
  const world = new World();
  const account = await world.account({ plan: 'pro' });
  const agent = await account.agent();
  const [webhook, other] = [await makeWebhook(account), await makeWebhook(account)];
  await agent.request();
  await world.deliver();
  await env.DB.prepare(
    `insert into deliveries (receiver, id, original, disable_count, event, pos, agent, payload, status, attempts, due_at,
       last_status_code, last_error, duration, failures, created_at, completed_at)
     select receiver, unhex(substr(hex(id), 1, 12) || hex(randomblob(10))), original, disable_count, event, pos, agent,
       payload, status, attempts, due_at, last_status_code, last_error, duration, failures, created_at, completed_at
     from deliveries, (with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200) select i from n)
     where receiver >= (select max(number) - 1 from receivers)`,
  ).run();
  world.advance(DAY);
  await agent.request();
  await world.deliver();
  const [{ id }] = await listDeliveries(account, webhook);
  const count = async () =>
    env.DB.prepare(
      'select count(*) as n from deliveries where receiver >= (select max(number) - 1 from receivers)',
    ).first('n');
  expect(await count()).toBe(2_404);
  world.advance(29 * DAY - 1);
  await world.clean();
  expect(await count()).toBe(2_404);
  world.advance(1);
  await world.clean();
  expect(await listDeliveries(account, webhook)).toEqual([expect.objectContaining({ id })]);
  expect(await listDeliveries(account, other)).toHaveLength(1);
  expect(await count()).toBe(2);
  world.advance(DAY);
  await world.clean();
  expect(await count()).toBe(0);
  await agent.request();
  await world.deliver();
  world.advance(30 * DAY);
  await world.clean();
  expect(await count()).toBe(0);
});
