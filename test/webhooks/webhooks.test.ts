import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { FaultyDatabase } from '../support/faults';
import { countRows } from '../support/tables';
import { listDeliveries, makeWebhook, readWebhook, verify } from '../support/webhooks';
import { type Json, type TestAccount, World } from '../support/world';

const URL_OF_HOOK = 'https://hooks.example.com/countersign';
const EVERYTHING = [
  ...[
    'audit.created',
    'audit.export.completed',
    'audit.export.failed',
    'report.completed',
    'report.failed',
  ],
  'webhook.test',
];
const DAY = 86_400_000;

async function activity(account: TestAccount): Promise<Json[]> {
  return (await account.must(200, 'GET', '/v1/activity')).body.data;
}

describe('a new webhook', () => {
  it('is shown with its secret only in the answer to its creation', async () => {
    const world = new World();
    const account = await world.account();
    const { body, headers } = await account.must(201, 'POST', '/v1/webhooks', { url: URL_OF_HOOK });
    const { secret, ...shown } = body;
    expect(shown).toEqual({
      id: expect.stringMatching(/^webhook_[0-9a-hjkmnp-tv-z]{26}$/),
      url: URL_OF_HOOK,
      description: null,
      events: EVERYTHING,
      agent_ids: null,
      is_active: true,
      disabled_reason: null,
      created_by: account.id,
      created_at: new Date(world.now).toISOString(),
      updated_at: new Date(world.now).toISOString(),
    });
    expect(headers.get('Location')).toBe(`/v1/webhooks/${body.id}`);
    expect(secret).toMatch(/^whsec_/);
    expect(Uint8Array.fromBase64(secret.slice(6))).toHaveLength(32);
    expect(await readWebhook(account, body)).toEqual(shown);
    expect((await account.must(200, 'GET', '/v1/webhooks')).body.data).toEqual([shown]);
    const { results } = await env.DB.prepare('select * from receivers, stored_answers').all();
    expect(JSON.stringify(results)).not.toContain(secret);
  });

  it('has a secret that is stored only encrypted', async () => {
    const account = await new World().account();
    const { body } = await account.must(201, 'POST', '/v1/webhooks', { url: URL_OF_HOOK });
    const bytes = Uint8Array.fromBase64(body.secret.slice(6));
    const { results } = await env.DB.prepare('select secret from receivers').all<{
      secret: number[];
    }>();
    for (const { secret } of results) {
      const text = String.fromCharCode(...secret);
      expect(text).not.toContain(body.secret);
      expect(text).not.toContain(String.fromCharCode(...bytes));
    }
  });

  it('accepts every field', async () => {
    const account = await new World().account();
    const agent = await account.agent();
    const fields = {
      description: ' Tells the team ',
      events: ['audit.created'],
      agent_ids: [agent.id],
      is_active: false,
    };
    const { body } = await account.must(201, 'POST', '/v1/webhooks', {
      url: URL_OF_HOOK,
      ...fields,
    });
    expect(body).toMatchObject({ ...fields, description: 'Tells the team' });
  });

  it('is refused with agents that are unknown, deleted or of another account', async () => {
    const world = new World();
    const account = await world.account();
    const [own, foreign, gone] = [
      await account.agent(),
      await (await world.account()).agent(),
      await account.agent(),
    ];
    await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
    const before = await countRows(env.DB);
    for (const id of [foreign.id, gone.id, 'agent_01h455vb4pex5vsknk084sn02q']) {
      const call = { url: URL_OF_HOOK, agent_ids: [own.id, id] };
      const answer = await account.must(400, 'POST', '/v1/webhooks', call);
      expect(answer.body.errors).toEqual([
        { path: 'body.agent_ids.1', message: expect.stringMatching(/./) },
      ]);
      expect(answer.cost.trips).toBe(1);
    }
    expect(await countRows(env.DB)).toEqual(before);
    const { body } = await account.must(201, 'POST', '/v1/webhooks', { url: URL_OF_HOOK });
    await account.must(400, 'PUT', `/v1/webhooks/${body.id}`, { agent_ids: [foreign.id] });
    expect((await readWebhook(account, body)).agent_ids).toBeNull();
  });

  it('is refused if the account has 50 webhooks', async () => {
    const account = await new World().account();
    for (let i = 0; i < 50; i++)
      await account.must(201, 'POST', '/v1/webhooks', { url: URL_OF_HOOK });
    const answer = await account.must(409, 'POST', '/v1/webhooks', { url: URL_OF_HOOK });
    expect(answer.body.code).toBe('conflict');
    const { data } = (await account.must(200, 'GET', '/v1/webhooks?limit=100')).body;
    expect(data).toHaveLength(50);
    await account.must(204, 'DELETE', `/v1/webhooks/${data[0].id}`);
    await account.must(201, 'POST', '/v1/webhooks', { url: URL_OF_HOOK });
  });
});

it('webhooks are listed newest first, page by page', async () => {
  const world = new World();
  const account = await world.account();
  const made: string[] = [];
  for (let i = 0; i < 7; i++) {
    world.advance(1);
    made.unshift((await makeWebhook(account)).id);
  }
  const first = (await account.must(200, 'GET', '/v1/webhooks?limit=3')).body;
  const second = (
    await account.must(200, 'GET', `/v1/webhooks?limit=3&cursor=${first.next_cursor}`)
  ).body;
  const third = (
    await account.must(200, 'GET', `/v1/webhooks?limit=3&cursor=${second.next_cursor}`)
  ).body;
  expect([first, second, third].flatMap(({ data }) => data.map(({ id }: Json) => id))).toEqual(
    made,
  );
  expect(third.has_more).toBe(false);
});

describe('an update', () => {
  it('changes the given fields', async () => {
    const world = new World();
    const account = await world.account();
    const webhook = await makeWebhook(account, { description: 'Old', events: ['audit.created'] });
    const before = await readWebhook(account, webhook);
    world.advance(1_000);
    const changes: Json[] = [
      { url: 'https://other.example.com/' },
      { description: 'New' },
      { events: ['webhook.test'] },
      { is_active: false },
      { is_active: true },
      { description: null },
    ];
    let expected = { ...before, updated_at: new Date(world.now).toISOString() };
    for (const change of changes) {
      expected = { ...expected, ...change };
      const { body } = await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, change);
      expect(body).toEqual(expected);
      expect(await readWebhook(account, webhook)).toEqual(expected);
    }
    expect(
      (await account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, { description: '' })).body
        .description,
    ).toBeNull();
    await account.must(400, 'PUT', `/v1/webhooks/${webhook.id}`, {});
  });

  it('is recorded as activity in the same transaction, as are creation, rotation and deletion', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const account = await world.account();
    world.advance(1);
    const webhook = await makeWebhook(account);
    const acts: [string, string, string, Json?][] = [
      [
        'webhook.updated',
        'PUT',
        `/v1/webhooks/${webhook.id}`,
        { url: URL_OF_HOOK, is_active: true },
      ],
      ['webhook.secret_rotated', 'POST', `/v1/webhooks/${webhook.id}/rotate-secret`],
      ['webhook.deleted', 'DELETE', `/v1/webhooks/${webhook.id}`],
    ];
    expect((await activity(account))[0]).toMatchObject({
      action: 'webhook.created',
      target: webhook.id,
      actor: account.tokenId,
      changes: [],
    });
    for (const [action, method, path, body] of acts) {
      world.advance(1);
      database.refuse(/insert into "activity"/);
      await account.must(503, method, path, body);
      database.refuse(null);
      expect(await readWebhook(account, webhook)).toMatchObject({ is_active: true });
      const { status } = await account.call(method, path, body);
      expect(status).toBeLessThan(300);
      const [newest] = await activity(account);
      expect(newest).toMatchObject({
        action,
        target: webhook.id,
        changes: body ? Object.keys(body) : [],
      });
      expect(JSON.stringify(newest)).not.toContain(URL_OF_HOOK);
    }
    expect((await activity(account)).map(({ action }) => action)).toEqual([
      'webhook.deleted',
      'webhook.secret_rotated',
      'webhook.updated',
      'webhook.created',
      'user_token.created',
    ]);
  });
});

describe('the secret of a webhook', () => {
  async function lastMessage(account: TestAccount, host: string) {
    const { world } = account;
    await account.must(202, 'POST', `/v1/webhooks/${(await findByHost(account, host)).id}/test`);
    await world.deliver();
    const received = world.internet.sentTo(host).at(-1);
    if (!received) throw new Error('nothing was sent');
    return received;
  }

  async function findByHost(account: TestAccount, host: string): Promise<Json> {
    const { data } = (await account.must(200, 'GET', '/v1/webhooks')).body;
    return data.find(({ url }: Json) => url.includes(host));
  }

  it('signs messages together with the new secret for 24 hours after a rotation', async () => {
    const world = new World();
    const account = await world.account();
    const webhook = await makeWebhook(account);
    const rotate = async () =>
      (await account.must(200, 'POST', `/v1/webhooks/${webhook.id}/rotate-secret`)).body.secret;
    const secrets = [webhook.secret, await rotate()];
    const accepts = async () => {
      const received = await lastMessage(account, webhook.host);
      return secrets.map((secret) => {
        try {
          return verify(secret, received, world.now) !== null;
        } catch {
          return false;
        }
      });
    };
    expect(await accepts()).toEqual([true, true]);
    world.advance(DAY - 1);
    expect(await accepts()).toEqual([true, true]);
    world.advance(1);
    expect(await accepts()).toEqual([false, true]);
    secrets.push(await rotate());
    expect(await accepts()).toEqual([false, true, true]);
    secrets.push(await rotate());
    expect(await accepts()).toEqual([false, false, true, true]);
    const { headers } = await lastMessage(account, webhook.host);
    expect(headers.get('webhook-signature')).toMatch(
      /^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/,
    );
    expect(new Set(secrets).size).toBe(4);
  });

  it('is decrypted with an older root secret, without which nothing is sent', async () => {
    const world = new World();
    const account = await world.account();
    const webhook = await makeWebhook(account);
    const newer = btoa('another thirty-two bytes, secret');
    const order = () => account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
    await order();
    world.restart({ ROOT_SECRET: `${newer},${env.ROOT_SECRET}` });
    await world.deliver();
    expect(world.internet.sentTo(webhook.host)).toHaveLength(1);
    await order();
    world.restart({ ROOT_SECRET: newer });
    await world.deliver();
    world.restart({ ROOT_SECRET: `${newer},${env.ROOT_SECRET}` });
    expect(world.internet.sentTo(webhook.host)).toHaveLength(1);
    const [delivery] = await listDeliveries(account, webhook, '&status=pending');
    expect(delivery.last_error).toMatch(/secret/);
  });

  it('can be rotated when the previous one can no longer be decrypted', async () => {
    const world = new World();
    const account = await world.account();
    const webhook = await makeWebhook(account);
    const newer = btoa('another thirty-two bytes, secret');
    world.restart({ ROOT_SECRET: `${newer},${env.ROOT_SECRET}` });
    const token = (await account.must(201, 'POST', '/v1/me/tokens', {})).body.token;
    world.restart({ ROOT_SECRET: newer });
    const path = `/v1/webhooks/${webhook.id}`;
    const { secret } = (await world.must(200, 'POST', `${path}/rotate-secret`, { token })).body;
    await world.must(202, 'POST', `${path}/test`, { token });
    await world.deliver();
    const [received] = world.internet.sentTo(webhook.host);
    if (!received) throw new Error('nothing was sent');
    expect(verify(secret, received, world.now)).toMatchObject({ event: 'webhook.test' });
  });
});

it('a deleted webhook is not shown and gets no message, and the sweep erases its rows', async () => {
  const world = new World();
  await world.sweep();
  const before = await countRows(env.DB);
  const account = await world.account();
  const agent = await account.agent();
  const webhook = await makeWebhook(account);
  for (let i = 0; i < 3; i++) await agent.request();
  await world.deliver();
  const [{ id }] = await listDeliveries(account, webhook);
  await agent.request();
  await account.must(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  for (const path of ['', '/deliveries', `/deliveries/${id}`]) {
    await account.must(404, 'GET', `/v1/webhooks/${webhook.id}${path}`);
  }
  await account.must(404, 'DELETE', `/v1/webhooks/${webhook.id}`);
  await world.deliver();
  await world.sweep();
  await world.deliver();
  expect(world.internet.sentTo(webhook.host)).toHaveLength(3);
  const { receivers, deliveries, event_feeds, erasures } = await countRows(env.DB);
  expect({ receivers, deliveries, event_feeds, erasures }).toEqual({
    receivers: before.receivers,
    deliveries: before.deliveries,
    event_feeds: before.event_feeds,
    erasures: before.erasures,
  });
});
