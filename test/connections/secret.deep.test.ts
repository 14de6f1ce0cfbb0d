import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Env } from '../../src/env';
import { approveAll, callUpstream, makePayments, UPSTREAM } from '../support/connection-calls';
import { makeExport, parseFile } from '../support/exports';
import { FaultyDatabase } from '../support/faults';
import { watchLog } from '../support/log';
import { findInBucket, findInDatabase, MarkedSecret } from '../support/marked-secret';
import { makeMember } from '../support/members';
import { orderMove, settleMoves } from '../support/moves';
import { makeReport } from '../support/reports';
import { DATABASES } from '../support/shards';
import { emptyTables } from '../support/tables';
import { makeWebhook } from '../support/webhooks';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const log = watchLog();
const FIRST = new MarkedSecret('sk_live_MARKED_Zb7QfJ3mVtX9LrKdPw');
const SECOND = new MarkedSecret('rk_live_OTHERS_hG5sNyC8eWqA2uTzMo');
const PASSWORD = new MarkedSecret('p4ssw0rd_MARKED_kE6jRvB1xYcF3nHd');
const SECRETS = [FIRST, SECOND, PASSWORD];

interface Scene {
  world: World;
  database: FaultyDatabase;
  account: TestAccount;
  agent: TestAgent;
  /** Connections that send their secret in a header, and as a password. */
  connections: { header: Json; basic: Json };
  /** All answers of the service, with the request that each answers. */
  answered: string[];
  /** All that was put into queues. */
  queued: string[];
}

beforeEach(async () => {
  for (const database of Object.values(DATABASES)) await emptyTables(database);
});

/** The second account of a service, whose answers and queue messages are remembered. */
async function makeScene(): Promise<Scene> {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  const answered: string[] = [];
  const queued: string[] = [];
  const { fetch } = world.app;
  world.app.fetch = async (request, ...rest) => {
    const answer = await fetch(request, ...rest);
    const text = await answer.clone().text();
    answered.push(
      `${request.method} ${request.url} ${JSON.stringify([...answer.headers])} ${text}`,
    );
    return answer;
  };
  watchQueues(world.env, queued);
  world.internet.on(UPSTREAM, () => Response.json({ done: true }));
  const other = await world.account();
  await makePayments(await other.agent(), { secret: 'sk_of_another_account' });
  const account = await world.account({ plan: 'enterprise' });
  await account.agent();
  const agent = await account.agent();
  const connections = {
    header: await makePayments(agent, { secret: FIRST.text, wait: 0 }),
    basic: await makePayments(agent, {
      secret: `user:${PASSWORD.text}`,
      auth: { type: 'basic' },
      slug: 'basic',
      wait: 0,
    }),
  };
  Object.assign(world.env, { DB_01: env.DB_01 });
  return { world, database, account, agent, connections, answered, queued };
}

function watchQueues(bindings: Env, queued: string[]): void {
  for (const name of ['JOB_QUEUE', 'WEBHOOK_QUEUE', 'SLOW_WEBHOOK_QUEUE'] as const) {
    const queue = bindings[name] as Queue<unknown>;
    const watched = {
      send: (body: unknown, options?: QueueSendOptions) => {
        queued.push(JSON.stringify(body));
        return queue.send(body, options);
      },
      sendBatch: (messages: Iterable<MessageSendRequest<unknown>>) => {
        const all = [...messages];
        queued.push(JSON.stringify(all));
        return queue.sendBatch(all);
      },
    };
    Object.assign(bindings, { [name]: watched });
  }
}

/** Every place in which one of the secrets is found. */
async function findSecrets({ world, answered, queued }: Scene): Promise<string[]> {
  const messages = world.internet.requests
    .filter(({ url }) => new URL(url).hostname !== UPSTREAM)
    .map(({ url, options }) => `${url} ${readBody(options)}`);
  const found: string[] = [];
  for (const secret of SECRETS) {
    for (const [name, database] of Object.entries(DATABASES))
      found.push(...(await findInDatabase(database, secret)).map((place) => `${name} ${place}`));
    found.push(...(await findInBucket(env.FILES, secret)));
    const texts = { answered, queued, logged: log.lines, sent: messages };
    for (const [place, all] of Object.entries(texts)) {
      const holding = all.filter((text) => secret.findIn(text) !== null);
      found.push(...holding.map((text) => `${place}: ${text}`));
    }
  }
  return found;
}

function readBody({ headers, body }: RequestInit): string {
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body);
  return JSON.stringify([...new Headers(headers)]) + text;
}

/** How the other service answers, and whether its body holds the credential, which is passed on. */
const UPSTREAM_ANSWERS: [name: string, (credential: string) => Response | Promise<Response>][] = [
  ['200', () => Response.json({ done: true })],
  ['a failure', () => new Response('no', { status: 500 })],
  ['401 with it', (credential) => new Response(`no ${credential}`, { status: 401 })],
  [
    'headers with it',
    (credential) =>
      new Response('{}', {
        status: 201,
        headers: {
          'X-Echo': credential,
          'X-Debug': `you sent ${credential}`,
          Location: `/v1/payouts/1?credential=${encodeURIComponent(credential)}`,
          Link: `</v1/payouts?credential=${encodeURIComponent(credential)}>; rel="next"`,
        },
      }),
  ],
  [
    'a redirect with it',
    (credential) =>
      new Response(null, {
        status: 302,
        headers: { Location: `https://elsewhere.example.com/${encodeURIComponent(credential)}` },
      }),
  ],
  [
    '429 with it',
    (credential) => new Response(null, { status: 429, headers: { 'X-Echo': credential } }),
  ],
  [
    'a TLS error with it',
    (credential) => {
      throw new TypeError(`TLS peer's certificate is not trusted; sent ${credential}`);
    },
  ],
  ['a failure that is no Error', (credential) => Promise.reject(credential)],
];

/** Uses connections with every answer of the other service, for acts, reads and tests. */
async function useConnections({ world, account, agent, connections }: Scene): Promise<number> {
  let sent = 0;
  for (const [i, [, answer]] of UPSTREAM_ANSWERS.entries()) {
    world.internet.on(UPSTREAM, ({ headers }) => {
      sent += 1;
      return answer(headers.get('Authorization') ?? '');
    });
    for (const connection of Object.values(connections)) {
      await callUpstream(agent, connection, { body: { amount: i } });
      await callUpstream(agent, connection, { method: 'GET' });
      await account.call('POST', `/v1/connections/${connection.id}/test`, { path: '/balance' });
    }
  }
  world.internet.on(UPSTREAM, () => Response.json({ done: true }));
  return sent;
}

/** Changes connections, rightly and wrongly, also while the database fails. */
async function changeConnections({ world, database, account, agent, connections }: Scene) {
  const path = `/v1/connections/${connections.header.id}`;
  const changes: Json[] = [
    { secret: SECOND.text },
    { secret: FIRST.text, auth: { type: 'none' } },
    { secret: PASSWORD.text, auth: { type: 'basic' } },
    { secret: `${SECOND.text}\n` },
    { secret: SECOND.text, wait: 'soon' },
    { secret: SECOND.text, base_url: 'http://localhost/' },
    { secret: SECOND.text, slug: 'other' },
    { base_url: 'https://elsewhere.example.com' },
    { secret: [SECOND.text] },
    { secrets: SECOND.text },
    { wait: 1 },
  ];
  for (const fields of changes) await account.call('PUT', path, fields);
  for (const mode of ['before', 'after'] as const) {
    for (const call of [1, 2]) {
      database.arm({ call, mode });
      await account.call('PUT', path, { secret: SECOND.text });
      database.arm(null);
    }
  }
  const created = {
    name: 'Third',
    base_url: `https://${UPSTREAM}`,
    auth: { type: 'header', header: 'X-Key', prefix: '' },
    secret: FIRST.text,
    agent_ids: [agent.id],
  };
  for (const fields of [{}, {}, { wait: 5 }, { auth: { type: 'none' } }, { slug: 'basic' }]) {
    await world.call('POST', '/v1/connections', {
      token: account.token,
      body: { ...created, ...fields },
      headers: { 'Idempotency-Key': 'create' },
    });
  }
  for (const raw of [`{"secret":"${FIRST.text}"`, `{"secret":"${FIRST.text}","secret":1}`]) {
    await world.call('PUT', path, {
      token: account.token,
      raw,
      headers: { 'Content-Type': 'application/json' },
    });
  }
}

/** Reads all that shows a connection, its acts or its changes. */
async function readAll({ world, account, agent, connections }: Scene): Promise<void> {
  const { browser } = await makeMember(account, 'owner');
  const { data } = (await account.must(200, 'GET', '/v1/permissions?limit=100')).body;
  const used = data.find(({ token }: Json) => token?.status === 'used');
  await world.sweep();
  for (const path of [
    ...['/v1/connections', '/v1/activity', '/v1/audit', '/v1/me'],
    `/v1/permissions/${used.id}/receipt`,
    `/v1/permissions/${used.id}`,
    `/v1/connections/${connections.header.id}/reads`,
  ])
    await account.must(200, 'GET', path);
  await agent.must(200, 'GET', `/v1/permissions/${used.id}`);
  for (const { id } of Object.values(connections)) {
    await account.must(200, 'GET', `/v1/connections/${id}`);
    for (const page of [`/console/connections/${id}`, `/console/connections/${id}/edit`])
      expect((await browser.get(page)).status).toBe(200);
  }
  for (const page of [
    ...['/console', '/console/connections', '/console/audit', '/console/activity'],
    `/console/permissions/${used.id}`,
  ])
    expect((await browser.get(page)).status).toBe(200);
}

/** Makes files of every format; returns what is in them. */
async function makeFiles(account: TestAccount): Promise<string[]> {
  const contents: string[] = [];
  for (const format of ['json', 'csv', 'parquet']) {
    const { bytes } = await makeExport(account, { format, include_details: true });
    const rows = await parseFile(format, bytes);
    expect(rows.length).toBeGreaterThan(10);
    contents.push(JSON.stringify(rows));
  }
  for (const report_type of ['soc2_type2', 'gdpr'])
    contents.push(JSON.stringify(await makeReport(account, { report_type })));
  return contents;
}

describe('the secret of a connection', () => {
  it('is nowhere but, encrypted, in its row', async () => {
    const scene = await makeScene();
    const { world, account, agent, connections } = scene;
    const webhook = await makeWebhook(account);
    await callUpstream(agent, connections.header, { body: { amount: 99 } });
    await approveAll(account);
    expect(await useConnections(scene)).toBe(UPSTREAM_ANSWERS.length * 6);
    await changeConnections(scene);
    await world.deliver();
    await orderMove(world, account.id, '01');
    await world.sweep();
    world.advance(60_000);
    await world.sweep();
    await settleMoves(world);
    await useConnections(scene);
    const files = await makeFiles(account);
    await readAll(scene);
    await world.deliver();
    expect(world.internet.sentTo(webhook.host).length).toBeGreaterThan(10);
    expect(scene.queued.length).toBeGreaterThan(0);
    expect(await findSecrets(scene)).toEqual([]);
    for (const secret of SECRETS) for (const text of files) expect(secret.findIn(text)).toBeNull();
    // What the rows hold can be opened: it was there to be found.
    const sent = world.internet.sentTo(UPSTREAM).map(({ headers }) => headers.get('Authorization'));
    const basic = `Basic ${btoa(`user:${PASSWORD.text}`)}`;
    for (const credential of [`Bearer ${FIRST.text}`, `Bearer ${SECOND.text}`, basic])
      expect(sent).toContain(credential);
  });

  it('is gone with the connection and the account', async () => {
    const scene = await makeScene();
    const { world, account, connections } = scene;
    await account.must(204, 'DELETE', `/v1/connections/${connections.header.id}`);
    await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, {
      token: env.ADMIN_TOKEN ?? '',
    });
    for (let i = 0; i < 3; i++) await world.sweep();
    expect(await findSecrets(scene)).toEqual([]);
    const { results } = await env.DB.prepare('select secret from connections').all();
    expect(results).toHaveLength(1);
  });

  it('is found by these searches wherever it is', async () => {
    const scene = await makeScene();
    const bytes = new TextEncoder().encode(`x${FIRST.text}`);
    await scene.account.agent({ name: FIRST.text });
    await scene.account.agent({ name: bytes.toBase64() });
    await scene.account.agent({ name: bytes.toHex() });
    await env.DB.prepare('update connections set secret = ?').bind(bytes).run();
    await env.FILES.put('_marked', bytes);
    console.log(FIRST.text);
    const found = await findSecrets(scene);
    await env.FILES.delete('_marked');
    for (const place of ['00 agents', '00 connections', '_marked', 'answered', 'logged'])
      expect(found.filter((each) => each.startsWith(place))).not.toEqual([]);
    expect(found.filter((each) => each.startsWith('00 agents'))).toHaveLength(3);
  });
});
