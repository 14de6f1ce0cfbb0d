import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { idBytes } from '../../src/lib/typeid';
import { makeConnection } from '../support/connections';
import { dumpTables } from '../support/tables';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const SECRET = 'sk_test_26PHem9AhJZvU623DfE1x4sd';

let world: World;
let other: TestAccount;
let account: TestAccount;
let agent: TestAgent;

beforeAll(async () => {
  world = new World();
  other = await world.account();
  await makeConnection(other, await other.agent());
  account = await world.account();
  agent = await account.agent();
});

const full = (fields: Json = {}) => ({
  name: 'Stripe',
  base_url: 'https://api.stripe.com',
  auth: { type: 'header' },
  secret: SECRET,
  agent_ids: [agent.id],
  ...fields,
});

let slugs = 0;
const named = (fields: Json = {}) => {
  slugs += 1;
  return full({ slug: `stripe-${slugs}`, ...fields });
};

async function create(fields: Json = {}, by = account): Promise<Json> {
  return (await by.must(201, 'POST', '/v1/connections', named(fields))).body;
}

async function refuse(fields: Json, path: string): Promise<string> {
  const { body } = await account.must(400, 'POST', '/v1/connections', named(fields));
  expect(body.errors.map((error: Json) => error.path)).toEqual([path]);
  return body.errors[0].message;
}

describe('a new connection', () => {
  it('is shown with its defaults, and without its secret', async () => {
    const { status, body, headers, text } = await account.call('POST', '/v1/connections', full());
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^conn_[0-9a-hjkmnp-tv-z]{26}$/),
      name: 'Stripe',
      slug: 'stripe',
      base_url: 'https://api.stripe.com',
      auth: { type: 'header', header: 'Authorization', prefix: 'Bearer ' },
      rules: [],
      agent_ids: [agent.id],
      forward_headers: ['Accept', 'Content-Type'],
      wait: 25,
      timeout: 60,
      repeat_after: 600,
      is_active: true,
      created_by: account.id,
      created_at: new Date(world.now).toISOString(),
      updated_at: new Date(world.now).toISOString(),
    });
    expect(headers.get('Location')).toBe(`/v1/connections/${body.id}`);
    expect(text).not.toContain(SECRET);
    expect((await account.must(200, 'GET', `/v1/connections/${body.id}`)).body).toEqual(body);
    expect((await account.must(200, 'GET', '/v1/connections?limit=1')).body.data).toEqual([body]);
    const { data } = (await account.must(200, 'GET', '/v1/activity?action=connection.created'))
      .body;
    expect(data).toMatchObject([{ target: body.id, actor: account.tokenId, changes: [] }]);
  });

  it('has its secret stored only encrypted', async () => {
    await create();
    const tables = JSON.stringify(await dumpTables(env.DB));
    expect(tables).not.toContain(SECRET);
    const bytes = JSON.stringify([...new TextEncoder().encode(SECRET)]).slice(1, -1);
    expect(tables).not.toContain(bytes);
  });

  it('takes every field', async () => {
    const fields = {
      auth: { type: 'header', header: 'X-Token', prefix: '' },
      rules: [
        { methods: ['GET'], effect: 'allow', whole_input: false },
        {
          methods: ['POST'],
          paths: ['/v1/refunds', '/v1/refunds/*'],
          effect: 'ask',
          action: 'refund.create',
          resource: 'payments:stripe',
          scope: { amount: '{amount}', charge: '{charge.id}' },
          title: 'Refund {amount} of {charge.id}',
          series: { requests: 20, expires_in: 3_600, varies: ['amount'] },
          whole_input: true,
        },
      ],
      forward_headers: ['Stripe-Version'],
      wait: 0,
      timeout: 300,
      repeat_after: 86_400,
      is_active: false,
    };
    expect(await create(fields)).toMatchObject(fields);
  });

  it.each([
    ['GitHub (Écriture)', 'github-ecriture'],
    ['  a__b  c-d ', 'a__b-c-d'],
    ['日本', 'connection'],
    [`${'a'.repeat(63)} b`, 'a'.repeat(63)],
  ])('named %s gets the slug %s', async (name, slug) => {
    const { body } = await account.must(201, 'POST', '/v1/connections', full({ name }));
    expect(body.slug).toBe(slug);
    const { body: problem } = await account.must(409, 'POST', '/v1/connections', full({ name }));
    expect(problem).toMatchObject({ code: 'conflict', detail: expect.stringContaining(slug) });
    const foreign = full({ name, agent_ids: [(await other.agent()).id] });
    expect((await other.must(201, 'POST', '/v1/connections', foreign)).body.slug).toBe(slug);
  });

  it.each([
    ['http://api.stripe.com', 'must begin with https://'],
    ['https://10.0.0.1', 'must name a host, not an IP address'],
    ['https://0x7f.1/', 'must name a host, not an IP address'],
    ['https://user@api.stripe.com', 'must not hold credentials'],
    ['https://localhost', 'must name a public host'],
    ['https://db.internal', 'must name a public host'],
    ['https://api.stripe.com?', 'must have neither a query nor a fragment'],
    ['https://api.stripe.com/v1?x=1', 'must have neither a query nor a fragment'],
    ['https://api.stripe.com/#', 'must have neither a query nor a fragment'],
    ['https://api.stripe.com/v1//x', 'must not have an empty segment in its path'],
  ])('cannot lead to %s', async (base_url, message) => {
    expect(await refuse({ base_url }, 'body.base_url')).toBe(message);
  });

  it.each([
    'https://countersign.example.net',
    'https://COUNTERSIGN.example.net./v1',
    'https://countersign.example.net:8443',
    'https://count%65rsign.example.net',
    'https://ｃountersign.example.net',
  ])('cannot lead to this service as %s', async (base_url) => {
    const here = new World({ PUBLIC_URL: 'https://Countersign.example.net' });
    const own = await here.account();
    const { body } = await own.must(400, 'POST', '/v1/connections', {
      ...full({ agent_ids: [(await own.agent()).id] }),
      base_url,
    });
    expect(body.errors).toEqual([
      { path: 'body.base_url', message: 'must not be this service itself' },
    ]);
  });

  it('on this machine is told from the service by its port', async () => {
    const here = new World({ PUBLIC_URL: 'http://localhost:8787', WEBHOOK_ALLOW_INSECURE: 'on' });
    const own = await here.account();
    const agent_ids = [(await own.agent()).id];
    for (const base_url of ['http://127.0.0.1:8787', 'http://LOCALHOST.:8787', 'http://[::1]:8787'])
      await own.must(400, 'POST', '/v1/connections', full({ agent_ids, base_url }));
    await own.must(
      201,
      'POST',
      '/v1/connections',
      full({ agent_ids, base_url: 'http://127.0.0.1:99' }),
    );
  });

  it.each([
    [{ type: 'header', header: 'Content-Length' }, SECRET, 'body.auth.header'],
    [{ type: 'header', header: 'transfer-encoding' }, SECRET, 'body.auth.header'],
    [{ type: 'header', header: 'Idempotency-Key' }, SECRET, 'body.auth.header'],
    [{ type: 'header', header: 'X Token' }, SECRET, 'body.auth.header'],
    [{ type: 'header', prefix: 'a\r\nb: c' }, SECRET, 'body.auth.prefix'],
    [{ type: 'header' }, undefined, 'body.secret'],
    [{ type: 'header' }, 'a\nb', 'body.secret'],
    [{ type: 'header' }, 'café', 'body.secret'],
    [{ type: 'header' }, ' a', 'body.secret'],
    [{ type: 'header' }, '', 'body.secret'],
    [{ type: 'basic' }, undefined, 'body.secret'],
    [{ type: 'basic' }, 'no-colon', 'body.secret'],
    [{ type: 'none' }, SECRET, 'body.secret'],
    [{ type: 'digest' }, SECRET, 'body.auth.type'],
  ])('refuses the credential %j with the secret %j', async (auth, secret, path) => {
    await refuse({ auth, secret }, path);
  });

  it.each([
    ...['Authorization', 'COOKIE', 'x-api-key', 'Host', 'content-length', 'Idempotency-Key'],
    ...['Connection', 'TE', 'Upgrade', 'Transfer-Encoding', 'X-Forwarded-For', 'x-forwarded-host'],
    'two words',
  ])('never sends on the header %s', async (name) => {
    await refuse({ forward_headers: ['Accept', name] }, 'body.forward_headers.1');
  });

  it('sends on no header twice, and not that of its credential', async () => {
    await refuse({ forward_headers: ['Accept', 'accept'] }, 'body.forward_headers');
    const auth = { type: 'header', header: 'X-Token' };
    await refuse({ auth, forward_headers: ['x-token'] }, 'body.forward_headers.0');
  });

  it.each([
    [{ effect: 'maybe' }, 'effect'],
    [{ effect: 'ask', methods: [] }, 'methods'],
    [{ effect: 'ask', methods: ['get'] }, 'methods.0'],
    [{ effect: 'ask', methods: ['GET', 'GET'] }, 'methods'],
    [{ effect: 'ask', paths: [] }, 'paths'],
    [{ effect: 'ask', paths: ['v1'] }, 'paths.0'],
    [{ effect: 'ask', paths: ['/v1?x=1'] }, 'paths.0'],
    [{ effect: 'ask', paths: ['/a//b'] }, 'paths.0'],
    [{ effect: 'ask', paths: ['/a/../b'] }, 'paths.0'],
    [{ effect: 'ask', paths: ['/a/.'] }, 'paths.0'],
    [{ effect: 'ask', paths: ['/a b'] }, 'paths.0'],
    [{ effect: 'ask', paths: ['/é'] }, 'paths.0'],
    [{ effect: 'ask', paths: ['/%2e'] }, 'paths.0'],
    [{ effect: 'ask', paths: ['/%7E'] }, 'paths.0'],
    [{ effect: 'ask', paths: ['/%zz'] }, 'paths.0'],
    [{ effect: 'ask', action: 'send' }, 'action'],
    [{ effect: 'ask', resource: 'stripe' }, 'resource'],
    [{ effect: 'ask', scope: { amount: 'amount' } }, 'scope.amount'],
    [{ effect: 'ask', scope: { amount: '{}' } }, 'scope.amount'],
    [{ effect: 'ask', scope: { amount: '{a..b}' } }, 'scope.amount'],
    [{ effect: 'ask', scope: { amount: '{a} {b}' } }, 'scope.amount'],
    [{ effect: 'ask', title: ' ' }, 'title'],
    [{ effect: 'ask', title: 'Refund {amount' }, 'title'],
    [{ effect: 'ask', title: 'Refund {}' }, 'title'],
    [{ effect: 'ask', series: { requests: 1, expires_in: 60 } }, 'series.requests'],
    [
      { effect: 'ask', series: { requests: 2, expires_in: 60, varies: ['amount'] } },
      'series.varies.0',
    ],
    [{ effect: 'ask', note: 'x' }, 'note'],
  ])('refuses the rule %j', async (rule, path) => {
    const rules = [{ effect: 'deny' }, rule];
    await refuse({ rules }, `body.rules.1.${path}`);
  });

  it.each(['*', '/', '/v1/*', '*/refunds', '/repos/*/issues', '/a%20b', '/a..b', '/%C3%A9'])(
    'takes a rule for the path %s',
    async (path) => {
      const rules = [{ effect: 'ask', paths: [path], whole_input: false }];
      expect((await create({ rules })).rules).toEqual(rules);
    },
  );

  it('has at most 100 rules and 64 KiB of them', async () => {
    const rules = Array.from({ length: 101 }, () => ({ effect: 'deny' }));
    await refuse({ rules }, 'body.rules');
    const long = { effect: 'ask', paths: Array.from({ length: 50 }, () => `/${'a'.repeat(500)}`) };
    await refuse({ rules: [long, long, long] }, 'body.rules');
    await create({ rules: rules.slice(1) });
  });

  it('names 1 to 100 agents of the account', async () => {
    const foreign = await other.agent();
    const gone = await account.agent();
    await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
    for (const id of [foreign.id, gone.id]) {
      expect(await refuse({ agent_ids: [agent.id, id] }, 'body.agent_ids')).toBe(
        'must be agents of this account',
      );
    }
    await refuse({ agent_ids: [] }, 'body.agent_ids');
    await refuse({ agent_ids: [agent.id, agent.id] }, 'body.agent_ids');
    await refuse({ agent_ids: ['agent_x'] }, 'body.agent_ids.0');
    await refuse({ agent_ids: undefined }, 'body.agent_ids');
  });

  it.each([
    ...[['wait', -1] as const, ['wait', 61] as const, ['wait', 1.5] as const],
    ...[['timeout', 0] as const, ['timeout', 301] as const],
    ...[['repeat_after', 59] as const, ['repeat_after', 86_401] as const],
    ...[['name', ' '] as const, ['slug', 'Stripe'] as const, ['slug', ''] as const],
    ...[['is_active', null] as const, ['created_by', 'me'] as const],
  ])('refuses %s %j', async (name, value) => {
    await refuse({ [name]: value }, `body.${name}`);
  });
});

describe('an account', () => {
  it('has at most 100 connections, whatever others have', async () => {
    const full = await world.account();
    const own = await full.agent();
    const { id } = await makeConnection(full, own);
    await env.DB.prepare(
      `with recursive n(value) as (select 1 union all select value + 1 from n where value < 99)
       insert into connections select account, randomblob(16), name, 'copy-' || value, base_url, auth_type,
         auth_header, auth_prefix, secret, rules, agent_ids, forward_headers, wait, timeout, repeat_after,
         is_active, created_by, created_at, updated_at from connections, n where id = ?`,
    )
      .bind(idBytes(id))
      .run();
    const { body } = await full.must(
      409,
      'POST',
      '/v1/connections',
      named({ agent_ids: [own.id] }),
    );
    expect(body).toMatchObject({ code: 'conflict', detail: expect.stringContaining('100') });
    await full.must(204, 'DELETE', `/v1/connections/${id}`);
    await makeConnection(full, own);
    await create();
  });

  it('lists its connections newest first, a page at a time', async () => {
    const own = await world.account();
    const caller = await own.agent();
    const made: string[] = [];
    for (let i = 0; i < 3; i++) {
      world.advance(1);
      made.unshift((await makeConnection(own, caller)).id);
    }
    const first = (await own.must(200, 'GET', '/v1/connections?limit=2')).body;
    expect(first).toMatchObject({ has_more: true });
    const cursor = encodeURIComponent(first.next_cursor);
    const rest = (await own.must(200, 'GET', `/v1/connections?limit=2&cursor=${cursor}`)).body;
    expect(rest).toMatchObject({ has_more: false, next_cursor: null });
    expect([...first.data, ...rest.data].map(({ id }: Json) => id)).toEqual(made);
    await other.must(400, 'GET', `/v1/connections?limit=2&cursor=${cursor}`);
  });
});
