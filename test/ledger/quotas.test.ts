import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { toHex } from '../../src/lib/bytes';
import { type Id, idBytes } from '../../src/lib/typeid';
import { copyPermission } from '../support/bulk-log';
import { sealLogs } from '../support/seal';
import { type TestAccount, type TestAgent, World } from '../support/world';

const MAX_PENDING = 10_000;
const MAX_PENDING_OF_AGENT = 1_000;
const MAX_LOG_LENGTH = 5_000_000;
const REQUEST = { action: 'file.read', resource: 'file:a' };

const numberOf = (table: 'accounts' | 'agents', id: string) =>
  `(select number from ${table} where id = x'${toHex(idBytes(id as Id<'user' | 'agent'>))}')`;

/** The stored count of an account's pending permissions, and their actual number. */
async function pending({ id }: TestAccount): Promise<[counted: number, actual: number]> {
  const owner = numberOf('accounts', id);
  const [counted, actual] = await env.DB.batch<{ n: number }>([
    env.DB.prepare(
      `select coalesce(sum(count), 0) as n from pending_permissions where account = ${owner}`,
    ),
    env.DB.prepare(`select count(*) as n from permissions where account = ${owner} and status = 0`),
  ]);
  return [counted?.results[0]?.n ?? -1, actual?.results[0]?.n ?? -1];
}

/** Sends a request that must be refused, and returns the detail of the problem. */
async function refusal(
  agent: TestAgent,
  path = '/v1/permissions',
  body: object = REQUEST,
): Promise<string> {
  const problem = (await agent.must(409, 'POST', path, body)).body;
  expect(problem.code).toBe('conflict');
  return problem.detail;
}

it('an agent can have 1,000 pending requests, which do not limit other agents', async () => {
  const account = await new World().account();
  const [agent, other] = [await account.agent(), await account.agent()];
  const { id } = await agent.request();
  await copyPermission(env.DB, agent.id, MAX_PENDING_OF_AGENT - 2);
  await agent.request();
  expect(await refusal(agent)).toContain('pending requests');
  await other.request();
  await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
  await agent.request();
  await refusal(agent);
});

it('an account can have 10,000 pending requests, which do not limit other accounts', async () => {
  const account = await new World().account();
  const agents = [];
  for (let i = 0; i < MAX_PENDING / MAX_PENDING_OF_AGENT; i++) {
    const agent = await account.agent();
    await agent.request();
    await copyPermission(env.DB, agent.id, MAX_PENDING_OF_AGENT - 1);
    agents.push(agent);
  }
  expect(await pending(account)).toEqual([MAX_PENDING, MAX_PENDING]);
  const late = await account.agent();
  expect(await refusal(late)).toContain('pending requests');
  await (await (await new World().account()).agent()).request();
  const [gone] = agents;
  await account.must(204, 'DELETE', `/v1/agents/${gone?.id}`);
  await sealLogs(env.DB);
  for (let sweep = 0; sweep < 3; sweep++) await account.world.sweep();
  expect(await pending(account)).toEqual([
    MAX_PENDING - MAX_PENDING_OF_AGENT,
    MAX_PENDING - MAX_PENDING_OF_AGENT,
  ]);
  await late.request();
});

it('a policy can decide a new request even if the agent has 1,000 pending ones', async () => {
  const account = await new World().account();
  const agent = await account.agent();
  await agent.request();
  await copyPermission(env.DB, agent.id, MAX_PENDING_OF_AGENT - 1);
  await refusal(agent);
  const policy = { name: 'Files', effect: 'approve', actions: ['file.*'], resources: ['*'] };
  await account.must(201, 'POST', '/v1/policies', policy);
  expect((await agent.must(201, 'POST', '/v1/permissions', REQUEST)).body.status).toBe('approved');
});

it('the count of pending permissions is correct after decisions, expiry and the deletion of an agent', async () => {
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

describe('a full log', () => {
  /** An account whose newest entry has the last sequence number of a full log, with an agent. */
  async function makeFull() {
    const account = await new World().account({ plan: 'enterprise' });
    const agent = await account.agent();
    const approved = await agent.approved({ max_uses: 5 });
    const [open, other] = [await agent.request(), await agent.request()];
    const own = `pos / 4294967296 = ${numberOf('accounts', account.id)}`;
    await env.DB.prepare(
      `update audit_entries set pos = (select min(pos) from audit_entries where ${own}) + ?
       where pos = (select max(pos) from audit_entries where ${own})`,
    )
      .bind(MAX_LOG_LENGTH - 2)
      .run();
    await agent.must(201, 'POST', '/v1/permissions', REQUEST);
    return { account, agent, approved, open, other };
  }

  it('refuses requests and uses, but accepts decisions and revocations', async () => {
    const { account, agent, approved, open, other } = await makeFull();
    expect(await refusal(agent)).toContain('audit log');
    expect(await refusal(agent, '/v1/tokens/use', { token: approved.token.value })).toContain(
      'audit log',
    );
    await account.must(200, 'POST', `/v1/permissions/${open.id}/deny`);
    await account.must(200, 'POST', `/v1/permissions/${other.id}/approve`);
    await agent.must(200, 'POST', '/v1/tokens/revoke', { token: approved.token.value });
    const last = (await account.log()).slice(-4).map(({ event_type }) => event_type);
    expect(last).toEqual(['request', 'deny', 'approve', 'revoke']);
  });

  it('accepts requests again after the entries of a deleted agent were erased', async () => {
    const { account, agent } = await makeFull();
    await refusal(agent);
    // The record of a deleted agent that filled the log.
    const owner = numberOf('accounts', account.id);
    await env.DB.prepare(
      `insert into erased_entries (id, account, reason, ranges, erased_at)
       values (${owner} * 4294967296 + 4000000, ${owner}, 0, '[[10,1000000],[2000000,4000000]]', 0)`,
    ).run();
    await agent.must(201, 'POST', '/v1/permissions', REQUEST);
  });
});
