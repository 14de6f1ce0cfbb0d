import { env } from 'cloudflare:test';
import { expect } from 'vitest';
import { startExport } from '../support/exports';
import { countRows } from '../support/tables';
import { makeWebhook } from '../support/webhooks';
import { DAY, HOUR, type Life, live, MINUTE, SMALL, testJob } from './jobs';

const operator = { token: env.ADMIN_TOKEN };

async function listAll(sql: string): Promise<unknown[]> {
  return (await env.DB.prepare(sql).all()).results;
}

/** Adds a webhook that has received the first part of the history and has the rest pending. */
async function addWebhook({ world, account, agents }: Life): Promise<void> {
  await makeWebhook(account);
  await live(agents[0]);
  await world.deliver();
  await live(agents[1]);
}

testJob({
  name: 'the sealing of logs',
  prepare: async ({ agents }) => {
    // More entries than fit in a tile.
    for (let i = 0; i < 60; i++)
      await Promise.all(agents.flatMap((agent) => [agent.request(), agent.request()]));
  },
  work: (world) => world.sweep(),
  expectEnd: async () => {
    const unsealed = `select account from trees
      where size < (select max(pos) % 4294967296 from audit_entries where pos / 4294967296 = account)`;
    expect(await listAll(unsealed)).toEqual([]);
  },
});

testJob({
  name: 'the expiry of requests and tokens',
  prepare: async (life) => {
    await addWebhook(life);
    life.world.advance(2 * HOUR);
  },
  work: (world) => world.sweep(),
  expectEnd: async () => {
    const due =
      'select id from permissions where status = 0 or (token_status = 0 and token_uses = 0)';
    expect(await listAll(due)).toEqual([]);
    return (await countRows(env.DB)).audit_entries;
  },
});

/** Lets the whole history of an account expire. */
async function expireHistory(life: Life): Promise<void> {
  const { world, account } = life;
  await addWebhook(life);
  await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
    ...operator,
    body: { plan: 'free' },
  });
  world.advance(DAY);
  await world.sweep();
  world.advance(MINUTE);
  await world.sweep();
  world.advance(8 * DAY);
}

async function expectNoHistory(): Promise<void> {
  const { audit_entries, permissions, activity } = await countRows(env.DB);
  expect([audit_entries, permissions, activity]).toEqual([0, 0, 0]);
}

testJob({
  name: 'retention',
  prepare: expireHistory,
  work: (world) => world.clean(),
  expectEnd: expectNoHistory,
});

testJob({
  name: 'overdue retention',
  prepare: async (life) => {
    await expireHistory(life);
    life.world.advance(DAY);
  },
  work: (world) => world.sweep(),
  expectEnd: expectNoHistory,
});

testJob({
  name: 'the erasure of an agent',
  prepare: async (life) => {
    await addWebhook(life);
    await life.account.must(204, 'DELETE', `/v1/agents/${life.agents[0].id}`);
  },
  work: (world) => world.sweep(),
  expectEnd: async () => {
    const { erasures, agents, audit_entries } = await countRows(env.DB);
    expect([erasures, agents]).toEqual([0, 2]);
    const orphans = 'select pos from audit_entries where agent not in (select number from agents)';
    expect([audit_entries === 0, await listAll(orphans)]).toEqual([false, []]);
  },
});

testJob({
  name: 'the deletion of an account',
  prepare: async (life) => {
    await addWebhook(life);
    await startExport(life.account, { format: 'json', include_details: true });
    await life.world.work(SMALL);
    await life.world.must(202, 'DELETE', `/v1/admin/users/${life.account.id}`, operator);
  },
  work: async (world) => {
    await world.sweep();
    world.advance(20 * MINUTE);
    await world.sweep();
  },
  expectEnd: async ({ account, bucket }) => {
    const { accounts, agents, erasures, files, trees, erased_entries, receivers, deliveries } =
      await countRows(env.DB);
    expect([accounts, agents, erasures, files, trees, erased_entries]).toEqual([1, 1, 0, 0, 1, 0]);
    expect([receivers, deliveries]).toEqual([0, 0]);
    expect(
      bucket.keys.filter((key) => key.includes(account.id) || key.startsWith('files/')),
    ).toEqual([]);
  },
});

testJob({
  name: 'the removal of old stored answers and agent keys',
  prepare: async ({ world, account, agents }) => {
    for (const key of ['first', 'second', 'third']) {
      const call = {
        token: account.token,
        headers: { 'Idempotency-Key': key },
        body: { name: 'Kept' },
      };
      await world.must(201, 'POST', '/v1/agents', call);
    }
    for (const { id } of agents) {
      await account.must(200, 'POST', `/v1/agents/${id}/rotate-key`, { grace_period: 60 });
    }
    world.advance(DAY);
  },
  work: (world) => world.sweep(),
  expectEnd: async () => {
    const { stored_answers, agent_keys, agents } = await countRows(env.DB);
    expect([stored_answers, agent_keys]).toEqual([0, agents]);
  },
});

testJob({
  name: 'the removal of old statistics',
  prepare: async ({ world }) => {
    world.advance(2 * HOUR);
    await world.sweep();
    world.advance(368 * DAY);
  },
  work: (world) => world.clean(),
  expectEnd: async () => {
    expect((await countRows(env.DB)).agent_statistics).toBe(0);
  },
});
