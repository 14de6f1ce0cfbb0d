import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { toHex } from '../src/lib/bytes';
import { type Id, idBytes } from '../src/lib/typeid';
import { sealLogs } from './support/seal';
import { type TestAccount, World } from './support/world';

const MAX_PENDING = 10_000;
const MAX_LOG_LENGTH = 5_000_000;
const WISH = { action: 'file.read', resource: 'file:a' };
const refusal = [409, 'conflict'];

/** How many permissions of an account are counted as pending, and how many are. */
async function pending(account: TestAccount): Promise<[counted: number, there: number]> {
  const id = toHex(idBytes(account.id as Id<'user'>));
  const owner = `(select number from accounts where id = x'${id}')`;
  const [counted, there] = await env.DB.batch<{ n: number }>([
    env.DB.prepare(
      `select coalesce(sum(count), 0) as n from pending_permissions where account = ${owner} and agent = 0`,
    ),
    env.DB.prepare(`select count(*) as n from permissions where account = ${owner} and status = 0`),
  ]);
  return [counted?.results[0]?.n ?? -1, there?.results[0]?.n ?? -1];
}

/** Lets an account have so many more pending permissions, copies of one that it has. */
async function addPending(count: number): Promise<void> {
  await env.DB.prepare(
    `with recursive n(value) as (select 1 union all select value + 1 from n where value < ?)
     insert into permissions
     select account, randomblob(16), agent, action, resource, scope, reason, token_ttl, max_uses, status, granted_scope,
       decided_by, decided_at, decision_reason, policy_id, token_status, token_max_uses, token_uses, token_issued_at,
       token_expires_at, token_key_id, last_entry, expires_at, created_at, updated_at
     from (select * from permissions where status = 0 order by account desc limit 1), n`,
  )
    .bind(count)
    .run();
}

it('lets no more than 10,000 requests of an account be pending, and one more as soon as one is decided', async () => {
  const account = await new World().account();
  const agent = await account.agent();
  const { id } = await agent.request();
  await addPending(MAX_PENDING - 2);
  await agent.request();
  const refused = await agent.call('POST', '/v1/permissions', WISH);
  expect([refused.status, refused.body.code]).toEqual(refusal);
  expect(await pending(account)).toEqual([MAX_PENDING, MAX_PENDING]);
  const other = await new World().account();
  await (await other.agent()).request();
  await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
  await agent.request();
  expect((await agent.call('POST', '/v1/permissions', WISH)).status).toBe(409);
});

it('lets a policy decide a request at once, however many are pending', async () => {
  const account = await new World().account();
  const agent = await account.agent();
  await agent.request();
  await addPending(MAX_PENDING - 1);
  expect((await agent.call('POST', '/v1/permissions', WISH)).status).toBe(409);
  const policy = { name: 'Files', effect: 'approve', actions: ['file.*'], resources: ['*'] };
  await account.must(201, 'POST', '/v1/policies', policy);
  expect((await agent.must(201, 'POST', '/v1/permissions', WISH)).body.status).toBe('approved');
});

it('counts what is pending however it ends: decided, run out, or erased with its agent', async () => {
  const world = new World();
  const account = await world.account();
  const [agent, gone] = [await account.agent(), await account.agent()];
  const ids = [];
  for (let i = 0; i < 6; i++) ids.push((await agent.request({ expires_in: 60 + i })).id);
  await Promise.all([gone.request(), gone.request()]);
  expect(await pending(account)).toEqual([8, 8]);
  await account.must(200, 'POST', `/v1/permissions/${ids[0]}/approve`);
  await account.must(200, 'POST', `/v1/permissions/${ids[1]}/deny`);
  expect(await pending(account)).toEqual([6, 6]);
  world.advance(63_000);
  await world.sweep();
  expect(await pending(account)).toEqual([4, 4]);
  await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
  await sealLogs(env.DB);
  await world.sweep();
  expect(await pending(account)).toEqual([2, 2]);
});

it('asks and uses nothing once the log is full, while what was asked for can still be ended', async () => {
  const account = await new World().account();
  const agent = await account.agent();
  const [approved, open, other] = [await agent.approved({ max_uses: 5 }), await agent.request(), await agent.request()];
  // The newest entry takes the last place but one.
  const own = `pos / 4294967296 = (select max(number) from accounts)`;
  await env.DB.prepare(
    `update audit_entries set pos = (select min(pos) from audit_entries where ${own}) + ?
     where pos = (select max(pos) from audit_entries where ${own})`,
  )
    .bind(MAX_LOG_LENGTH - 2)
    .run();
  await agent.must(201, 'POST', '/v1/permissions', WISH);
  for (const [path, body] of [
    ['/v1/permissions', WISH],
    ['/v1/tokens/use', { token: approved.token.value }],
  ] as const) {
    const { status, body: problem } = await agent.call('POST', path, body);
    expect([status, problem.code]).toEqual(refusal);
  }
  await account.must(200, 'POST', `/v1/permissions/${open.id}/deny`);
  await account.must(200, 'POST', `/v1/permissions/${other.id}/approve`);
  await agent.must(200, 'POST', '/v1/tokens/revoke', { token: approved.token.value });
  const last = (await account.log()).slice(-4).map(({ event_type }) => event_type);
  expect(last).toEqual(['request', 'deny', 'approve', 'revoke']);
});
