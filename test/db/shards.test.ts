import { env } from 'cloudflare:test';
import { beforeAll, expect, it } from 'vitest';
import '../support/shards';
import { encodeBase62 } from '../../src/lib/base62';
import { crc32 } from '../../src/lib/crc32';
import { countRows } from '../support/tables';
import { type TestAccount, World } from '../support/world';

const world = new World({ DB_01: env.DB_01 });
const operator = env.ADMIN_TOKEN;
let first: TestAccount;
let second: TestAccount;

beforeAll(async () => {
  await fill(env.DB_01);
  first = await world.account({ email: 'first@example.com' });
  await fill(env.DB);
  await fill(env.DB);
  world.advance(1);
  second = await world.account({ email: 'second@example.com' });
});

it('an account is created on the least full shard, which its credentials name', async () => {
  expect(first.token.slice(0, 6)).toBe('csu_00');
  expect(second.token.slice(0, 6)).toBe('csu_01');
  expect((await second.agent()).key.slice(0, 6)).toBe('csa_01');
});

it('all rows of an account are on its shard', async () => {
  const agent = await second.agent();
  await agent.approved();
  expect(await second.log()).toHaveLength(2);
  for (const table of ['accounts', 'user_tokens', 'agents', 'permissions', 'audit_entries']) {
    expect([table, await count(env.DB, table)]).toEqual([
      table,
      table === 'accounts' || table === 'user_tokens' ? 1 : 0,
    ]);
    expect(await count(env.DB_01, table)).toBeGreaterThan(0);
  }
});

it('the operator can list and change accounts on every shard', async () => {
  const page = await world.must(200, 'GET', '/v1/admin/users?limit=1', { token: operator });
  expect(page.body.data.map(({ id }: { id: string }) => id)).toEqual([second.id]);
  const rest = await world.must(
    200,
    'GET',
    `/v1/admin/users?limit=1&cursor=${page.body.next_cursor}`,
    {
      token: operator,
    },
  );
  expect(rest.body).toMatchObject({ data: [{ id: first.id }] });
  for (const { id, token } of [first, second]) {
    await world.must(200, 'PATCH', `/v1/admin/users/${id}`, {
      token: operator,
      body: { name: 'Renamed' },
    });
    expect((await world.must(200, 'GET', '/v1/me', { token })).body.name).toBe('Renamed');
    const { body } = await world.must(201, 'POST', `/v1/admin/users/${id}/tokens`, {
      token: operator,
      body: {},
    });
    expect(body.token.slice(4, 6)).toBe(token.slice(4, 6));
  }
});

it('a credential is valid only for its own shard', async () => {
  for (const shard of ['00', '02', 'zz']) {
    const body = `csu_${shard}${second.token.slice(6, -6)}`;
    await world.must(401, 'GET', '/v1/me', { token: body + encodeBase62(crc32(body), 6) });
  }
});

it('the sweep expires requests on every shard', async () => {
  for (const account of [first, second]) await (await account.agent()).request({ expires_in: 60 });
  world.advance(60_000);
  await world.sweep();
  for (const account of [first, second]) {
    expect((await account.log('&event_type=expire')).length).toBe(1);
  }
});

it('the sweep erases a deleted account on the second shard, and no other account', async () => {
  await world.must(202, 'DELETE', `/v1/admin/users/${second.id}`, { token: operator });
  await world.must(401, 'GET', '/v1/me', { token: second.token });
  await world.sweep();
  for (const table of [
    'accounts',
    'user_tokens',
    'agents',
    'agent_keys',
    'permissions',
    'audit_entries',
    'agent_statistics',
  ]) {
    expect([table, await count(env.DB_01, table)]).toEqual([table, 0]);
  }
  await world.must(200, 'GET', '/v1/me', { token: first.token });
});

async function fill(database: D1Database): Promise<void> {
  await database.batch([
    database.prepare('create table if not exists _filler (content blob)'),
    database.prepare('insert into _filler values (randomblob(1000000))'),
  ]);
}

async function count(database: D1Database, table: string): Promise<number> {
  return (await countRows(database))[table] ?? 0;
}
