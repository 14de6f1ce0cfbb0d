import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { checkErasure } from '../support/erasure';
import { checkIntegrity } from '../support/integrity';
import { Outage } from '../support/outage';
import { sealLogs } from '../support/seal';
import { countRows, emptyTables } from '../support/tables';
import { type Json, type TestAccount, World } from '../support/world';

beforeEach(() => emptyTables(env.DB));

/** An agent with a history: a token in use, a denied and a pending request, and a replaced key. */
async function makeHistory(account: TestAccount) {
  const agent = await account.agent();
  const approved = await agent.approved({ max_uses: 5 });
  await agent.must(200, 'POST', '/v1/tokens/use', { token: approved.token.value });
  const denied = await agent.request();
  await account.must(200, 'POST', `/v1/permissions/${denied.id}/deny`);
  const pending = await agent.request();
  const { api_key } = (await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`)).body;
  return {
    agent,
    keys: [agent.key, api_key],
    approved,
    permissions: [approved.id, denied.id, pending.id],
    pending,
  };
}

async function deleteAgent(account: TestAccount, id: string) {
  const { text, headers } = await account.must(204, 'DELETE', `/v1/agents/${id}`);
  expect([text, headers.get('Content-Type')]).toEqual(['', null]);
}

describe('a deleted agent', () => {
  it('is not found or listed', async () => {
    const account = await new World().account();
    const { agent } = await makeHistory(account);
    await deleteAgent(account, agent.id);
    const path = `/v1/agents/${agent.id}`;
    await account.must(404, 'GET', path);
    await account.must(404, 'PUT', path, { is_active: true });
    await account.must(404, 'POST', `${path}/rotate-key`);
    await account.must(404, 'GET', `${path}/stats`);
    await account.must(404, 'DELETE', path);
    expect((await account.must(200, 'GET', '/v1/agents')).body.data).toEqual([]);
  });

  it('has no valid key', async () => {
    const account = await new World().account();
    const { agent, keys } = await makeHistory(account);
    await deleteAgent(account, agent.id);
    for (const token of keys) {
      const { status, body } = await account.world.call('GET', '/v1/permissions', { token });
      expect([status, body.code]).toEqual([401, 'unauthorized']);
    }
  });

  it('has no permission that can be read, listed or decided', async () => {
    const account = await new World().account();
    const { agent, permissions, pending } = await makeHistory(account);
    await deleteAgent(account, agent.id);
    for (const id of permissions) await account.must(404, 'GET', `/v1/permissions/${id}`);
    await account.must(404, 'POST', `/v1/permissions/${pending.id}/approve`);
    await account.must(404, 'POST', `/v1/permissions/${pending.id}/deny`);
    const filters = [
      '',
      `?agent_id=${agent.id}`,
      '?status=pending',
      '?status=approved',
      '?action=email.send',
    ];
    for (const filter of filters) {
      const { body } = await account.must(200, 'GET', `/v1/permissions${filter}`);
      expect(body).toEqual({ data: [], has_more: false, next_cursor: null });
    }
  });

  it('has no token that can be used or revoked', async () => {
    const account = await new World().account();
    const { agent, approved } = await makeHistory(account);
    await deleteAgent(account, agent.id);
    const use = await account.call('POST', '/v1/tokens/use', { token: approved.token.value });
    expect([use.status, use.body.code, use.body.reason]).toEqual([
      409,
      'token_not_active',
      'unknown',
    ]);
    await account.must(200, 'POST', '/v1/tokens/revoke', { token: approved.token.value });
    expect(await account.log()).toEqual([]);
  });

  it('has no audit entry that can be read', async () => {
    const account = await new World().account();
    const { agent, permissions } = await makeHistory(account);
    const entries = await account.log();
    expect(entries).toHaveLength(6);
    await deleteAgent(account, agent.id);
    for (const { id } of entries) await account.must(404, 'GET', `/v1/audit/${id}`);
    const filters = [
      '',
      `&agent_id=${agent.id}`,
      `&permission_id=${permissions[0]}`,
      '&event_type=use',
    ];
    for (const filter of filters) expect(await account.log(filter)).toEqual([]);
  });
});

it('the sweep erases every row of a deleted agent, except records that are kept', async () => {
  const account = await new World().account();
  const before = await countHistory();
  const { agent } = await makeHistory(account);
  await deleteAgent(account, agent.id);
  await sealLogs(env.DB);
  await account.world.sweep();
  expect(await countHistory()).toEqual(before);
});

it.runIf(depth.isDeep)(
  'the sweep erases a history that is longer than a slice, and nothing of another agent',
  async () => {
    const account = await new World().account();
    const kept = await makeHistory(account);
    await sealLogs(env.DB);
    const before = await countHistory();
    const agent = await account.agent();
    for (let i = 0; i < 9; i++)
      await Promise.all(Array.from({ length: 50 }, () => agent.request()));
    const log = await account.log(`&agent_id=${kept.agent.id}`);
    expect(log.length).toBe(6);
    await deleteAgent(account, agent.id);
    expect(await account.log()).toEqual(log);
    await sealLogs(env.DB);
    await account.world.sweep();
    expect(await countHistory()).toEqual(before);
    expect(await account.log()).toEqual(log);
    expect(await checkIntegrity(env.DB)).toEqual([]);
    expect(await checkErasure(env.DB)).toEqual([]);
  },
);

it.runIf(depth.isDeep)(
  'the sweep erases the entries and settled permissions of deleted agents only after they are sealed',
  async () => {
    const outage = new Outage();
    const world = new World({ DB: outage.database(env.DB) });
    const account = await world.account();
    const before = await countHistory();
    for (let i = 0; i < 60; i++) {
      const agent = await account.agent();
      await agent.request();
      const denied = await agent.request();
      await account.must(200, 'POST', `/v1/permissions/${denied.id}/deny`);
      await deleteAgent(account, agent.id);
    }
    for (let run = 1; run <= 2; run++) {
      outage.arm(null);
      await env.DB.prepare('update trees set due_at = null').run();
      await world.sweep();
      expect(outage.calls).toBeLessThan(35);
    }
    const { audit_entries, permissions, pending_permissions, erasures } = await countRows(env.DB);
    // What is pending counts against the account's quota, so it does not wait.
    expect([audit_entries, permissions, pending_permissions, erasures]).toEqual([180, 60, 0, 60]);
    expect(await account.log()).toEqual([]);
    await env.DB.prepare('update trees set due_at = 0').run();
    await sealAndSweep(world);
    const { trees: _, ...left } = await countHistory();
    expect([left, await checkErasure(env.DB)]).toEqual([before, []]);
  },
);

describe('after an agent is deleted, the log of the account continues', () => {
  const sweeps = [
    { swept: 'before the sweep', sweep: async () => undefined },
    { swept: 'after the sweep', sweep: sealAndSweep },
  ];

  it.each(sweeps)('without using a sequence twice, $swept', async ({ sweep }) => {
    const account = await new World().account();
    const kept = await makeHistory(account);
    const { agent } = await makeHistory(account);
    await deleteAgent(account, agent.id);
    await sweep(account.world);
    await account.must(200, 'POST', `/v1/permissions/${kept.pending.id}/approve`);
    const sequences = (await account.log()).map(({ sequence }: Json) => sequence);
    expect(sequences).toEqual([1, 2, 3, 4, 5, 6, 13]);
  });

  it.each(sweeps)('even if it has no other entries, $swept', async ({ sweep }) => {
    const account = await new World().account();
    const { agent } = await makeHistory(account);
    await deleteAgent(account, agent.id);
    await sweep(account.world);
    await (await account.agent()).request();
    expect((await account.log()).map(({ sequence }: Json) => sequence)).toEqual([7]);
  });

  it.each(sweeps)('without time running backwards, $swept', async ({ sweep }) => {
    const account = await new World().account();
    const { agent } = await makeHistory(account);
    await deleteAgent(account, agent.id);
    await sweep(account.world);
    account.world.advance(-5_000);
    await (await account.agent()).request();
    expect((await account.log()).map(({ created_at }: Json) => created_at)).toEqual([
      '2026-01-31T12:00:00.000Z',
    ]);
  });
});

it('deleting an agent erases no data of another agent', async () => {
  const account = await new World().account();
  const [{ agent }, other] = [await makeHistory(account), await makeHistory(account)];
  const path = `/v1/permissions?agent_id=${other.agent.id}`;
  const before = (await account.must(200, 'GET', path)).text;
  await deleteAgent(account, agent.id);
  await sealLogs(env.DB);
  await account.world.sweep();
  expect((await account.must(200, 'GET', path)).text).toBe(before);
  expect(await account.log()).toHaveLength(6);
  await other.agent.must(200, 'POST', '/v1/tokens/use', { token: other.approved.token.value });
});

it('pages of permissions skip a deleted agent before its history is erased', async () => {
  const account = await new World().account();
  const [kept, gone] = [await account.agent(), await account.agent()];
  const first = await kept.request();
  account.world.advance(1);
  for (let i = 0; i < 3; i++) await gone.request();
  await deleteAgent(account, gone.id);
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await account.must(200, 'GET', `/v1/permissions?limit=2${cursor}`);
    seen.push(...body.data.map(({ id }: Json) => id));
    if (!body.has_more) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  expect(seen).toEqual([first.id]);
});

async function sealAndSweep(world: World): Promise<void> {
  await sealLogs(env.DB);
  await world.sweep();
}

/**
 * Counts the rows of every table except those that outlive an agent: activity records, the log's
 * tree, the ranges of erased entries, and the account's counter of pending permissions.
 */
async function countHistory(): Promise<Record<string, number>> {
  const {
    activity: _,
    trees: __,
    erased_entries: ___,
    pending_permissions: ____,
    ...rows
  } = await countRows(env.DB);
  return rows;
}
