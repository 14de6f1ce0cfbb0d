import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { idBytes } from '../../src/lib/typeid';
import { copyPermission } from '../support/bulk-log';
import { digestOf } from '../support/canonical-json';
import { depth } from '../support/depth';
import { FaultyDatabase } from '../support/faults';
import { type Json, makeAgent, World } from '../support/world';

const ACT = {
  action: 'payment.send',
  resource: 'account:4711',
  scope: { amount: 500, to: ['a', 'b'] },
};
const JSON_HEADERS = { 'Content-Type': 'application/json' };

describe('an external id', () => {
  const ASKED = {
    ...ACT,
    input: { amount: 120.5 },
    preview: { title: 'Pay' },
    external_id: 'call-1',
  };

  it('returns the existing permission in two round trips, and writes nothing', async () => {
    const { account, agent } = await makeAgent();
    const first = await agent.must(201, 'POST', '/v1/permissions', ASKED);
    const again = {
      ...ASKED,
      preview: { title: 'Other' },
      token_ttl: 30,
      scope: { to: ['a', 'b'], amount: 500 },
    };
    const second = await agent.call('POST', '/v1/permissions', again);
    expect([second.status, second.headers.get('Location'), second.body]).toEqual([
      200,
      null,
      first.body,
    ]);
    expect(second.cost).toMatchObject({ trips: 1, written: 0 });
    expect(await account.log()).toHaveLength(1);
  });

  it('returns the decision with the token, days later and without the idempotency key', async () => {
    const { world, account, agent } = await makeAgent();
    const { body: asked } = await agent.must(201, 'POST', '/v1/permissions', {
      ...ASKED,
      token_ttl: 604_800,
      expires_in: 604_800,
    });
    await account.must(200, 'POST', `/v1/permissions/${asked.id}/approve`);
    world.advance(3 * 86_400_000);
    const { body } = await agent.must(200, 'POST', '/v1/permissions', ASKED);
    const { body: read } = await agent.must(200, 'GET', `/v1/permissions/${asked.id}`);
    expect(body).toEqual(read);
    expect(body.token.value).toMatch(/^ey/);
  });

  it('costs the same however many permissions the agent has', async () => {
    await (await makeAgent()).agent.must(201, 'POST', '/v1/permissions', ASKED);
    const { agent } = await makeAgent();
    const readByRequests = async (id: string) => {
      const asked = { ...ASKED, external_id: id };
      const { cost: first } = await agent.must(201, 'POST', '/v1/permissions', asked);
      const { cost: again } = await agent.must(200, 'POST', '/v1/permissions', asked);
      return [first.read, again.read];
    };
    // A request counts those that are pending.
    const settleAll = () => env.DB.exec('update permissions set status = 2');
    await readByRequests('call-0');
    await settleAll();
    const before = await readByRequests('call-1');
    await copyPermission(env.DB, agent.id, 500);
    await settleAll();
    expect(await readByRequests('call-2')).toEqual(before);
  });

  it.each<[string, object]>([
    ['action', { action: 'payment.plan' }],
    ['resource', { resource: 'account:1' }],
    ['scope', { scope: { amount: 501, to: ['a', 'b'] } }],
    ['order of a list', { scope: { amount: 500, to: ['b', 'a'] } }],
    ['input', { input: { ...ASKED.input, amount: 1 } }],
    ['absence of the input', { input: undefined }],
  ])('refuses a request that differs in its %s', async (_, fields) => {
    const { account, agent } = await makeAgent();
    await agent.must(201, 'POST', '/v1/permissions', ASKED);
    const { body } = await agent.must(409, 'POST', '/v1/permissions', { ...ASKED, ...fields });
    expect(body.code).toBe('external_id_conflict');
    expect(await account.log()).toHaveLength(1);
  });

  it('belongs to one agent, and filters lists', async () => {
    const { world, account, agent } = await makeAgent();
    const other = await account.agent();
    const ids = [];
    for (const one of [agent, other]) {
      ids.push((await one.must(201, 'POST', '/v1/permissions', ASKED)).body.id);
      world.advance(1);
    }
    expect(ids[0]).not.toBe(ids[1]);
    const { body: all } = await account.must(200, 'GET', '/v1/permissions?external_id=call-1');
    expect(all.data.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed());
    const filters = [
      `agent_id=${other.id}`,
      'action=payment.send&limit=1',
      'status=pending&limit=1',
    ];
    for (const filter of filters) {
      const { body } = await account.must(
        200,
        'GET',
        `/v1/permissions?external_id=call-1&${filter}`,
      );
      expect(body.data[0].id).toBe(ids[1]);
    }
    expect(
      (await agent.must(200, 'GET', '/v1/permissions?external_id=call-1')).body.data,
    ).toHaveLength(1);
    expect((await account.must(200, 'GET', '/v1/permissions?external_id=call')).body.data).toEqual(
      [],
    );
    expect(
      (await account.must(200, 'GET', '/v1/permissions?external_id=call-1&action=a.b')).body.data,
    ).toEqual([]);
  });

  it('makes one permission when many requests come at the same time', async () => {
    const { account, agent } = await makeAgent();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => agent.call('POST', '/v1/permissions', ASKED)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await account.log()).toHaveLength(1);
  });

  it('returns the permission of a request that commits first, in three round trips', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, agent } = await makeAgent(new World({ DB: database.binding }));
    const rival = new World();
    rival.now = world.now;
    let first: unknown;
    database.before(2, async () => {
      first = (await rival.call('POST', '/v1/permissions', { token: agent.key, body: ASKED })).body;
    });
    const second = await agent.call('POST', '/v1/permissions', ASKED);
    expect([second.status, second.body, second.cost.trips]).toEqual([200, first, 3]);
  });

  it('leaves the stored answer of an idempotency key in place', async () => {
    const { world, agent } = await makeAgent();
    const headers = { 'Idempotency-Key': 'k-1' };
    const send = () =>
      world.call('POST', '/v1/permissions', { token: agent.key, body: ASKED, headers });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text]);
  });

  it('is free again, and the contents are gone, once the permission is erased', async () => {
    const { world, account, agent } = await makeAgent(new World());
    const { id } = (await agent.must(201, 'POST', '/v1/permissions', ASKED)).body;
    const countContents = () =>
      env.DB.prepare('select count(*) as n from permission_contents where id = ?')
        .bind(idBytes(id))
        .first('n');
    expect(await countContents()).toBe(1);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    await world.sweep();
    await world.clean();
    expect(await countContents()).toBe(0);
  });
});

describe('a request with an external id', () => {
  const ASKED = { ...ACT, input: { a: 1 }, external_id: 'call-1' };

  it('is answered 200 if the concurrent request that comes first takes the last place of the quota', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, agent } = await makeAgent(new World({ DB: database.binding }));
    const rival = new World();
    rival.now = world.now;
    await agent.request();
    await env.DB.exec('update pending_permissions set count = 9999');
    let first: Json;
    database.before(2, async () => {
      first = await rival.call('POST', '/v1/permissions', { token: agent.key, body: ASKED });
    });
    const second = await agent.call('POST', '/v1/permissions', ASKED);
    expect(first.status).toBe(201);
    expect([second.status, second.body.id]).toEqual([200, first.body.id]);
  });

  it('is answered 200 for an existing request while the quota is reached', async () => {
    const { agent } = await makeAgent();
    await agent.must(201, 'POST', '/v1/permissions', ASKED);
    await env.DB.exec('update pending_permissions set count = 10000');
    await agent.must(200, 'POST', '/v1/permissions', ASKED);
    await agent.must(409, 'POST', '/v1/permissions', ACT);
  });

  it.each([
    ['whose key is revoked', 401, 'key'],
    ['that is switched off', 403, 'off'],
    ['that is deleted', 401, 'delete'],
  ] as const)(
    'gives no token to an agent %s between the first and the third trip',
    async (_, status, how) => {
      const database = new FaultyDatabase(env.DB);
      const { world, account, agent } = await makeAgent(new World({ DB: database.binding }));
      const rival = new World();
      rival.now = world.now;
      const byUser = (method: string, path: string, body?: unknown) =>
        rival.call(method, path, { token: account.token, ...(body !== undefined && { body }) });
      database.before(2, async () => {
        const { body } = await rival.call('POST', '/v1/permissions', {
          token: agent.key,
          body: ASKED,
        });
        await byUser('POST', `/v1/permissions/${body.id}/approve`);
        if (how === 'key')
          await byUser('POST', `/v1/agents/${agent.id}/rotate-key`, { revoke_immediately: true });
        if (how === 'off') await byUser('PUT', `/v1/agents/${agent.id}`, { is_active: false });
        if (how === 'delete') await byUser('DELETE', `/v1/agents/${agent.id}`);
      });
      const second = await agent.call('POST', '/v1/permissions', ASKED);
      expect([second.status, second.body.token?.value ?? second.body.code]).toEqual([
        status,
        expect.not.stringMatching(/^ey/),
      ]);
    },
  );

  it.runIf(depth.isDeep)(
    'is answered 409 for the loser of two concurrent requests with different bodies, whatever their idempotency keys',
    async () => {
      for (const headers of [{}, { 'Idempotency-Key': 'k' }]) {
        const database = new FaultyDatabase(env.DB);
        const { world, account, agent } = await makeAgent(new World({ DB: database.binding }));
        const rival = new World();
        rival.now = world.now;
        database.before(2, async () => {
          await rival.must(201, 'POST', '/v1/permissions', {
            token: agent.key,
            body: { ...ASKED, input: 2 },
          });
        });
        const second = await world.call('POST', '/v1/permissions', {
          token: agent.key,
          body: ASKED,
          headers,
        });
        expect([second.status, second.body.code]).toEqual([409, 'external_id_conflict']);
        // The key stays free, also for another body.
        const third = await world.call('POST', '/v1/permissions', {
          token: agent.key,
          body: { ...ASKED, external_id: 'other' },
          headers,
        });
        expect(third.status).toBe(201);
        expect(await account.log()).toHaveLength(2);
      }
    },
  );

  it.runIf(depth.isDeep)(
    'and an idempotency key makes one permission when it is sent many times at the same time',
    async () => {
      const { world, account, agent } = await makeAgent();
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          world.call('POST', '/v1/permissions', {
            token: agent.key,
            body: ASKED,
            headers: { 'Idempotency-Key': `k-${i % 2}` },
          }),
        ),
      );
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
      expect(await account.log()).toHaveLength(1);
    },
  );

  it('is found by a filter of lists, whose cursors are bound to it', async () => {
    const { world, account } = await makeAgent();
    for (let i = 0; i < 5; i++) {
      await (await account.agent()).must(201, 'POST', '/v1/permissions', ASKED);
      world.advance(1);
    }
    const seen = [];
    let cursor = '';
    do {
      const { body } = await account.must(
        200,
        'GET',
        `/v1/permissions?external_id=call-1&limit=2${cursor}`,
      );
      seen.push(...body.data.map(({ id }: Json) => id));
      if (cursor === '') {
        await account.must(400, 'GET', `/v1/permissions?limit=2&cursor=${body.next_cursor}`);
        await account.must(
          400,
          'GET',
          `/v1/permissions?external_id=call-2&limit=2&cursor=${body.next_cursor}`,
        );
      }
      cursor = body.next_cursor ? `&cursor=${body.next_cursor}` : '';
    } while (cursor);
    expect(seen).toHaveLength(5);
    expect(new Set(seen).size).toBe(5);
  });

  it('is of no use to an inactive agent', async () => {
    const { account, agent } = await makeAgent();
    await agent.must(201, 'POST', '/v1/permissions', ASKED);
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: false });
    await agent.must(403, 'POST', '/v1/permissions', ASKED);
  });

  it('is refused for every other caller', async () => {
    const { world, account, agent } = await makeAgent();
    const body = { ...ACT, external_id: 'x' };
    const { id } = (await agent.must(201, 'POST', '/v1/permissions', body)).body;
    expect((await account.call('POST', '/v1/permissions', body)).body.code).toBe(
      'wrong_credential',
    );
    expect((await world.call('POST', '/v1/permissions', { body })).status).toBe(401);
    expect(
      (await world.call('POST', '/v1/permissions', { token: world.env.ADMIN_TOKEN ?? '', body }))
        .status,
    ).toBe(403);
    const raw = '{"external_id":"x"';
    expect(
      (await world.call('POST', '/v1/permissions', { raw, headers: JSON_HEADERS })).status,
    ).toBe(401);
    for (const raw of [
      '{"external_id":"x"',
      '[]',
      'null',
      '{"external_id":["x"]}',
      '{"external_id":"x\\u0000"}',
    ]) {
      const answer = await world.call('POST', '/v1/permissions', {
        token: agent.key,
        raw,
        headers: JSON_HEADERS,
      });
      expect(answer.status).toBe(400);
    }
    const stranger = await (await world.account()).agent();
    expect((await stranger.must(201, 'POST', '/v1/permissions', body)).body.id).not.toBe(id);
    expect(
      (await stranger.must(200, 'GET', '/v1/permissions?external_id=x')).body.data,
    ).toHaveLength(1);
    await stranger.must(404, 'GET', `/v1/permissions/${id}`);
  });

  it('is answered with the headers of an authenticated answer', async () => {
    const { agent } = await makeAgent();
    const body = { ...ACT, external_id: '~!"#%&+/?\\' };
    await agent.must(201, 'POST', '/v1/permissions', body);
    const { headers } = await agent.must(200, 'POST', '/v1/permissions', body);
    expect([
      headers.get('Cache-Control'),
      headers.get('Location'),
      headers.get('Idempotent-Replayed'),
    ]).toEqual(['no-store', null, null]);
    expect(headers.get('X-Request-Id')).toMatch(/^req_/);
    const filter = encodeURIComponent(body.external_id);
    expect(
      (await agent.must(200, 'GET', `/v1/permissions?external_id=${filter}`)).body.data,
    ).toHaveLength(1);
    for (const odd of ['', '%00', '%20', 'x'.repeat(300)]) {
      const { status, body } = await agent.call('GET', `/v1/permissions?external_id=${odd}`);
      expect([200, 400]).toContain(status);
      if (status === 200) expect(body.data).toEqual([]);
    }
  });

  it('finds a request with the digest alone by its input', async () => {
    const { agent } = await makeAgent();
    const input_digest = await digestOf({ a: 1 });
    const first = await agent.must(201, 'POST', '/v1/permissions', {
      ...ACT,
      input_digest,
      external_id: 'x',
    });
    const second = await agent.must(200, 'POST', '/v1/permissions', {
      ...ACT,
      input: { a: 1 },
      external_id: 'x',
    });
    expect(second.text).toBe(first.text);
    await agent.must(409, 'POST', '/v1/permissions', { ...ACT, external_id: 'x' });
    await agent.must(409, 'POST', '/v1/permissions', { ...ACT, input: null, external_id: 'x' });
  });
});
