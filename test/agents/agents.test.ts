import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { type Json, World } from '../support/world';

const NO_NOTIFICATIONS = 'agent_01h455vb4pex5vsknk084sn02q';

describe('an agent', () => {
  it('shows its key when it is created, and never again', async () => {
    const account = await new World().account();
    const fields = {
      name: '  Mailer ',
      description: ' Sends mail. ',
      metadata: { team: 'support' },
    };
    const { body, headers } = await account.must(201, 'POST', '/v1/agents', fields);
    const { api_key, ...agent } = body;
    expect(api_key).toMatch(/^csa_00[0-9A-Za-z]{38}$/);
    expect(headers.get('Location')).toBe(`/v1/agents/${body.id}`);
    expect(agent).toEqual({
      id: expect.stringMatching(/^agent_[0-9a-hjkmnp-tv-z]{26}$/),
      name: 'Mailer',
      description: 'Sends mail.',
      api_key_prefix: api_key.slice(0, 12),
      metadata: { team: 'support' },
      is_active: true,
      owner_id: null,
      created_at: '2026-01-31T12:00:00.000Z',
      updated_at: '2026-01-31T12:00:00.000Z',
    });
    const shown = { ...agent, last_activity_at: null };
    const path = `/v1/agents/${body.id}`;
    const answers = [
      await account.must(200, 'GET', path),
      await account.must(200, 'PUT', path, { name: 'Mailer' }),
    ];
    for (const answer of answers) expect(answer.body).toEqual(shown);
    const list = await account.must(200, 'GET', '/v1/agents');
    expect(list.body).toEqual({ data: [shown], has_more: false, next_cursor: null });
    for (const { text } of [...answers, list]) expect(text).not.toContain(api_key.slice(12));
  });

  it('needs only a name', async () => {
    const account = await new World().account();
    const { body } = await account.must(201, 'POST', '/v1/agents', { name: 'x' });
    expect(body).not.toHaveProperty('description');
    expect(body.metadata).toEqual({});
    expect((await account.must(200, 'GET', `/v1/agents/${body.id}`)).body).not.toHaveProperty(
      'description',
    );
  });

  it('is updated only in the given fields and its update time', async () => {
    const account = await new World().account();
    const agent = await account.agent({ description: 'Before', metadata: { a: 1 } });
    const path = `/v1/agents/${agent.id}`;
    const before = (await account.must(200, 'GET', path)).body;
    account.world.advance(5);
    const renamed = (await account.must(200, 'PUT', path, { name: ' After ' })).body;
    expect(renamed).toEqual({ ...before, name: 'After', updated_at: '2026-01-31T12:00:00.005Z' });
    const described = (await account.must(200, 'PUT', path, { description: ' After ' })).body;
    expect(described).toEqual({ ...renamed, description: 'After' });
    expect((await account.must(200, 'GET', path)).body).toEqual(described);
  });

  it.each([null, '', '   '])('has no description after it is set to %j', async (description) => {
    const account = await new World().account();
    const agent = await account.agent({ description: 'Before' });
    const { body } = await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { description });
    expect(body).not.toHaveProperty('description');
  });

  it('has its metadata replaced as a whole', async () => {
    const account = await new World().account();
    const agent = await account.agent({ metadata: { a: { b: 1 }, c: 2 } });
    const { body } = await account.must(200, 'PUT', `/v1/agents/${agent.id}`, {
      metadata: { a: { d: [] } },
    });
    expect(body.metadata).toEqual({ a: { d: [] } });
    const { body: emptied } = await account.must(200, 'PUT', `/v1/agents/${agent.id}`, {
      metadata: {},
    });
    expect(emptied.metadata).toEqual({});
  });

  it('keeps every key of its metadata, whatever its name', async () => {
    const account = await new World().account();
    const metadata =
      '{"__proto__":{"a":1},"constructor":"x","":[null,true,-0.5,"é😀\\u2028"],"toString":1}';
    const { body, text } = await account.world.must(201, 'POST', '/v1/agents', {
      token: account.token,
      raw: `{"name":"x","metadata":${metadata}}`,
      headers: { 'Content-Type': 'application/json' },
    });
    const read = await account.must(200, 'GET', `/v1/agents/${body.id}`);
    for (const answer of [text, read.text])
      expect(JSON.stringify(JSON.parse(answer).metadata)).toBe(
        JSON.stringify(JSON.parse(metadata)),
      );
    expect(Object.keys(read.body.metadata)).toContain('__proto__');
  });

  it('has a name whose length is counted in code points', async () => {
    const account = await new World().account();
    const { body } = await account.must(201, 'POST', '/v1/agents', {
      name: ` ${'😀'.repeat(255)} `,
    });
    expect(body.name).toBe('😀'.repeat(255));
    const longer = await account.call('POST', '/v1/agents', { name: '😀'.repeat(256) });
    expect([longer.status, longer.body.errors]).toEqual([
      400,
      [{ path: 'body.name', message: expect.any(String) }],
    ]);
  });

  it('cannot be updated without fields', async () => {
    const account = await new World().account();
    const agent = await account.agent();
    const answer = await account.call('PUT', `/v1/agents/${agent.id}`, {});
    expect([answer.status, answer.body.code, answer.body.errors[0].path]).toEqual([
      400,
      'invalid_request',
      'body',
    ]);
  });

  it('is not found by a malformed, foreign or unknown id', async () => {
    const world = new World();
    const [account, other] = [await world.account(), await world.account()];
    const agent = await other.agent();
    for (const id of [
      agent.id,
      NO_NOTIFICATIONS,
      agent.id.replace('agent', 'user'),
      agent.id.toUpperCase(),
      'x',
      '%00',
      '%ff',
    ]) {
      const answers = [
        await account.call('GET', `/v1/agents/${id}`),
        await account.call('PUT', `/v1/agents/${id}`, { name: 'Stolen' }),
        await account.call('DELETE', `/v1/agents/${id}`),
        await account.call('POST', `/v1/agents/${id}/rotate-key`),
        await account.call('GET', `/v1/agents/${id}/stats`),
      ];
      expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
        Array(5).fill([404, 'not_found']),
      );
    }
    expect((await other.must(200, 'GET', `/v1/agents/${agent.id}`)).body.name).toBe('Mailer');
    await agent.must(200, 'GET', '/v1/permissions');
  });

  it('gets agent_inactive while it is switched off', async () => {
    const account = await new World().account();
    const agent = await account.agent();
    const switchTo = (is_active: boolean) =>
      account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active });
    expect((await switchTo(false)).body.is_active).toBe(false);
    const answers = [
      await agent.call('GET', '/v1/permissions'),
      await agent.call('POST', '/v1/permissions', { action: 'a.b', resource: 'c:d' }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      Array(2).fill([403, 'agent_inactive']),
    );
    expect((await switchTo(true)).body.is_active).toBe(true);
    await agent.must(200, 'GET', '/v1/permissions');
  });

  it('records its last activity, at most once a minute', async () => {
    const account = await new World().account();
    const agent = await account.agent();
    const other = await account.agent();
    const lastActivity = async () =>
      (await account.must(200, 'GET', `/v1/agents/${agent.id}`)).body.last_activity_at;
    const { id } = await other.request();
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { name: 'Renamed' });
    expect(await lastActivity()).toBeNull();
    account.world.advance(10);
    await agent.must(404, 'GET', `/v1/permissions/${id}`);
    expect(await lastActivity()).toBe('2026-01-31T12:00:00.010Z');
    account.world.advance(59_999);
    await agent.request();
    expect(await lastActivity()).toBe('2026-01-31T12:00:00.010Z');
    account.world.advance(1);
    expect(await lastActivity()).toBe('2026-01-31T12:00:00.010Z');
    await agent.request();
    expect(await lastActivity()).toBe('2026-01-31T12:01:00.010Z');
    expect((await account.must(200, 'GET', `/v1/agents/${other.id}`)).body.last_activity_at).toBe(
      '2026-01-31T12:00:00.000Z',
    );
  });
});

describe('the agents of an account', () => {
  it('are listed newest first, 20 a page, while more are created', async () => {
    const account = await new World().account();
    const made: string[] = [];
    const create = async () => {
      account.world.advance(1);
      return (await account.agent()).id;
    };
    for (let i = 0; i < 23; i++) made.unshift(await create());
    const first = (await account.must(200, 'GET', '/v1/agents')).body;
    expect(first.data.map(({ id }: Json) => id)).toEqual(made.slice(0, 20));
    await create();
    await account.must(204, 'DELETE', `/v1/agents/${made[21]}`);
    const second = (await account.must(200, 'GET', `/v1/agents?cursor=${first.next_cursor}`)).body;
    expect(second.data.map(({ id }: Json) => id)).toEqual([made[20], made[22]]);
    expect([first.has_more, second.has_more, second.next_cursor]).toEqual([true, false, null]);
  });

  it('can be filtered by whether they are active', async () => {
    const account = await new World().account();
    const on: string[] = [];
    const off: string[] = [];
    for (let i = 0; i < 5; i++) {
      account.world.advance(1);
      const { id } = await account.agent();
      (i % 2 ? off : on).unshift(id);
    }
    for (const id of off) await account.must(200, 'PUT', `/v1/agents/${id}`, { is_active: false });
    const ids = async (query: string) =>
      (await account.must(200, 'GET', `/v1/agents?${query}`)).body.data.map(({ id }: Json) => id);
    expect(await ids('active=true')).toEqual(on);
    expect(await ids('active=false')).toEqual(off);
    const page = (await account.must(200, 'GET', '/v1/agents?active=true&limit=2')).body;
    expect(await ids(`active=true&cursor=${page.next_cursor}`)).toEqual(on.slice(2));
  });

  it('are at most 10,000', async () => {
    const account = await new World().account();
    const { id } = await account.agent();
    await env.DB.prepare(`
      with recursive n (i) as (select 2 union all select i + 1 from n where i < 9999)
      insert into agents (account, id, name, key_prefix, metadata, is_active, created_at, updated_at)
      select account, randomblob(16), 'x', 'csa_00000000', '{}', 1, 0, 0 from n, agents where id = unhex(?)
    `)
      .bind(idHex(id))
      .run();
    await account.must(201, 'POST', '/v1/agents', { name: 'The last' });
    const answer = await account.call('POST', '/v1/agents', { name: 'One too many' });
    expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
    await account.must(204, 'DELETE', `/v1/agents/${id}`);
    await account.must(201, 'POST', '/v1/agents', { name: 'In its place' });
  });
});

/** The bytes of an identifier, decoded from its digits. */
function idHex(id: string): string {
  const digits = '0123456789abcdefghjkmnpqrstvwxyz';
  let value = 0n;
  for (const digit of id.slice(id.indexOf('_') + 1))
    value = value * 32n + BigInt(digits.indexOf(digit));
  return value.toString(16).padStart(32, '0');
}
