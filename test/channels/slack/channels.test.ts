import { env } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import { FaultyDatabase } from '../../support/faults';
import { FakeSlack } from '../../support/slack';
import { type Json, World } from '../../support/world';
import { sendFromSlack } from './scene';

const MISSING_AGENT = 'agent_01h455vb4pex5vsknk084sn02q';

async function makeScene() {
  const world = new World();
  const slack = new FakeSlack(world);
  const account = await world.account();
  const body = { kind: 'slack', name: 'Approvals', config: slack.config };
  const { body: channel, text } = await account.must(201, 'POST', '/v1/channels', body);
  return { world, slack, account, channel, path: `/v1/channels/${channel.id}`, text };
}

/** Every stored value of a table, as one text. */
async function stored(table: string): Promise<string> {
  const { results } = await env.DB.prepare(`select * from ${table}`).all();
  return results
    .flatMap((row) => Object.values(row))
    .map((value) =>
      Array.isArray(value) ? new TextDecoder().decode(Uint8Array.from(value)) : String(value),
    )
    .join('\n');
}

describe('a channel for Slack', () => {
  it('is created, shown, listed and changed, always without its secrets', async () => {
    const logs = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    const { slack, account, channel, path } = await makeScene();
    expect(channel).toMatchObject({
      kind: 'slack',
      config: { channels: [{ id: 'C0APPROVALS' }] },
      inbound_url: expect.stringMatching(
        /^https:\/\/countersign\.test\/v1\/inbound\/csh_00[0-9A-Za-z]{38}\/slack$/,
      ),
    });
    expect((await account.must(200, 'GET', path)).body).toEqual(channel);
    expect((await account.must(200, 'GET', '/v1/channels')).body.data).toEqual([channel]);
    const agent = await account.agent();
    const channels = [
      { id: 'C0APPROVALS' },
      { id: 'C0PAYMENTS', filter: { actions: ['payment.*'], agent_ids: [agent.id] } },
    ];
    const { body: changed } = await account.must(200, 'PUT', path, { config: { channels } });
    expect(changed).toEqual({ ...channel, config: { channels } });
    const token = 'xoxb-another-token-0123456789';
    const { body: renewed } = await account.must(200, 'PUT', path, {
      config: { bot_token: token, channels },
    });
    expect(renewed).toEqual(changed);
    const shown = [channel, changed, renewed, (await account.must(200, 'GET', '/v1/activity')).body]
      .map((answer) => JSON.stringify(answer))
      .join();
    const everything = [
      shown,
      await stored('receivers'),
      await stored('activity'),
      logs.mock.calls.join(),
    ].join();
    for (const secret of [slack.token, slack.signingSecret, token])
      expect(everything).not.toContain(secret);
    expect([await stored('receivers'), logs.mock.calls.join()].join()).not.toContain('csh_');
    logs.mockRestore();
  });

  it('keeps its address when its secrets change', async () => {
    const { account, channel, path } = await makeScene();
    const config = { ...channel.config, signing_secret: '0123456789abcdef0123456789abcdef' };
    expect((await account.must(200, 'PUT', path, { config })).body.inbound_url).toBe(
      channel.inbound_url,
    );
  });

  it.each<[string, Json]>([
    ['signing_secret', '0123456789abcdef0123456789abcdef'],
    ['bot_token', 'xoxb-another-token-0123456789'],
    ['channels', [{ id: 'C0OTHER00' }]],
  ])('keeps the rest of its settings when only its %s changes', async (name, value) => {
    const { world, slack, account, channel, path } = await makeScene();
    const { body } = await account.must(200, 'PUT', path, { config: { [name]: value } });
    expect(body).toEqual({
      ...channel,
      config: name === 'channels' ? { channels: value } : channel.config,
    });
    if (name === 'signing_secret') Object.assign(slack, { signingSecret: value });
    expect((await sendFromSlack({ world, slack, channel }, 'payload={}')).status).toBe(200);
    await account.must(202, 'POST', `${path}/test`, {});
    await world.deliver();
    const headers = { Authorization: `Bearer ${name === 'bot_token' ? value : slack.token}` };
    expect(world.internet.requests.at(-1)?.options).toMatchObject({ headers });
    expect(slack.calls.at(-1)?.body.channel).toBe(
      name === 'channels' ? 'C0OTHER00' : 'C0APPROVALS',
    );
  });

  it('shows the limits of its Slack channels that are set, and takes back what it shows', async () => {
    const { account, path } = await makeScene();
    const channels = [
      { id: 'C0', filter: null },
      { id: 'C1', filter: {} },
      { id: 'C2', filter: { actions: null, agent_ids: null } },
      { id: 'C3', filter: { actions: ['a.*'], agent_ids: null } },
    ];
    const { body: changed } = await account.must(200, 'PUT', path, { config: { channels } });
    const shown = [
      { id: 'C0' },
      { id: 'C1' },
      { id: 'C2' },
      { id: 'C3', filter: { actions: ['a.*'] } },
    ];
    expect(changed.config).toEqual({ channels: shown });
    const { name, config, events, filter, is_active } = changed;
    expect(
      (await account.must(200, 'PUT', path, { name, config, events, filter, is_active })).body,
    ).toEqual(changed);
  });

  it('answers a repeated creation without secrets', async () => {
    const { world, slack, account } = await makeScene();
    const call = {
      token: account.token,
      headers: { 'Idempotency-Key': 'once' },
      body: { kind: 'slack', name: 'Again', config: slack.config },
    };
    const { body: first } = await world.must(201, 'POST', '/v1/channels', call);
    expect((await world.must(201, 'POST', '/v1/channels', call)).body).toEqual(first);
    expect(await stored('stored_answers')).not.toContain(slack.token);
  });

  it.each([
    [{}, 'body.config.bot_token'],
    [{ bot_token: 'xoxp-1' }, 'body.config.bot_token'],
    [{ signing_secret: '' }, 'body.config.signing_secret'],
    [{ channels: [] }, 'body.config.channels'],
    [{ channels: [{ id: 'general' }] }, 'body.config.channels.0.id'],
    [{ channels: [{ id: 'C0APPROVALS' }, { id: 'C0APPROVALS' }] }, 'body.config.channels'],
    [{ other: 1 }, 'body.config.other'],
    [
      {
        channels: [
          { id: 'C0APPROVALS' },
          { id: 'C0OTHER00', filter: { agent_ids: [MISSING_AGENT] } },
        ],
      },
      'body.config.channels.1.filter.agent_ids.0',
    ],
  ])('is refused with %j', async (fields: Json, path) => {
    const { slack, account } = await makeScene();
    const config = Object.keys(fields).length === 0 ? {} : { ...slack.config, ...fields };
    const { body } = await account.must(400, 'POST', '/v1/channels', {
      kind: 'slack',
      name: 'Slack',
      config,
    });
    expect(body.errors.map((error: Json) => error.path)).toContain(path);
  });

  it('is changed with the schema of its own kind', async () => {
    const { account, path } = await makeScene();
    const faults = async (path: string, config: Json) =>
      (await account.must(400, 'PUT', path, { config })).body.errors.map(
        (error: Json) => error.path,
      );
    expect(await faults(path, {})).toEqual(['body.config']);
    expect(await faults(path, 'x')).toEqual(['body.config']);
    expect(await faults(path, { channels: [{ id: 'C0APPROVALS' }], bot_token: 'x' })).toEqual([
      'body.config.bot_token',
    ]);
    const foreign = [{ id: 'C0APPROVALS', filter: { agent_ids: [MISSING_AGENT] } }];
    expect(await faults(path, { channels: foreign })).toEqual([
      'body.config.channels.0.filter.agent_ids.0',
    ]);
    const { body: mail } = await account.must(201, 'POST', '/v1/channels', {
      kind: 'email',
      name: 'Mail',
    });
    expect(await faults(`/v1/channels/${mail.id}`, { bot_token: 'x' })).toEqual([
      'body.config.bot_token',
    ]);
    await account.must(200, 'PUT', `/v1/channels/${mail.id}`, { config: {} });
    await account.must(404, 'PUT', `/v1/channels/chan_01h455vb4pex5vsknk084sn02q`, { config: {} });
  });

  it('gets new secrets only on top of those that were read', async () => {
    const { world, account, channel, path } = await makeScene();
    const database = new FaultyDatabase(env.DB);
    const { DB } = world.env;
    const put = (name: string, value: string) =>
      account.call('PUT', path, { config: { ...channel.config, [name]: value } });
    world.env.DB = database.binding;
    database.before(3, async () => {
      world.env.DB = DB;
      expect((await put('bot_token', 'xoxb-0123456789-another')).status).toBe(200);
    });
    const { status, body } = await put('signing_secret', '0123456789abcdef0123456789abcdef');
    expect([status, body.code]).toEqual([409, 'conflict']);
  });

  it('of another account cannot be changed', async () => {
    const { world, channel, path } = await makeScene();
    await (await world.account()).must(404, 'PUT', path, { config: channel.config });
  });
});
