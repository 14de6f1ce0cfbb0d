import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { idBytes } from '../../src/lib/typeid';
import { checkLeftovers } from '../support/check-leftovers';
import { giveToConnection, makeConnection, type TestConnection } from '../support/connections';
import { depth } from '../support/depth';
import { checkIntegrity } from '../support/integrity';
import { orderMove, settleMoves } from '../support/moves';
import { dumpTables, emptyTables } from '../support/tables';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

let world: World;
let other: { account: TestAccount; agent: TestAgent; connection: TestConnection };
let account: TestAccount;
let agent: TestAgent;
let connection: TestConnection;

beforeEach(async () => {
  for (const database of [env.DB, env.DB_01]) await emptyTables(database);
  // Accounts are created on the emptiest shard: these are on the first.
  world = new World();
  const first = await world.account();
  const owned = await first.agent();
  other = { account: first, agent: owned, connection: await makeConnection(first, owned) };
  account = await world.account();
  agent = await account.agent();
  await makeConnection(account, agent);
  connection = await makeConnection(account, agent);
  Object.assign(world.env, { DB_01: env.DB_01 });
});

const path = () => `/v1/connections/${connection.id}`;
const read = async (): Promise<Json> => (await account.must(200, 'GET', path())).body;
const change = async (fields: Json): Promise<Json> =>
  (await account.must(200, 'PUT', path(), fields)).body;

async function refuse(fields: Json, place: string): Promise<string> {
  const { body } = await account.must(400, 'PUT', path(), fields);
  expect(body.errors.map((error: Json) => error.path)).toEqual([place]);
  return body.errors[0].message;
}

async function callTest(at = '/v1/balance'): Promise<Json> {
  return (await account.call('POST', `${path()}/test`, { path: at })).body;
}

const credentials = () =>
  world.internet.sentTo(connection.host).map(({ headers }) => headers.get('Authorization'));

describe('a change', () => {
  it('changes the given fields only, and records their names', async () => {
    const before = await read();
    const fields = { name: 'Other', wait: 5, rules: [{ effect: 'allow', whole_input: false }] };
    const changed = await change(fields);
    expect(changed).toEqual({ ...before, ...fields, updated_at: expect.any(String) });
    expect(await read()).toEqual(changed);
    const { data } = (await account.must(200, 'GET', '/v1/activity?action=connection.updated'))
      .body;
    expect(data).toMatchObject([{ target: connection.id, changes: ['name', 'rules', 'wait'] }]);
  });

  it('always has a later time, even while the clock stands still', async () => {
    const times = [(await read()).updated_at];
    for (const wait of [1, 2]) times.push((await change({ wait })).updated_at);
    expect(times.toSorted()).toEqual(times);
    expect(new Set(times).size).toBe(3);
  });

  it('never changes the slug', async () => {
    await refuse({ slug: 'other' }, 'body.slug');
    await refuse({}, 'body');
  });

  it('takes agents of the account only', async () => {
    await refuse({ agent_ids: [other.agent.id] }, 'body.agent_ids');
    const second = await account.agent();
    expect((await change({ agent_ids: [second.id] })).agent_ids).toEqual([second.id]);
  });

  it('sends the secret to another origin only if it is given again', async () => {
    const host = 'other.example.com';
    world.internet.on(host, () => new Response('{}'));
    const base_url = `https://${host}`;
    expect(await refuse({ base_url }, 'body.secret')).toBe('is required again for another origin');
    await refuse({ base_url: `https://${connection.host}:8443` }, 'body.secret');
    await change({ base_url: `https://${connection.host.toUpperCase()}/v2` });
    await change({ base_url, secret: 'another' });
    expect(await callTest()).toMatchObject({ status: 200 });
    const sent = world.internet.sentTo(host).map(({ headers }) => headers.get('Authorization'));
    expect(sent).toEqual(['Bearer another']);
    expect(credentials()).toEqual([]);
  });

  it('of how the secret is sent takes a secret that fits', async () => {
    await refuse({ auth: { type: 'basic' } }, 'body.secret');
    await refuse({ auth: { type: 'none' }, secret: 'x' }, 'body.secret');
    await change({ auth: { type: 'basic' }, secret: 'ada:pässword' });
    await callTest();
    await change({ secret: 'ada:' });
    await callTest();
    await change({ auth: { type: 'none' } });
    await callTest();
    expect(credentials()).toEqual(['Basic YWRhOnDDpHNzd29yZA==', 'Basic YWRhOg==', null]);
    const { results } = await env.DB.prepare('select secret from connections where id = ?')
      .bind(idBytes(connection.id))
      .all();
    expect(results).toEqual([{ secret: null }]);
    await refuse({ secret: 'x' }, 'body.secret');
    await refuse({ auth: { type: 'header' } }, 'body.secret');
  });

  it('never makes it send on the header of its credential', async () => {
    await change({ forward_headers: ['X-Token'] });
    await refuse({ auth: { type: 'header', header: 'x-token' } }, 'body.forward_headers.0');
    await change({ forward_headers: [] });
    await change({ auth: { type: 'header', header: 'x-token', prefix: '' } });
    await refuse({ forward_headers: ['X-TOKEN'] }, 'body.forward_headers.0');
    await callTest();
    const [sent] = world.internet.sentTo(connection.host);
    expect(sent?.headers.get('X-Token')).toBe(connection.secret);
    expect(sent?.headers.has('Authorization')).toBe(false);
  });
});

describe.each([
  ['switched off', () => account.must(200, 'PUT', path(), { is_active: false })],
  ['deleted', () => account.must(204, 'DELETE', path())],
])('the requests of a connection that is %s', (_, end) => {
  it('are withdrawn if they wait, for good, and others are not', async () => {
    const waiting = await agent.request();
    const approved = await agent.approved();
    const own = await agent.request();
    const foreign = await other.agent.request();
    await giveToConnection(waiting.id, connection.id);
    await giveToConnection(approved.id, connection.id);
    await giveToConnection(foreign.id, other.connection.id);
    world.advance(1_000);
    await end();
    const statusOf = async (by: TestAccount, { id }: Json) =>
      (await by.must(200, 'GET', `/v1/permissions/${id}`)).body.status;
    const expectEnded = async () => {
      expect(await statusOf(account, waiting)).toBe('expired');
      expect(await statusOf(account, approved)).toBe('approved');
      expect(await statusOf(account, own)).toBe('pending');
      expect(await statusOf(other.account, foreign)).toBe('pending');
      await account.must(409, 'POST', `/v1/permissions/${waiting.id}/approve`);
    };
    await expectEnded();
    const { data } = (await account.must(200, 'GET', '/v1/permissions?status=pending')).body;
    expect(data.map(({ id }: Json) => id)).toEqual([own.id]);
    await account.call('PUT', path(), { is_active: true });
    await expectEnded();
    await world.sweep();
    await world.sweep();
    await expectEnded();
    const entries = await account.log('&event_type=expire');
    expect(entries.map(({ permission_request_id: id, details }) => [id, details.expired])).toEqual([
      [waiting.id, 'withdrawn'],
    ]);
    expect(await checkIntegrity(env.DB)).toEqual([]);
  });
});

describe('a deleted connection', () => {
  it('is gone with its secret, and the counts of its reads are erased', async () => {
    const insert = env.DB.prepare(
      `insert into connection_reads select c.account, c.id, ?, day.value, 1
       from connections as c, json_each(?) as day where c.id = ?`,
    );
    const days = JSON.stringify(Array.from({ length: 250 }, (__, day) => day));
    const numbers = await env.DB.prepare('select number from agents order by number').all();
    const [foreign, mine] = numbers.results.map(({ number }) => number).slice(-2);
    await insert.bind(mine, days, idBytes(connection.id)).run();
    await insert.bind(foreign, '[1, 2]', idBytes(other.connection.id)).run();
    await account.must(204, 'DELETE', path());
    await account.must(404, 'GET', path());
    await account.must(404, 'DELETE', path());
    await account.must(404, 'PUT', path(), { wait: 1 });
    await world.sweep();
    const counts = await env.DB.prepare('select count(*) as n from connection_reads').first('n');
    expect(counts).toBe(2);
    expect(await env.DB.prepare('select count(*) as n from erasures').first('n')).toBe(0);
    await other.account.must(204, 'DELETE', `/v1/agents/${other.agent.id}`);
    for (let i = 0; i < 3; i++) await world.sweep();
    expect(await env.DB.prepare('select count(*) as n from connection_reads').first('n')).toBe(0);
    expect(await checkLeftovers(env.DB)).toEqual([]);
  });

  it('is erased with its account', async () => {
    const token = { token: env.ADMIN_TOKEN ?? '' };
    await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, token);
    for (let i = 0; i < 3; i++) await world.sweep();
    const tables = await dumpTables(env.DB);
    expect(tables.connections).toHaveLength(1);
    expect(await checkLeftovers(env.DB)).toEqual([]);
  });
});

describe('a test', () => {
  it('says the status and the duration, and never the body', async () => {
    world.internet.on(connection.host, () => {
      world.advance(83);
      return new Response('a secret answer', { status: 418 });
    });
    const answer = await account.must(200, 'POST', `${path()}/test`, { path: '/v1/balance?a=1' });
    expect(answer.body).toEqual({ status: 418, duration_ms: 83 });
    const [sent] = world.internet.sentTo(connection.host);
    expect(sent?.url).toBe(`https://${connection.host}/v1/balance?a=1`);
    expect(credentials()).toEqual([`Bearer ${connection.secret}`]);
  });

  it('follows no redirect', async () => {
    world.internet.on(connection.host, () => Response.redirect('https://elsewhere.example.com/'));
    expect(await callTest()).toMatchObject({ status: 302 });
    expect(world.internet.requests.at(-1)?.options.redirect).toBe('manual');
  });

  it.each([
    ...['v1', '//a', '/a//b', '/a/../b', '/a/%2e%2E', '/.', '/a\\b', '/a b', '/a#b', '/a\n'],
    '/%2E/b',
  ])('refuses the path %j', async (at) => {
    const { errors } = await callTest(at);
    expect(errors).toMatchObject([{ path: 'body.path' }]);
  });

  it('is refused while the account is stopped or the connection is off', async () => {
    await account.must(200, 'POST', '/v1/me/stop', { reason: 'Test' });
    expect(await callTest()).toMatchObject({ status: 403, code: 'account_stopped' });
    await account.must(200, 'POST', '/v1/me/resume');
    await change({ is_active: false });
    expect(await callTest()).toMatchObject({ status: 403, code: 'connection_refused' });
    expect(world.internet.sentTo(connection.host)).toEqual([]);
  });

  it('sends nothing to an address that is not public', async () => {
    world.internet.addresses.set(connection.host, ['10.0.0.1']);
    expect(await callTest()).toMatchObject({ status: 502, code: 'connection_failed' });
    expect(world.internet.sentTo(connection.host)).toEqual([]);
  });

  it('says that there was no answer', async () => {
    world.internet.on(connection.host, () => {
      throw new TypeError('Network connection lost.');
    });
    expect(await callTest()).toMatchObject({ status: 502, code: 'connection_failed' });
    world.internet.on(connection.host, () => {
      world.internet.timeOutSoon();
      return new Promise(() => undefined);
    });
    expect(await callTest()).toMatchObject({ status: 504, code: 'connection_timeout' });
  });
});

describe('a secret', () => {
  it('cannot be read for another origin, connection or account', async () => {
    const [mine, foreign] = [idBytes(connection.id), idBytes(other.connection.id)];
    const set = (sql: string, ...values: unknown[]) =>
      env.DB.prepare(`update connections set ${sql} where id = ?`)
        .bind(...values, mine)
        .run();
    await set("base_url = 'https://thief.example.com'");
    expect(await callTest()).toMatchObject({ status: 502, code: 'connection_failed' });
    await set('base_url = ?', `https://${connection.host}`);
    expect(await callTest()).toMatchObject({ status: 200 });
    await set('secret = (select secret from connections as x where x.id = ?)', foreign);
    expect(await callTest()).toMatchObject({ status: 502, code: 'connection_failed' });
    expect(credentials()).toEqual([`Bearer ${connection.secret}`]);
  });

  it.runIf(depth.isDeep)('moves with its account', async () => {
    await orderMove(world, account.id, '01');
    await settleMoves(world);
    expect(await callTest()).toMatchObject({ status: 200 });
    expect(credentials()).toEqual([`Bearer ${connection.secret}`]);
    expect(await env.DB.prepare('select count(*) as n from connections').first('n')).toBe(1);
  });
});

describe('a request that waits', () => {
  it.runIf(depth.isDeep)('is counted once after its account has moved', async () => {
    const { id } = await agent.request();
    await giveToConnection(id, connection.id);
    await orderMove(world, account.id, '01');
    await settleMoves(world);
    const counts = await env.DB_01.prepare('select count from pending_permissions').all();
    expect(counts.results).toEqual([{ count: 1 }]);
    expect(await checkIntegrity(env.DB_01)).toEqual([]);
  });
});
