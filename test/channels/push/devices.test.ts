import { env } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Browser } from '../../support/browser';
import { checkLeftovers } from '../../support/check-leftovers';
import { makeMember, type TestMember } from '../../support/members';
import { orderMove, settleMoves } from '../../support/moves';
import { publicKeyOf, TestDevice } from '../../support/push';
import { type Json, type TestAccount, World } from '../../support/world';

const PATH = '/v1/me/notifications';
const MINUTE = 60_000;
const OTHER_ROOT = btoa('another root secret, 32 bytes ..');

/** An account with a member who has a device, beside a neighbour who has one too. */
async function makeScene(world = new World()) {
  const neighbour = await world.account();
  const stranger = await makeMember(neighbour, 'approver');
  await subscribed(new TestDevice(world), stranger);
  const account = await world.account();
  const agent = await account.agent();
  const ada = await makeMember(account, 'approver');
  const device = new TestDevice(world);
  const { id } = await subscribed(device, ada);
  return { world, account, agent, stranger, ada, device, id };
}

async function subscribed(device: TestDevice, member: TestMember, name = 'Phone'): Promise<Json> {
  const answer = await device.subscribe(member, {}, name);
  if (answer.status !== 201) throw new Error(`the subscription was refused: ${answer.text}`);
  return answer.body;
}

async function devicesOf({ world }: TestAccount, { token }: TestMember): Promise<Json[]> {
  return (await world.must(200, 'GET', PATH, { token })).body.push;
}

const outcome = ({ status, body }: { status: number; body: Json }) => [
  status,
  body?.code ?? null,
  ...(body?.errors ?? []).map(({ path }: Json) => path),
];

describe('the devices of a member', () => {
  it('are listed with the settings, at no additional round trip', async () => {
    const { world, account, ada, id } = await makeScene();
    const { body, cost } = await world.must(200, 'GET', PATH, { token: ada.token });
    const created_at = new Date(world.now).toISOString();
    expect(body.push).toEqual([{ id, name: 'Phone', created_at }]);
    expect([cost.trips, id]).toEqual([1, expect.stringMatching(/^push_/)]);
    const changed = await world.must(200, 'PUT', PATH, {
      token: ada.token,
      body: { events: null },
    });
    expect(changed.body.push).toEqual(body.push);
    const colleague = await makeMember(account, 'owner');
    expect(await devicesOf(account, colleague)).toEqual([]);
  });

  it('are no webhooks, no channels, and nothing that a member leaves', async () => {
    const { account, ada, id } = await makeScene();
    for (const kind of ['webhooks', 'channels'])
      expect((await account.must(200, 'GET', `/v1/${kind}`)).body.data).toEqual([]);
    for (const [kind, prefix] of [
      ['webhooks', 'webhook'],
      ['channels', 'chan'],
    ]) {
      const path = `/v1/${kind}/${id.replace('push', prefix)}`;
      for (const [method, rest] of [
        ['GET', ''],
        ['GET', '/deliveries'],
        ['DELETE', ''],
      ] as const)
        expect((await account.call(method, path + rest)).status).toBe(404);
    }
    const { leaves } = (await account.must(200, 'GET', `/v1/members/${ada.id}`)).body;
    expect([leaves.webhooks, leaves.channels]).toEqual([[], []]);
  });

  it('can be removed by their member only, and then get nothing', async () => {
    const { world, account, agent, stranger, ada, device, id } = await makeScene();
    const colleague = await makeMember(account, 'owner');
    const path = `${PATH}/push/${id}`;
    for (const { token } of [stranger, colleague])
      expect(outcome(await world.call('DELETE', path, { token }))).toEqual([404, 'not_found']);
    expect(outcome(await account.call('DELETE', path))).toEqual([403, 'person_required']);
    await agent.request();
    await world.must(204, 'DELETE', path, { token: ada.token });
    expect((await world.call('DELETE', path, { token: ada.token })).status).toBe(404);
    await world.deliver();
    await world.sweep();
    expect([device.notifications, await devicesOf(account, ada)]).toEqual([[], []]);
    const { data } = (await account.must(200, 'GET', '/v1/activity?action=notifications.updated'))
      .body;
    expect(data.map(({ target, changes }: Json) => [target, changes])).toEqual([
      [id, ['push']],
      [id, ['push']],
    ]);
    expect(await checkLeftovers(env.DB)).toEqual([]);
  });

  it.each([
    ['suspended', 'PUT', 200, { status: 'suspended' }],
    ['removed', 'DELETE', 204, undefined],
  ] as const)('end when the member is %s', async (_, method, status, body) => {
    const { world, account, agent, ada, device } = await makeScene();
    const colleague = await makeMember(account, 'approver');
    const other = new TestDevice(world);
    await subscribed(other, colleague);
    await agent.request();
    await account.must(status, method, `/v1/members/${ada.id}`, body);
    await world.deliver();
    if (body) await account.must(200, 'PUT', `/v1/members/${ada.id}`, { status: 'active' });
    await agent.request();
    await world.deliver();
    expect([device.notifications.length, other.notifications.length]).toEqual([0, 2]);
    await world.sweep();
    expect(await checkLeftovers(env.DB)).toEqual([]);
  });

  it('are five at most, each once', async () => {
    const { world, ada, device } = await makeScene();
    expect(outcome(await device.subscribe(ada))).toEqual([409, 'conflict']);
    for (let i = 0; i < 4; i++) await subscribed(new TestDevice(world), ada);
    expect(outcome(await new TestDevice(world).subscribe(ada))).toEqual([409, 'conflict']);
  });

  it('are erased with the account', async () => {
    const { world, account, agent } = await makeScene();
    await agent.request();
    await world.deliver();
    await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, {
      token: env.ADMIN_TOKEN,
    });
    for (let minutes = 0; minutes < 5; minutes++) {
      world.advance(MINUTE);
      await world.sweep();
    }
    expect(await checkLeftovers(env.DB)).toEqual([]);
  });

  it('move with the account', async () => {
    const { world, account, agent, ada, device, id } = await makeScene(new World());
    Object.assign(world.env, { DB_01: env.DB_01 });
    await orderMove(world, account.id, '01');
    await settleMoves(world);
    expect(await devicesOf(account, ada)).toMatchObject([{ id, name: 'Phone' }]);
    await agent.request();
    await world.deliver();
    expect(device.notifications).toHaveLength(1);
  });
});

describe('a subscription', () => {
  it.each([
    ['http', { endpoint: 'http://push.example.com/x' }, 'body.endpoint'],
    ['this machine', { endpoint: 'https://localhost/x' }, 'body.endpoint'],
    ['an address', { endpoint: 'https://127.0.0.1/x' }, 'body.endpoint'],
    ['a private name', { endpoint: 'https://push.internal/x' }, 'body.endpoint'],
    ['credentials', { endpoint: 'https://a:b@push.example.com/x' }, 'body.endpoint'],
    ['a short key', { p256dh: 'BA' }, 'body.p256dh'],
    ['no point on the curve', { p256dh: `BA${'A'.repeat(85)}` }, 'body.p256dh'],
    ['a long secret', { auth: 'A'.repeat(44) }, 'body.auth'],
  ])('with %s is refused', async (_, changes, path) => {
    const { world, ada } = await makeScene();
    const answer = await new TestDevice(world).subscribe(ada, changes);
    expect(outcome(answer)).toEqual([400, 'invalid_request', path]);
  });

  it('needs a person who signed in recently', async () => {
    const { world, account, ada } = await makeScene();
    const device = new TestDevice(world);
    const body = { name: 'Laptop', ...device.subscription(await publicKeyOf(ada.browser)) };
    await ada.browser.signInWithToken(ada.token);
    const byToken = await ada.browser.change('POST', '/console/me/push', body);
    expect(outcome(byToken)).toEqual([403, 'person_required']);
    await ada.browser.signIn();
    const { csrf: _, ...unsigned } = body as Json;
    const forged = await ada.browser.change('POST', '/console/me/push', unsigned, {
      'X-CSRF-Token': 'forged',
    });
    expect(outcome(forged)).toEqual([403, 'wrong_credential']);
    world.advance(11 * MINUTE);
    const late = await ada.browser.change('POST', '/console/me/push', body);
    expect(outcome(late)).toEqual([401, 'unauthorized']);
    expect(await devicesOf(account, ada)).toHaveLength(1);
  });

  it('is offered to a person on every page, and to nobody else', async () => {
    const { world, account, agent, ada } = await makeScene();
    const { id } = await agent.request();
    const keyOf = async (path: string) =>
      /<meta name="push-key" content="([^"]*)"/.exec((await ada.browser.get(path)).text)?.[1];
    const key = await publicKeyOf(ada.browser);
    for (const path of ['/console', `/console/permissions/${id}`, '/console/stop'])
      expect(await keyOf(path)).toBe(key);
    await ada.browser.signInWithToken(ada.token);
    expect(await keyOf('/console/me')).toBeUndefined();
    await ada.browser.signInWithToken(account.token);
    expect(await keyOf('/console/me')).toBeUndefined();
    expect((await world.call('GET', '/console/sign-in')).text).not.toContain('push-key');
  });

  it('is stored encrypted', async () => {
    const { device } = await makeScene();
    const { results } = await env.DB.prepare('select * from receivers where kind = 3').all<Json>();
    const texts = results.flatMap((row) =>
      Object.values(row).map((value) =>
        Array.isArray(value) ? String.fromCharCode(...value) : String(value),
      ),
    );
    const { endpoint, p256dh, auth } = device.subscription('');
    for (const secret of [endpoint, new URL(endpoint).pathname, p256dh, auth])
      expect(texts.filter((text) => text.includes(secret))).toEqual([]);
  });
});

describe('after a new root secret', () => {
  /** A world in which the root secrets are others. */
  const withRoots = ({ world }: { world: World }, ...roots: string[]) => {
    world.restart({ ROOT_SECRET: roots.join(',') });
  };

  it('a device is served with the key that it subscribed with, while that secret stands', async () => {
    const scene = await makeScene();
    const { world, account, agent, ada, device } = scene;
    const old = world.env.ROOT_SECRET ?? '';
    const oldKey = await publicKeyOf(ada.browser);
    withRoots(scene, OTHER_ROOT, old);
    await agent.request();
    await world.deliver();
    expect(device.notifications.map(({ key }) => key)).toEqual([oldKey]);

    await ada.browser.signIn();
    const second = new TestDevice(world);
    expect(outcome(await second.subscribe(ada, { key: oldKey }))).toEqual([409, 'conflict']);
    await subscribed(second, ada);
    await agent.request();
    await world.deliver();
    const newKey = await publicKeyOf(ada.browser);
    expect(newKey).not.toBe(oldKey);
    expect(device.notifications.map(({ key }) => key)).toEqual([oldKey, oldKey]);
    expect(second.notifications.map(({ key }) => key)).toEqual([newKey]);

    // The agent's key and the credentials of people end with the old secret: its request is older.
    const { id } = await agent.request();
    withRoots(scene, OTHER_ROOT);
    await world.deliver();
    expect([device.notifications.length, second.notifications.length]).toEqual([2, 2]);
    withRoots(scene, OTHER_ROOT, old);
    const { data } = (await account.must(200, 'GET', `/v1/permissions/${id}/notifications`)).body;
    const failed = data.filter(({ status }: Json) => status === 'failed');
    expect(failed.map(({ last_error }: Json) => last_error)).toEqual([
      expect.stringContaining('a key that the service no longer has'),
    ]);
  });

  it('a browser renews its device at a visit, without a recent sign-in, if it knows its old endpoint', async () => {
    const scene = await makeScene();
    const { world, account, agent, stranger, ada, device, id } = scene;
    withRoots(scene, OTHER_ROOT, world.env.ROOT_SECRET ?? '');
    await ada.browser.signIn();
    await stranger.browser.signIn();
    world.advance(11 * MINUTE);
    const key = await publicKeyOf(ada.browser);
    const old_endpoint = device.endpoint;
    device.endpoint = `https://${device.host}/send/renewed`;
    const body = { old_endpoint, ...device.subscription(key) };
    const known = (browser: Browser) =>
      browser.send('GET', '/console/me/push', { headers: { Accept: 'application/json' } });
    const digest = createHash('sha256').update(old_endpoint).digest('base64url');
    const own = await known(ada.browser);
    expect([own.body, own.cost.trips]).toEqual([{ devices: [{ id, digest }] }, 1]);
    expect((await known(stranger.browser)).text).not.toContain(digest);
    const path = `/console/me/push/${id}`;
    const guess = { ...body, old_endpoint: `https://${device.host}/send/guess` };
    for (const [browser, sent] of [
      [ada.browser, guess],
      [stranger.browser, body],
    ] as const)
      expect(outcome(await browser.change('POST', path, sent))).toEqual([409, 'conflict']);
    expect((await ada.browser.change('POST', path, body)).status).toBe(204);
    await agent.request();
    await world.deliver();
    expect(device.notifications.map((each) => each.key)).toEqual([key]);
    expect(await devicesOf(account, ada)).toMatchObject([{ id, name: 'Phone' }]);
  });
});
