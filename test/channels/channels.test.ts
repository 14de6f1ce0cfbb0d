import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { makeMember } from '../support/members';
import { FakeSlack } from '../support/slack';
import { countRows } from '../support/tables';
import { makeWebhook } from '../support/webhooks';
import { type Json, World } from '../support/world';

const EVENTS = [
  ...['permission.requested', 'permission.escalated', 'permission.decided', 'permission.expired'],
  ...['permission.outcome_missing', 'webhook.disabled', 'account.stopped', 'account.resumed'],
];
const CHANNEL = { kind: 'email', name: 'Reviewers' };

describe('a channel', () => {
  it('is created for every event, shown, listed, changed and deleted', async () => {
    const world = new World();
    const account = await world.account();
    const agent = await account.agent();
    const { body: channel, headers } = await account.must(201, 'POST', '/v1/channels', CHANNEL);
    expect(channel).toEqual({
      id: expect.stringMatching(/^chan_[0-9a-hjkmnp-tv-z]{26}$/),
      kind: 'email',
      name: 'Reviewers',
      config: {},
      events: EVENTS,
      filter: null,
      inbound_url: null,
      is_active: true,
      disabled_reason: null,
      created_by: account.id,
      created_at: new Date(world.now).toISOString(),
      updated_at: new Date(world.now).toISOString(),
    });
    expect(headers.get('Location')).toBe(`/v1/channels/${channel.id}`);
    const path = `/v1/channels/${channel.id}`;
    expect((await account.must(200, 'GET', path)).body).toEqual(channel);
    expect((await account.must(200, 'GET', '/v1/channels')).body.data).toEqual([channel]);
    world.advance(1_000);
    const changes = {
      name: 'Payments',
      events: ['permission.requested'],
      filter: { actions: ['payment.*'], agent_ids: [agent.id] },
      is_active: false,
    };
    const changed = (await account.must(200, 'PUT', path, changes)).body;
    expect(changed).toEqual({
      ...channel,
      ...changes,
      updated_at: new Date(world.now).toISOString(),
    });
    expect((await account.must(200, 'PUT', path, { filter: null })).body.filter).toBeNull();
    await account.must(204, 'DELETE', path);
    await account.must(404, 'GET', path);
    const { data } = (await account.must(200, 'GET', '/v1/activity')).body;
    const actions = data
      .map(({ action }: { action: string }) => action)
      .filter((action: string) => /^channel/.test(action));
    expect(actions.sort()).toEqual([
      'channel.created',
      'channel.deleted',
      'channel.updated',
      'channel.updated',
    ]);
  });

  it('is no webhook, and a webhook is no channel', async () => {
    const account = await new World().account();
    const webhook = await makeWebhook(account);
    const { body: channel } = await account.must(201, 'POST', '/v1/channels', CHANNEL);
    const bits = (id: string) => id.slice(id.indexOf('_') + 1);
    expect(
      (await account.must(200, 'GET', '/v1/webhooks')).body.data.map(
        ({ id }: { id: string }) => id,
      ),
    ).toEqual([webhook.id]);
    expect((await account.must(200, 'GET', '/v1/channels')).body.data).toEqual([channel]);
    for (const [method, suffix, body] of [
      ['GET', '', undefined],
      ['PUT', '', { is_active: false }],
      ['DELETE', '', undefined],
      ['POST', '/test', {}],
      ['GET', '/deliveries', undefined],
    ] as const) {
      await account.must(404, method, `/v1/webhooks/webhook_${bits(channel.id)}${suffix}`, body);
      await account.must(404, method, `/v1/channels/chan_${bits(webhook.id)}${suffix}`, body);
    }
    await account.must(404, 'POST', `/v1/webhooks/webhook_${bits(channel.id)}/rotate-secret`, {});
    expect((await account.must(200, 'GET', '/v1/channels')).body.data).toEqual([channel]);
  });

  it('belongs to one account', async () => {
    const world = new World();
    const account = await world.account();
    const other = await world.account();
    const { body: channel } = await account.must(201, 'POST', '/v1/channels', CHANNEL);
    const path = `/v1/channels/${channel.id}`;
    await other.must(404, 'GET', path);
    await other.must(404, 'PUT', path, { name: 'Mine' });
    await other.must(404, 'DELETE', path);
    await other.must(404, 'POST', `${path}/test`, {});
    await other.must(404, 'GET', `${path}/deliveries`);
    expect((await other.must(200, 'GET', '/v1/channels')).body.data).toEqual([]);
  });

  it('is changed by owners and admins only, and read by developers and auditors too', async () => {
    const account = await new World().account();
    const { body: channel } = await account.must(201, 'POST', '/v1/channels', CHANNEL);
    for (const [role, reads, writes] of [
      ['owner', true, true],
      ['admin', true, true],
      ['developer', true, false],
      ['auditor', true, false],
      ['approver', false, false],
    ] as const) {
      const { token } = await makeMember(account, role);
      const call = (method: string, path: string, body?: unknown) =>
        account.world.call(method, path, { token, ...(body !== undefined && { body }) });
      const path = `/v1/channels/${channel.id}`;
      expect((await call('GET', path)).status).toBe(reads ? 200 : 403);
      expect((await call('GET', `${path}/deliveries`)).status).toBe(reads ? 200 : 403);
      expect((await call('PUT', path, { name: role })).status).toBe(writes ? 200 : 403);
      expect((await call('POST', '/v1/channels', CHANNEL)).status).toBe(writes ? 201 : 403);
    }
  });

  it('shows the address that Slack calls to those who may change channels, and to nobody else', async () => {
    const world = new World();
    // The account under test is not the first of the database.
    await world.account();
    const account = await world.account();
    const body = { kind: 'slack', name: 'Approvals', config: new FakeSlack(world).config };
    const { body: channel } = await account.must(201, 'POST', '/v1/channels', body);
    expect(channel.inbound_url).toMatch(/\/v1\/inbound\/csh_/);
    const reader = (await account.must(201, 'POST', '/v1/me/tokens', { scopes: ['channels:read'] }))
      .body.token;
    for (const [token, address] of [
      [account.token, channel.inbound_url],
      [(await makeMember(account, 'admin')).token, channel.inbound_url],
      [(await makeMember(account, 'developer')).token, null],
      [(await makeMember(account, 'auditor')).token, null],
      [reader, null],
    ]) {
      const one = await world.must(200, 'GET', `/v1/channels/${channel.id}`, { token });
      const { data } = (await world.must(200, 'GET', '/v1/channels', { token })).body;
      expect([one.body.inbound_url, ...data.map((each: Json) => each.inbound_url)]).toEqual([
        address,
        address,
      ]);
    }
    const { browser } = await makeMember(account, 'auditor');
    const { text } = await browser.send('GET', `/console/channels/${channel.id}`);
    expect(text).toContain('C0APPROVALS');
    expect(text).not.toMatch(/csh_|Set up the Slack app|no longer be read/);
  });

  it.each([
    [{}, 'body.kind'],
    [{ ...CHANNEL, kind: 'fax' }, 'body.kind'],
    [{ kind: 'email' }, 'body.name'],
    [{ ...CHANNEL, name: ' ' }, 'body.name'],
    [{ ...CHANNEL, events: [] }, 'body.events'],
    [{ ...CHANNEL, events: ['audit.created'] }, 'body.events.0'],
    [{ ...CHANNEL, events: ['permission.decided', 'permission.decided'] }, 'body.events'],
    [{ ...CHANNEL, config: { bot_token: 'x' } }, 'body.config.bot_token'],
    [{ ...CHANNEL, filter: { actions: [] } }, 'body.filter.actions'],
    [{ ...CHANNEL, filter: { resources: ['*'] } }, 'body.filter.resources'],
    [
      { ...CHANNEL, filter: { agent_ids: ['agent_01h455vb4pex5vsknk084sn02q'] } },
      'body.filter.agent_ids.0',
    ],
    [{ ...CHANNEL, url: 'https://example.com' }, 'body.url'],
  ])('is refused with %j', async (fields, path) => {
    const account = await new World().account();
    const before = await countRows(env.DB);
    const { errors } = (await account.must(400, 'POST', '/v1/channels', fields)).body;
    expect(errors.map((error: { path: string }) => error.path)).toContain(path);
    expect(await countRows(env.DB)).toEqual(before);
  });

  it('shows the limits of its filter that are set, and takes back what it shows', async () => {
    const account = await new World().account();
    const agent = await account.agent();
    const { body: channel } = await account.must(201, 'POST', '/v1/channels', CHANNEL);
    const path = `/v1/channels/${channel.id}`;
    for (const [given, shown] of [
      [{ actions: ['a.*'], agent_ids: null }, { actions: ['a.*'] }],
      [{ agent_ids: [agent.id] }, { agent_ids: [agent.id] }],
      [{ actions: null, agent_ids: null }, null],
      [{}, null],
      [null, null],
    ]) {
      const { filter } = (await account.must(200, 'PUT', path, { filter: given })).body;
      expect(filter).toEqual(shown);
      expect((await account.must(200, 'PUT', path, { filter })).body.filter).toEqual(shown);
    }
  });

  it('is one of 50 at most, besides 50 webhooks', async () => {
    const account = await new World().account();
    await makeWebhook(account);
    for (let i = 0; i < 50; i++) await account.must(201, 'POST', '/v1/channels', CHANNEL);
    expect((await account.must(409, 'POST', '/v1/channels', CHANNEL)).body.code).toBe('conflict');
    await makeWebhook(account);
  });
});
