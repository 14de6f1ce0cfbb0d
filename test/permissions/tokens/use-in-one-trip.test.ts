import { env } from 'cloudflare:test';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rememberCaller } from '../../../src/identity/remembered-callers';
import { idBytes } from '../../../src/lib/typeid';
import { giveToConnection, makeConnection } from '../../support/connections';
import { FaultyDatabase } from '../../support/faults';
import { checkIntegrity } from '../../support/integrity';
import { makeMember, type TestMember } from '../../support/members';
import { isMoving, orderHeldMove, orderMove } from '../../support/moves';
import { DATABASES } from '../../support/shards';
import { dumpTables, emptyTables, saveTables } from '../../support/tables';
import {
  type Answer,
  type Json,
  type TestAccount,
  type TestAgent,
  World,
} from '../../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const operator = env.ADMIN_TOKEN ?? '';

/** Texts that JSON escapes, a name that details have too, and numbers with exponents. */
const ODD_SCOPE = {
  'a"\\\n\u2028é😀': ['</b>', '\u0001'],
  policy_id: 'policy_x',
  n: [1e21, 1e-7, -0.5],
};

const database = new FaultyDatabase(env.DB);
/** The isolate whose uses are tested. */
const world = new World({ DB: database.binding, DB_01: env.DB_01 });
/** Another isolate, in which the rest happens. Its database calls are not counted. */
const elsewhere = new World();

interface Scene {
  account: TestAccount;
  agent: TestAgent;
  /** A permission of the agent whose token has five uses. */
  permission: Json;
}

async function makeScene(others: number): Promise<Scene> {
  const account = await elsewhere.account();
  for (let i = 0; i < others; i++) await (await account.agent()).approved();
  const agent = await account.agent();
  return { account, agent, permission: await agent.approved({ max_uses: 5 }) };
}

/** Two accounts with different histories. The second is tested. */
let first: Scene;
let scene: Scene;
/** An agent of the second account, to which no token belongs. */
let other: TestAgent;
let member: TestMember;
/** A user token of the account, besides the one that makes changes. */
let userToken: { id: string; token: string };
let restore: () => Promise<void>;

beforeAll(async () => {
  first = await makeScene(3);
  scene = await makeScene(1);
  other = await scene.account.agent();
  member = await makeMember(scene.account, 'developer');
  userToken = (await scene.account.must(201, 'POST', '/v1/me/tokens', {})).body;
  restore = await saveTables(env.DB);
  // Only now: a new account goes to the smallest shard.
  Object.assign(elsewhere.env, { DB_01: env.DB_01 });
});

beforeEach(async () => {
  world.now = elsewhere.now = Date.UTC(2026, 0, 31, 12, 1);
  world.restart();
  for (const shard of Object.values(DATABASES)) await shard.exec('delete from moves');
  await emptyTables(env.DB_01);
  await restore();
});

/** Uses a token with a credential. */
function use(
  token: string,
  { permission = scene.permission, key, ...fields }: Json = {},
): Promise<Answer> {
  return world.call('POST', '/v1/tokens/use', {
    token,
    body: { token: permission.token.value, ...fields },
    ...(key && { headers: { 'Idempotency-Key': key } }),
  });
}

/** Makes the isolate remember who has a credential. */
async function remember(token: string): Promise<void> {
  await world.call('POST', '/v1/tokens/introspect', { token });
}

const outcome = ({ status, body }: Answer) => [status, body.reason ?? body.code ?? body.uses];
const cost = (answer: Answer) => [answer.status, answer.cost.trips];
const isReplay = ({ headers }: Answer) => headers.get('Idempotent-Replayed') === 'true';

/** The number of uses that were taken of the token. */
async function takenUses(): Promise<number> {
  const { body } = await scene.account.must(200, 'GET', `/v1/permissions/${scene.permission.id}`);
  return body.token.uses;
}

/** The credentials by their kind. */
const CREDENTIALS: Record<string, () => string> = {
  'an agent key': () => scene.agent.key,
  'a user token': () => userToken.token,
  'the user token of a member': () => member.token,
};

describe.each(Object.entries(CREDENTIALS))('a use with %s that is remembered', (_, credential) => {
  it('takes one round trip and six rows', async () => {
    await remember(credential());
    // The first entry of an hour marks what the sweep has to do.
    expect(cost(await use(credential()))).toEqual([200, 1]);
    const answer = await use(credential());
    expect([...cost(answer), answer.cost.written]).toEqual([200, 1, 6]);
    expect(await checkIntegrity(env.DB)).toEqual([]);
  });

  it('takes one round trip with an idempotency key, and is then replayed', async () => {
    await remember(credential());
    const used = await use(credential(), { key: 'a' });
    expect([...cost(used), isReplay(used)]).toEqual([200, 1, false]);
    const state = await dumpTables(env.DB);
    const again = await use(credential(), { key: 'a' });
    expect([again.text, isReplay(again), again.cost.trips]).toEqual([used.text, true, 2]);
    const another = await use(credential(), { key: 'a', action: 'email.send' });
    expect(outcome(another)).toEqual([422, 'idempotency_key_reuse']);
    expect(await dumpTables(env.DB)).toEqual(state);
    expect(cost(await use(credential(), { key: 'b' }))).toEqual([200, 1]);
  });

  it('is one of many with the same key that takes a use', async () => {
    await remember(credential());
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => use(credential(), { key: 'a' })),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(isReplay)).toHaveLength(5);
    expect(await takenUses()).toBe(1);
  });

  it('takes two round trips again after a minute, and records that the credential was used', async () => {
    expect(cost(await use(credential()))).toEqual([200, 2]);
    world.advance(MINUTE - 1);
    expect(cost(await use(credential()))).toEqual([200, 1]);
    world.advance(1);
    expect(cost(await use(credential()))).toEqual([200, 2]);
    elsewhere.now = world.now;
    const { account, agent } = scene;
    const { body: shown } = await account.must(200, 'GET', `/v1/agents/${agent.id}`);
    const { body: tokens } = await account.must(200, 'GET', '/v1/me/tokens');
    const { token_prefix } = userToken as Json;
    const own = tokens.data.find((token: Json) => token.token_prefix === token_prefix);
    const times = [shown.last_activity_at, own?.last_used_at];
    if (credential() !== member.token) expect(times).toContain(new Date(world.now).toISOString());
  });
});

it('writes the same as a use of a caller who is not remembered', async () => {
  const { account, agent } = scene;
  const policy = { effect: 'approve', name: 'All', actions: ['file.*'], resources: ['file:*'] };
  await account.must(201, 'POST', '/v1/policies', policy);
  const digest = `sha-256:${'A'.repeat(43)}`;
  const asked: Json[] = [
    { scope: ODD_SCOPE, max_uses: 3 },
    { action: 'file.read', resource: 'file:"a"', max_uses: 2 },
    { input_digest: digest, reports_outcome: true },
  ];
  const permissions: Json[] = [];
  for (const fields of asked) {
    const { id, status } = await agent.request(fields);
    if (status === 'pending') await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
    permissions.push((await agent.must(200, 'GET', `/v1/permissions/${id}`)).body);
  }
  expect(permissions.map(({ policy_id }) => typeof policy_id)).toContain('string');
  const renew = await saveTables(env.DB);
  for (const permission of permissions) {
    for (const token of [agent.key, userToken.token]) {
      const results = [];
      for (const trips of [2, 1]) {
        await renew();
        world.restart();
        if (trips === 1) await remember(token);
        const answer = await use(token, {
          permission,
          key: 'a',
          ...(permission.input_digest && { input_digest: digest }),
        });
        expect(cost(answer)).toEqual([200, trips]);
        results.push({ body: answer.body, tables: await dumpWithoutRandom() });
      }
      expect(results[1]).toEqual(results[0]);
    }
  }
});

/** All rows, without what is random in an entry and in a stored answer. */
async function dumpWithoutRandom(): Promise<Record<string, unknown[]>> {
  const tables = (await dumpTables(env.DB)) as Record<string, Json[]>;
  const without = (rows: Json[] = []) => rows.map(({ random: _, answer: __, ...row }) => row);
  const { audit_entries, stored_answers } = tables;
  return {
    ...tables,
    audit_entries: without(audit_entries),
    stored_answers: without(stored_answers),
  };
}

it('tells apart the accounts and credentials of one isolate', async () => {
  const callers: [string, Scene][] = [
    [first.account.token, first],
    [scene.agent.key, scene],
    [first.agent.key, first],
    [userToken.token, scene],
  ];
  for (const [token] of callers) await remember(token);
  for (const [token, { permission }] of callers)
    expect(cost(await use(token, { permission }))).toEqual([200, 1]);
  const strangers: [string, Scene][] = [
    [first.account.token, scene],
    [first.agent.key, scene],
    [userToken.token, first],
    [other.key, scene],
  ];
  await remember(other.key);
  const state = await dumpTables(env.DB);
  for (const [token, { permission }] of strangers)
    expect(outcome(await use(token, { permission }))).toEqual([409, 'unknown']);
  expect(await dumpTables(env.DB)).toEqual(state);
});

it('gives the last use to one of many', async () => {
  const tokens = [scene.agent.key, userToken.token];
  for (const token of tokens) await remember(token);
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => use(tokens[i % 2] ?? '')));
  const uses = answers.filter(({ status }) => status === 200).map(({ body }) => body.uses);
  expect(uses.toSorted()).toEqual([1, 2, 3, 4, 5]);
  const refused = answers.filter(({ status }) => status !== 200).map(outcome);
  expect(refused).toEqual(Array.from({ length: 7 }, () => [409, 'used']));
  expect(Math.max(...answers.map((answer) => answer.cost.trips))).toBe(2);
  expect(await checkIntegrity(env.DB)).toEqual([]);
});

it.each([
  ['before it takes effect', 'before', 0],
  ['after it took effect', 'after', 1],
] as const)('is not tried again when the database fails %s', async (_, mode, taken) => {
  await remember(scene.agent.key);
  database.arm({ call: 1, mode });
  expect(outcome(await use(scene.agent.key))).toEqual([503, 'unavailable']);
  expect(database.calls).toBe(1);
  database.arm(null);
  expect(await takenUses()).toBe(taken);
});

it('remembers a bounded number of callers', async () => {
  await remember(scene.agent.key);
  expect(cost(await use(scene.agent.key))).toEqual([200, 1]);
  const caller = { until: Number.POSITIVE_INFINITY } as Parameters<typeof rememberCaller>[2];
  for (let i = 0; i < 1_000; i++)
    rememberCaller({ env: world.env } as never, new Uint8Array([i >> 8, i & 255]), caller);
  expect(cost(await use(scene.agent.key))).toEqual([200, 2]);
});

/** What happens between two uses, and the outcomes of the second by the kinds of callers. */
interface Change {
  happens: () => Promise<unknown>;
  outcomes: Record<string, [status: number, reason: string]>;
}

const byOwner = (status: number, method: string, path: string, body?: Json) =>
  scene.account.must(status, method, path, body);
const byOperator = (status: number, method: string, body?: Json) =>
  elsewhere.must(status, method, `/v1/admin/users/${scene.account.id}`, { token: operator, body });
const changeAgent = (body: Json) => byOwner(200, 'PUT', `/v1/agents/${scene.agent.id}`, body);
const changeMember = (body: Json) => byOwner(200, 'PUT', `/v1/members/${member.id}`, body);
const rotate = (body: Json) =>
  byOwner(200, 'POST', `/v1/agents/${scene.agent.id}/rotate-key`, body);
const useUp = () =>
  env.DB.prepare(
    'update permissions set token_uses = 5, token_status = 1 where token_max_uses = 5',
  ).run();

const agentKey = 'an agent key';
const ofAccount = 'a user token';
const ofMember = 'the user token of a member';
const all = (status: number, reason: string): Change['outcomes'] => ({
  [agentKey]: [status, reason],
  [ofAccount]: [status, reason],
  [ofMember]: [status, reason],
});

const CHANGES: Record<string, Change> = {
  'the token of the user is deleted': {
    happens: () => byOwner(204, 'DELETE', `/v1/me/tokens/${userToken.id}`),
    outcomes: { [ofAccount]: [401, 'unauthorized'] },
  },
  'the key of the agent is replaced': {
    happens: () => rotate({ revoke_immediately: true }),
    outcomes: { [agentKey]: [401, 'unauthorized'] },
  },
  'the key of the agent ends': {
    happens: async () => {
      await rotate({ grace_period: 30 });
      world.advance(30 * SECOND);
    },
    outcomes: { [agentKey]: [401, 'unauthorized'] },
  },
  'the member gets another role': {
    happens: () => changeMember({ role: 'auditor' }),
    outcomes: { [ofMember]: [403, 'insufficient_scope'] },
  },
  'the member is suspended': {
    happens: () => changeMember({ status: 'suspended' }),
    outcomes: { [ofMember]: [401, 'unauthorized'] },
  },
  'the member is removed': {
    happens: () => byOwner(204, 'DELETE', `/v1/members/${member.id}`),
    outcomes: { [ofMember]: [401, 'unauthorized'] },
  },
  'the account is switched off': {
    happens: () => byOperator(200, 'PATCH', { is_active: false }),
    outcomes: all(403, 'account_inactive'),
  },
  'the account is stopped': {
    happens: () => byOwner(200, 'POST', '/v1/me/stop', {}),
    outcomes: all(403, 'account_stopped'),
  },
  'the account is held for its move': {
    happens: () => orderHeldMove(elsewhere, scene.account.id, '01'),
    outcomes: all(503, 'unavailable'),
  },
  'the account is deleted': {
    happens: () => byOperator(202, 'DELETE'),
    outcomes: all(401, 'unauthorized'),
  },
  'the agent is switched off': {
    happens: () => changeAgent({ is_active: false }),
    outcomes: {
      [agentKey]: [403, 'agent_inactive'],
      [ofAccount]: [409, 'agent_inactive'],
      [ofMember]: [409, 'agent_inactive'],
    },
  },
  'the agent is deleted': {
    happens: () => byOwner(204, 'DELETE', `/v1/agents/${scene.agent.id}`),
    outcomes: {
      [agentKey]: [401, 'unauthorized'],
      [ofAccount]: [409, 'unknown'],
      [ofMember]: [409, 'unknown'],
    },
  },
  'the token is revoked': {
    happens: () =>
      byOwner(200, 'POST', '/v1/tokens/revoke', { token: scene.permission.token.value }),
    outcomes: all(409, 'revoked'),
  },
  'the last use is taken': { happens: useUp, outcomes: all(409, 'used') },
  'the permission belongs to a connection': {
    happens: async () => {
      const { id } = await makeConnection(scene.account, scene.agent);
      await giveToConnection(scene.permission.id, id);
    },
    outcomes: all(409, 'unknown'),
  },
  'the log is full': {
    happens: () =>
      env.DB.prepare(`insert into audit_entries
        (pos, agent, permission, event, action, created_at, ip_address, user_agent, details, random)
        select pos / 4294967296 * 4294967296 + 5000000, agent, permission, event, action, created_at,
          ip_address, user_agent, details, random from audit_entries order by pos desc limit 1`).run(),
    outcomes: all(409, 'conflict'),
  },
};

describe.each(Object.entries(CHANGES))('a use after %s', (_, { happens, outcomes }) => {
  it('is refused as one of a caller who is not remembered, and writes nothing', async () => {
    for (const kind of Object.keys(outcomes)) await remember(CREDENTIALS[kind]?.() ?? '');
    await happens();
    const state = await dumpTables(env.DB);
    for (const [kind, expected] of Object.entries(outcomes)) {
      const credential = CREDENTIALS[kind]?.() ?? '';
      for (const key of ['', kind.replaceAll(' ', '-')]) {
        const refused = await use(credential, { key });
        expect([kind, ...outcome(refused)]).toEqual([kind, ...expected]);
        expect(refused.cost.trips).toBeLessThanOrEqual(3);
      }
    }
    expect(await dumpTables(env.DB)).toEqual(state);
  });
});

it('is refused once the token of the user has expired', async () => {
  const expires_at = new Date(world.now + 30 * SECOND).toISOString();
  const { body } = await byOwner(201, 'POST', '/v1/me/tokens', { expires_at });
  await remember(body.token);
  world.advance(30 * SECOND - 1);
  expect(cost(await use(body.token))).toEqual([200, 1]);
  world.advance(1);
  expect(outcome(await use(body.token))).toEqual([401, 'unauthorized']);
});

it.each([
  [ofAccount, 'update user_tokens set account = '],
  [agentKey, 'update agents set account = '],
])('is refused once %s belongs to another account', async (kind, change) => {
  const credential = CREDENTIALS[kind]?.() ?? '';
  await remember(credential);
  await env.DB.prepare(`${change} (select number from accounts where id = ?)`)
    .bind(idBytes(first.account.id))
    .run();
  expect(outcome(await use(credential))).toEqual([409, 'unknown']);
});

it.each([
  ['scope', `granted_scope = '{"amount":1}'`, { scope: { amount: 1 } }],
  ['action', `action = 'email.read'`, { action: 'email.read' }],
  ['resource', `resource = 'mailbox:other'`, { resource: 'mailbox:other' }],
  ['expiry', 'token_expires_at = 1769864400000', { expires_at: '2026-01-31T13:00:00.000Z' }],
])(
  'allows what the permission allows, if its %s is not that of the token',
  async (_, change, allowed) => {
    await remember(scene.agent.key);
    await env.DB.exec(`update permissions set ${change} where token_max_uses = 5`);
    const answer = await use(scene.agent.key);
    expect(cost(answer)).toEqual([200, 3]);
    expect(answer.body).toMatchObject(allowed);
  },
);

it.each([
  { action: 'email.read' },
  { resource: 'mailbox:other' },
  { input_digest: `sha-256:${'A'.repeat(43)}` },
])('is refused for %j, which the token does not allow', async (fields) => {
  await remember(scene.agent.key);
  const state = await dumpTables(env.DB);
  expect(outcome(await use(scene.agent.key, fields))).toEqual([409, 'mismatch']);
  expect(await dumpTables(env.DB)).toEqual(state);
});

it('names the agent of the permission, if its id is not that of the token', async () => {
  await remember(userToken.token);
  await env.DB.prepare('update agents set id = ? where id = ?')
    .bind(idBytes('agent_01h455vb4pex5vsknk084sn02q'), idBytes(scene.agent.id))
    .run();
  const answer = await use(userToken.token);
  expect([...cost(answer), answer.body.agent_id]).toEqual([
    200,
    3,
    'agent_01h455vb4pex5vsknk084sn02q',
  ]);
});

it('is refused if the digest of the permission is not that of the token', async () => {
  await remember(scene.agent.key);
  await env.DB.exec(`update permissions set input_digest = 'x' where token_max_uses = 5`);
  expect(outcome(await use(scene.agent.key))).toEqual([409, 'mismatch']);
});

it('counts on the new shard once the account has moved, and again on the old one', async () => {
  await remember(scene.agent.key);
  for (const [from, to] of [
    [env.DB, '01'],
    [env.DB_01, '00'],
  ] as const) {
    await orderMove(elsewhere, scene.account.id, to, from);
    while (await isMoving()) await elsewhere.sweep();
    expect((await use(scene.agent.key)).status).toBe(200);
    expect(cost(await use(scene.agent.key))).toEqual([200, 1]);
  }
  expect(await takenUses()).toBe(4);
});

it('is refused as any other if the request is invalid', async () => {
  const token = scene.permission.token.value;
  const calls: [string, Json][] = [
    ['', { body: { token, unknown: 1 } }],
    ['', { body: { token, action: 1 } }],
    ['', { body: { token }, headers: { 'Idempotency-Key': 'a b' } }],
    ['', { raw: '{', headers: { 'Content-Type': 'application/json' } }],
    ['?x=1', { body: { token } }],
  ];
  const callAll = async () => {
    const outcomes = [];
    for (const [query, call] of calls) {
      const path = `/v1/tokens/use${query}`;
      outcomes.push(outcome(await world.call('POST', path, { token: userToken.token, ...call })));
    }
    return outcomes;
  };
  await remember(userToken.token);
  expect(await callAll()).toEqual(calls.map(() => [400, 'invalid_request']));
  expect(await takenUses()).toBe(0);
  await byOwner(204, 'DELETE', `/v1/me/tokens/${userToken.id}`);
  expect(await callAll()).toEqual(calls.map(() => [401, 'unauthorized']));
});

it.each(['?=x', '?x=1', `?${'&'.repeat(20_000)}`])(
  'is refused for the query %#, which no use has, and takes nothing',
  async (query) => {
    await remember(scene.agent.key);
    const answer = await world.call('POST', `/v1/tokens/use${query}`, {
      token: scene.agent.key,
      body: { token: scene.permission.token.value },
    });
    expect(outcome(answer)).toEqual([400, 'invalid_request']);
    expect(await takenUses()).toBe(0);
  },
);
