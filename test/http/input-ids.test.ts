import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { dumpTables } from '../support/tables';
import { makeWebhook } from '../support/webhooks';
import { World } from '../support/world';

/** Its path is signed, and any other path is refused as a forgery (downloads.test.ts). */
const SIGNED = 'GET /v1/downloads/:id';

/** Every route with an id in its path. */
const ROUTES = new World().routes.filter((route) => route.includes(':') && route !== SIGNED);

/** Valid bodies for the ends and beginnings of paths, by method; the first that fits counts. */
const BODIES: [RegExp, Record<string, unknown>][] = [
  [/\/restoration$/, { PUT: { shard: '00', restored_to: '2026-01-01T00:00:00Z' } }],
  [/\/owner$/, { POST: { email: 'ada@example.com' } }],
  [/\/statement$/, { POST: { decision: 'approve' } }],
  [/\/outcome$/, { POST: { status: 'succeeded' } }],
  [/^\/v1\/connections\/.*\/test$/, { POST: { path: '/' } }],
  [/^\/v1\/webhooks/, { POST: {}, PUT: { description: 'Stolen' } }],
  [/^/, { POST: {}, PUT: { name: 'Stolen' }, PATCH: { name: 'Stolen' } }],
];
const SUFFIX = '01h455vb4pex5vsknk084sn02q';
const MALFORMED = [
  ...[
    'x',
    '1',
    '-1',
    'null',
    'undefined',
    '__proto__',
    '%00',
    '%ff',
    '%F0%9F%98%80',
    '%2e%2e',
    '*',
    "'%20or%201=1--",
  ],
  ...['user_', `_${SUFFIX}`, SUFFIX, 'x'.repeat(2_000)],
];

it('the router lists the routes with an id', () => {
  expect(ROUTES).toContain('GET /v1/audit/:id');
  expect(ROUTES.length).toBeGreaterThan(13);
});

// A refused request changes nothing, so all routes share a scene.
const world = new World();
const [account, other] = [await world.account(), await world.account()];
const caller = await account.agent();
const agent = await other.agent();
const { id } = await agent.request();
const webhook = await makeWebhook(other);
const { body: channel } = await other.must(201, 'POST', '/v1/channels', {
  kind: 'email',
  name: 'Mail',
});
const [entry] = await other.log();
const { body: members } = await other.must(200, 'GET', '/v1/members');

describe.each(depth.cases(ROUTES, 3))('%s', (route) => {
  const [method = '', pattern = ''] = route.split(' ');

  it('answers 404 for an id that is malformed, of another kind, unknown or of another account', async () => {
    const [, bodies = {}] = BODIES.find(([path]) => path.test(pattern)) ?? [];
    const own = caller.id;
    const byAgent = pattern.endsWith('/withdraw');
    const operator = pattern.startsWith('/v1/admin');
    // The operator may read every account, so another account's id is no refusal there.
    const foreign = [
      agent.id,
      id,
      entry.id,
      webhook.id,
      channel.id,
      members.data[0].id,
      ...(operator ? [] : [other.id, other.tokenId]),
    ];
    const kinds = [
      'user',
      'utok',
      'member',
      'agent',
      'perm',
      'token',
      'audit',
      'webhook',
      'chan',
      'dlv',
      'USER',
      'key',
    ];
    const unknown = kinds.flatMap((kind) => [
      `${kind}_${SUFFIX}`,
      `${kind}_${SUFFIX}0`,
      `${kind}_8${SUFFIX.slice(1)}`,
    ]);
    const disguised = kinds.map((kind) => own.replace('agent_', `${kind}0_`));
    const before = await dumpTables(env.DB);
    for (const candidate of [...MALFORMED, ...foreign, ...depth.cases(unknown, 2), ...disguised]) {
      const { status, body } = await world.call(method, pattern.replace(/:\w+/, candidate), {
        token: operator ? (world.env.ADMIN_TOKEN ?? '') : byAgent ? caller.key : account.token,
        ...(bodies[method] !== undefined && { body: bodies[method] }),
      });
      expect([candidate, status, body?.code]).toEqual([candidate, 404, 'not_found']);
    }
    expect(await dumpTables(env.DB)).toEqual(before);
  });
});
