import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { rules } from '../support/access-rules';
import { depth } from '../support/depth';
import { requestLine, watchLog } from '../support/log';
import { aim, makeScene, type Scene } from '../support/scene';
import { saveTables } from '../support/tables';
import { makeAgent, World } from '../support/world';

const log = watchLog();

const { routes } = new World();

it('the table of access rules lists exactly the routes of the service', () => {
  expect(Object.keys(rules).toSorted()).toEqual(routes.toSorted());
});

/**
 * The routes that take a credential, those that take a user token's scope, and those that act in an
 * account.
 */
const guarded = routes.filter((route) => !rules[route]?.includes('everybody'));
const scoped = guarded.filter((route) => rules[route]?.some((who) => who.startsWith('user:')));
const ofAccounts = guarded.filter((route) => !rules[route]?.includes('operator'));

/** Scopes that a route needs beyond its own, mostly because the caller gives them to somebody. */
const ALSO_NEEDED: Record<string, string[]> = {
  // The scene deletes another token than the calling one.
  'DELETE /v1/me/tokens/:id': ['account:write'],
  'GET /v1/permissions/:id/receipt': ['audit:read'],
  'POST /v1/members': [
    'account:read',
    'agents:read',
    'permissions:read',
    'permissions:decide',
    'policies:read',
    'audit:read',
  ],
  'POST /v1/members/:id/invitation': [
    'account:read',
    'agents:read',
    'permissions:read',
    'policies:read',
    'audit:read',
    'audit:export',
    'webhooks:read',
    'connections:read',
    'channels:read',
  ],
};

/** Who may call a route, its scopes (one of them is enough), and a function that calls it. */
function about(route: string) {
  const allowed = rules[route] ?? [];
  const scopes = allowed
    .filter((who) => who.startsWith('user:'))
    .map((who) => who.slice('user:'.length));
  const call = async (scene: Scene, token?: string) => {
    const { method, path, body } = aim(route, scene);
    const answer = await scene.world.call(method, path, {
      ...(token !== undefined && { token }),
      ...(body !== undefined && { body }),
    });
    // Every request leaves exactly one line in the log.
    requestLine(log, method, route.split(' ')[1] ?? '', answer);
    return answer;
  };
  return { allowed, scopes, call };
}

/**
 * Routes that refuse the callers here, with what they answer. Some are only of use to members: a
 * token of the account has no sessions, signs no decisions, gives no series, pairs no programs, and
 * gets no messages.
 * One only Slack can call, and one is for who took a use, which nobody did.
 */
const REFUSING: Record<string, number> = {
  'DELETE /v1/me/sessions/:id': 404,
  'POST /v1/permissions/:id/statement': 403,
  'DELETE /v1/permissions/:id/series': 404,
  'POST /v1/permissions/:id/outcome': 409,
  'POST /v1/pairing': 400,
  'POST /v1/inbound/:secret/slack': 404,
  'GET /v1/me/notifications': 403,
  'PUT /v1/me/notifications': 403,
  'DELETE /v1/me/notifications/push/:id': 403,
};

const shared = await makeScene();
const restore = await saveTables(env.DB);

it.each(routes)('%s answers every caller who may call it', async (route) => {
  const { allowed, scopes, call } = about(route);
  await restore();
  const scene = shared;
  const credentials: Record<string, string | undefined> = {
    everybody: undefined,
    operator: scene.world.env.ADMIN_TOKEN,
    agent: scene.agent.key,
  };
  for (const scope of scopes) {
    const also = ALSO_NEEDED[route] ?? [];
    credentials[`user:${scope}`] = await scene.account.limitedToken(...also, scope);
  }
  for (const who of allowed) {
    const { status } = await call(scene, credentials[who]);
    if (route in REFUSING) expect(status).toBe(REFUSING[route]);
    else expect(status).toBeLessThan(400);
  }
});

// A refused request changes nothing, so each of the following groups shares a scene.

describe('without a valid credential', () => {
  let scene: Scene;
  let dead: (string | undefined)[];

  beforeAll(async () => {
    scene = await makeScene();
    dead = await makeDeadCredentials(scene);
  });

  it.each(depth.cases(guarded, 2))('%s answers 401 unauthorized', async (route) => {
    const { call } = about(route);
    for (const token of dead) {
      const answer = await call(scene, token);
      expect([token, answer.status, answer.body?.code]).toEqual([token, 401, 'unauthorized']);
      expect(answer.headers.get('WWW-Authenticate')).toBe('Bearer');
    }
  });
});

/** Invalid credentials: none, unknown, expired, deleted and malformed ones. */
async function makeDeadCredentials({
  world,
  account,
  agent,
  token,
}: Scene): Promise<(string | undefined)[]> {
  const expiring = await account.must(201, 'POST', '/v1/me/tokens', {
    expires_at: new Date(world.now + 1_000).toISOString(),
  });
  const rotated = await account.agent();
  await account.must(200, 'POST', `/v1/agents/${rotated.id}/rotate-key`, {
    revoke_immediately: true,
  });
  const deletedToken = await account.must(201, 'POST', '/v1/me/tokens', {});
  await account.must(204, 'DELETE', `/v1/me/tokens/${deletedToken.body.id}`);
  const deleted = await account.agent();
  await account.must(204, 'DELETE', `/v1/agents/${deleted.id}`);
  const gone = await world.account();
  const orphan = await gone.agent();
  await world.must(202, 'DELETE', `/v1/admin/users/${gone.id}`, {
    token: world.env.ADMIN_TOKEN ?? '',
  });
  world.advance(1_000);
  return [
    undefined,
    '',
    'nonsense',
    `${world.env.ADMIN_TOKEN}x`,
    token,
    account.token.slice(0, -1),
    `${account.token.slice(0, -1)}${account.token.endsWith('0') ? '1' : '0'}`,
    agent.key.toLowerCase(),
    expiring.body.token,
    rotated.key,
    deletedToken.body.token,
    deleted.key,
    gone.token,
    orphan.key,
  ];
}

describe('with a credential of another kind or scope', () => {
  let scene: Scene;
  let scopes: string[];

  beforeAll(async () => {
    scene = await makeScene();
    const { body: me } = await scene.account.must(200, 'GET', '/v1/me/tokens?limit=100');
    scopes = me.data.at(-1).scopes;
  });

  it.each(guarded)('%s answers 403 wrong_credential to every other kind', async (route) => {
    const { allowed, call } = about(route);
    const kinds = {
      operator: scene.world.env.ADMIN_TOKEN ?? '',
      agent: scene.agent.key,
      user: scene.account.token,
    };
    for (const [kind, token] of Object.entries(kinds)) {
      if (allowed.some((who) => who.startsWith(kind))) continue;
      const { status, body } = await call(scene, token);
      expect([kind, status, body.code]).toEqual([kind, 403, 'wrong_credential']);
    }
  });

  it.each(scoped)(
    '%s answers 403 insufficient_scope to a user token that lacks only the required scope',
    async (route) => {
      const { scopes: needed, call } = about(route);
      const others = scopes.filter((scope) => !needed.includes(scope));
      const token = await scene.account.limitedToken(...others);
      const { status, body } = await call(scene, token);
      expect([status, body.code]).toEqual([403, 'insufficient_scope']);
    },
  );
});

describe('with a credential of an inactive account', () => {
  let scene: Scene;

  beforeAll(async () => {
    scene = await makeScene();
    const { world, account } = scene;
    const operator = world.env.ADMIN_TOKEN ?? '';
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
      token: operator,
      body: { is_active: false },
    });
  });

  it.each(depth.cases(guarded, 3))('%s answers 403 account_inactive', async (route) => {
    const { call } = about(route);
    for (const token of [scene.account.token, scene.agent.key]) {
      const { status, body } = await call(scene, token);
      expect([status, body.code]).toEqual([403, 'account_inactive']);
    }
  });
});

describe('with a credential of another account', () => {
  let scene: Scene;
  let stranger: Scene;
  let before: string[];

  beforeAll(async () => {
    const world = new World();
    stranger = await makeScene(world);
    scene = await makeScene(world);
    before = await snapshot(scene);
  });

  /** The ids of the account's things. */
  function idsOf({ account, agent, permission, ...others }: Scene): string[] {
    const { entry, spareToken, policy, webhook, delivery, channel, message, report } = others;
    const ids = [account.id, agent.id, permission.id, entry, spareToken, policy, webhook];
    return [...ids, delivery, channel, message, others.export, report];
  }

  it.each(depth.cases(ofAccounts, 3))(
    '%s neither reveals nor changes anything of the account',
    async (route) => {
      const { call } = about(route);
      for (const token of [stranger.account.token, stranger.agent.key]) {
        const answer = await call(scene, token);
        const shown = answer.text.replaceAll(scene.token, '');
        for (const id of idsOf(scene)) expect(shown).not.toContain(id);
      }
      expect(await snapshot(scene)).toEqual(before);
    },
  );
});

it('reads no page for the key of an agent, which no list of users admits', async () => {
  const { account, agent } = await makeAgent();
  for (let n = 0; n < 20; n++) await agent.request();
  for (const path of ['/v1/audit', '/v1/activity', '/v1/agents', '/v1/policies']) {
    const { cost } = await agent.must(403, 'GET', `${path}?limit=100`);
    expect([path, cost.trips, cost.read <= 8]).toEqual([path, 1, true]);
  }
  const { cost } = await account.must(200, 'GET', '/v1/audit');
  expect(cost.read).toBeGreaterThan(40);
});

/** Everything that an account can read of itself. */
async function snapshot({ account }: Scene) {
  const paths = [
    '/v1/me',
    '/v1/agents',
    '/v1/permissions',
    '/v1/audit',
    '/v1/me/tokens',
    '/v1/policies',
    '/v1/webhooks',
    '/v1/channels',
    '/v1/connections',
    '/v1/audit/export',
    '/v1/audit/reports/compliance',
    '/v1/activity',
  ];
  const answers = await Promise.all(paths.map((path) => account.must(200, 'GET', path)));
  return answers.map(({ text }) => text.replaceAll(/"last_(used|activity)_at":[^,}]+/g, ''));
}
