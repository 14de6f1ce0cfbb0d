import { env } from 'cloudflare:test';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FaultyDatabase } from '../support/faults';
import { aim, makeScene, type Scene } from '../support/scene';
import { dumpTables, saveTables } from '../support/tables';
import { type Answer, type Json, World } from '../support/world';

const MINUTE = 60_000;

/** POST routes that never write anything. */
const READING = [
  'POST /v1/connections/:id/test',
  'POST /v1/permissions/:id/statement',
  'POST /v1/policies/simulate',
  'POST /v1/policies/replay',
  'POST /v1/tokens/introspect',
];
const AGENT_ROUTES = [
  'POST /v1/permissions',
  'POST /v1/permissions/:id/withdraw',
  'POST /v1/tokens/use',
  'POST /v1/tokens/revoke',
];
/** Take no credential. */
const OPEN = ['POST /v1/pairing', 'POST /v1/inbound/:secret/slack'];
/** Every route that writes with a credential of an account. */
const writing = new World().routes.filter(
  (route) =>
    /^(POST|PUT|PATCH|DELETE) \/v1\//.test(route) &&
    !route.includes('/v1/admin') &&
    ![...READING, ...OPEN].includes(route),
);
/** Without sessions and notification settings, which only members have. */
const userRoutes = writing.filter(
  (route) =>
    route !== 'POST /v1/permissions' &&
    !/(\/withdraw|\/sessions\/:id|\/push\/:id|\/notifications)$/.test(route),
);

const database = new FaultyDatabase(env.DB);
const world = new World({ DB: database.binding });
/** Sends what happens during a request; its database calls are not counted by `database`. */
const elsewhere = new World();
const operator = env.ADMIN_TOKEN;
let scene: Scene;
/** A permission that the account's token has used, and whose outcome the agent has promised. */
let used: string;
let restore: () => Promise<void>;

beforeAll(async () => {
  scene = await makeScene(world);
  const permission = await scene.agent.approved({ reports_outcome: true });
  const use = { token: permission.token.value };
  await scene.account.must(200, 'POST', '/v1/tokens/use', use);
  used = permission.id;
  restore = await saveTables(env.DB);
});

beforeEach(async () => {
  world.now = elsewhere.now = Date.UTC(2026, 0, 31, 12, 1);
  world.restart();
  await restore();
});

/** A credential, and how it ends. */
interface Ending {
  credential: string;
  end: () => Promise<unknown>;
}

const byOwner = (status: number, method: string, path: string, body?: unknown) =>
  elsewhere.must(status, method, path, {
    token: scene.account.token,
    ...(body !== undefined && { body }),
  });

const byOperator = (status: number, method: string, body?: unknown) =>
  elsewhere.must(status, method, `/v1/admin/users/${scene.account.id}`, {
    token: operator,
    ...(body !== undefined && { body }),
  });

async function userToken(fields: Record<string, unknown> = {}) {
  const { body } = await byOwner(201, 'POST', '/v1/me/tokens', fields);
  return { id: body.id as string, credential: body.token as string };
}

/**
 * Appends an entry of another agent a minute later, so that later entries cannot have an earlier
 * time.
 */
async function appendLater(): Promise<void> {
  elsewhere.advance(MINUTE);
  const { body } = await byOwner(201, 'POST', '/v1/agents', { name: 'Later' });
  const request = { action: 'file.read', resource: 'file:a' };
  await elsewhere.must(201, 'POST', '/v1/permissions', { token: body.api_key, body: request });
}

const switchedOff = () => byOperator(200, 'PATCH', { is_active: false });
const deleted = () => byOperator(202, 'DELETE');

const userEndings: Record<string, () => Promise<Ending>> = {
  'the token is deleted': async () => {
    const { id, credential } = await userToken();
    return { credential, end: () => byOwner(204, 'DELETE', `/v1/me/tokens/${id}`) };
  },
  'the account is switched off': async () => ({ ...(await userToken()), end: switchedOff }),
  'the account is deleted': async () => ({ ...(await userToken()), end: deleted }),
};

const agentEndings: Record<string, () => Promise<Ending>> = {
  'its key is revoked': async () => {
    const end = () =>
      byOwner(200, 'POST', `/v1/agents/${scene.agent.id}/rotate-key`, { revoke_immediately: true });
    return { credential: scene.agent.key, end };
  },
  'the agent is switched off': async () => {
    const end = () => byOwner(200, 'PUT', `/v1/agents/${scene.agent.id}`, { is_active: false });
    return { credential: scene.agent.key, end };
  },
  'the agent is deleted': async () => {
    return {
      credential: scene.agent.key,
      end: () => byOwner(204, 'DELETE', `/v1/agents/${scene.agent.id}`),
    };
  },
  'the account is switched off': async () => ({ credential: scene.agent.key, end: switchedOff }),
  'the account is deleted': async () => ({ credential: scene.agent.key, end: deleted }),
};

/** A call of a route that succeeds in the scene with a valid credential. */
function makeCall(route: string, credential: string) {
  const { method, path: aimed, body } = aim(route, scene);
  const path = route.endsWith('/outcome') ? `/v1/permissions/${used}/outcome` : aimed;
  // With a key, a request that is sent again succeeds again.
  const headers: Record<string, string> =
    method === 'POST' ? { 'Idempotency-Key': 'in-flight' } : {};
  return () =>
    world.call(method, path, { token: credential, headers, ...(body !== undefined && { body }) });
}

const outcome = ({ status, body }: Answer) => [status, body?.code];

/**
 * Ends a credential between authentication and write, and expects that nothing is written and that
 * the answer is the same as for a request that comes after the end.
 */
async function expectNothingWritten(route: string, { credential, end }: Ending) {
  let before: unknown;
  database.before(2, async () => {
    await end();
    before = await dumpTables(env.DB);
  });
  const call = makeCall(route, credential);
  const answer = await call();
  expect(before).toBeDefined();
  expect(await dumpTables(env.DB)).toEqual(before);
  expect(answer.status).toBeGreaterThanOrEqual(401);
  expect(answer.status).toBeLessThanOrEqual(403);
  // A request that comes now gets the same answer.
  expect(outcome(answer)).toEqual(outcome(await call()));
}

describe.each(Object.entries(userEndings))('when %s while a request is in flight', (_, arrange) => {
  it.each(userRoutes)('%s writes nothing, and answers as it does afterwards', async (route) => {
    await expectNothingWritten(route, await arrange());
  });
});

describe.each(Object.entries(agentEndings))(
  'when %s while a request of the agent is in flight',
  (_, arrange) => {
    it.each(AGENT_ROUTES)('%s writes nothing, and answers as it does afterwards', async (route) => {
      await expectNothingWritten(route, await arrange());
    });
  },
);

/** A token of the account gives no series, so there is none to end. */
const succeeding = userRoutes.filter((route) => !route.endsWith('/series'));

it.each(succeeding)('%s succeeds with a user token that does not end', async (route) => {
  const { credential } = await userToken();
  expect((await makeCall(route, credential)()).status).toBeLessThan(300);
});

describe.each(['before', 'after'] as const)(
  'when a database call also fails %s it takes effect',
  (mode) => {
    it.each([2, 3])(
      'a request whose token was deleted meanwhile writes nothing (call %s)',
      async (call) => {
        for (const route of [
          'POST /v1/agents',
          'POST /v1/permissions/:id/approve',
          'POST /v1/tokens/use',
        ]) {
          await restore();
          const { id, credential } = await userToken();
          let ended: unknown;
          database.arm({ call, mode });
          database.before(2, async () => {
            await byOwner(204, 'DELETE', `/v1/me/tokens/${id}`);
            ended = await dumpTables(env.DB);
          });
          const answer = await makeCall(route, credential)();
          database.arm(null);
          expect(ended).toBeDefined();
          // A call that fails earlier does not say whether the credential is still valid.
          const isRefused = call === 2 && mode === 'after';
          expect(outcome(answer)).toEqual(isRefused ? [401, 'unauthorized'] : [503, 'unavailable']);
          expect(await dumpTables(env.DB)).toEqual(ended);
        }
      },
    );
  },
);

it.each(AGENT_ROUTES)('%s succeeds with an agent key that does not end', async (route) => {
  expect((await makeCall(route, scene.agent.key)()).status).toBeLessThan(300);
});

it('a download is not recorded if the account becomes inactive while the request is in flight', async () => {
  const path = `/v1/downloads/${scene.download}`;
  let before: unknown;
  database.before(2, async () => {
    await switchedOff();
    before = await dumpTables(env.DB);
  });
  await world.call('GET', path);
  expect(before).toBeDefined();
  expect(await dumpTables(env.DB)).toEqual(before);
  expect(outcome(await world.call('GET', path))).toEqual([403, 'account_inactive']);
});

describe('a credential that expires while a request is in flight', () => {
  const LOGGED = [
    'POST /v1/permissions/:id/approve',
    'POST /v1/permissions/:id/deny',
    ...AGENT_ROUTES,
  ];

  it.each(LOGGED)('writes no entry with a time after its expiry: %s', async (route) => {
    const agentKey = async () => {
      await byOwner(200, 'POST', `/v1/agents/${scene.agent.id}/rotate-key`, {
        grace_period: MINUTE / 1_000,
      });
      return scene.agent.key;
    };
    const end = new Date(world.now + MINUTE).toISOString();
    const credential = AGENT_ROUTES.includes(route)
      ? await agentKey()
      : (await userToken({ expires_at: end })).credential;
    database.before(2, appendLater);
    const answer = await makeCall(route, credential)();
    expect(outcome(answer)).toEqual([503, 'unavailable']);
    world.now = elsewhere.now;
    const log = await scene.account.log();
    expect(Math.max(...log.map(({ created_at }) => Date.parse(created_at)))).toBe(world.now);
    expect(log.at(-1).created_at).toBe(new Date(world.now).toISOString());
    expect(outcome(await makeCall(route, credential)())).toEqual([401, 'unauthorized']);
  });

  it.each([
    'POST /v1/agents',
    'POST /v1/policies',
    'POST /v1/me/tokens',
    'POST /v1/permissions/:id/approve',
  ])('writes nothing when the body arrives after its expiry: %s', async (route) => {
    const { credential } = await userToken({
      expires_at: new Date(world.now + MINUTE).toISOString(),
    });
    const { method, path, body } = aim(route, scene);
    const text = JSON.stringify(body ?? {});
    const pull = (controller: ReadableStreamDefaultController) => {
      world.advance(MINUTE);
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    };
    const late = new ReadableStream({ pull }, { highWaterMark: 0 });
    const before = await dumpTables(env.DB);
    const headers = { 'Content-Type': 'application/json' };
    const answer = await world.call(method, path, { token: credential, raw: late, headers });
    expect(outcome(answer)).toEqual([401, 'unauthorized']);
    expect(await dumpTables(env.DB)).toEqual(before);
  });
});

it('a request writes all its rows with the same time, however long it takes', async () => {
  const slow = new World();
  const now = () => {
    slow.advance(1);
    return slow.now;
  };
  Object.assign(slow.runtime, { now });
  const { token } = scene.account;
  const { body: agent } = await slow.must(201, 'POST', '/v1/agents', {
    token,
    body: { name: 'Slow' },
  });
  const { body: activity } = await slow.must(200, 'GET', `/v1/activity?target=${agent.id}`, {
    token,
  });
  expect(activity.data.map(({ created_at }: Json) => created_at)).toEqual([agent.created_at]);
});
