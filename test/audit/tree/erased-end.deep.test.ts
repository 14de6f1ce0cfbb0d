import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { TestBucket } from '../../support/bucket';
import { makeExport } from '../../support/exports';
import { emptyTables } from '../../support/tables';
import { addEntries, checkpointOf, expectSigned } from '../../support/tree';
import { type Json, type TestAccount, World } from '../../support/world';

const DAY = 24 * 60 * 60_000;

beforeEach(() => emptyTables(env.DB));

/**
 * A sealed log of 30 entries, whose newest two belong to another agent, in the second account of
 * the database.
 */
async function makeScene(fields: Record<string, unknown> = { plan: 'enterprise' }) {
  const bucket: TestBucket = new TestBucket(1, 1_000, () => world.now);
  const world: World = new World({ FILES: bucket.binding });
  const neighbour = await world.account({ plan: 'enterprise' });
  await addEntries(neighbour, 3);
  const account = await world.account(fields);
  await addEntries(account, 28);
  // Lists are ordered by time.
  world.advance(1_000);
  await addEntries(account, 2);
  await world.sweep();
  const head = await checkpointOf(account);
  expect(head.tree_size).toBe(30);
  return { world, neighbour, account, head };
}

/** Checks that the service still vouches for a log whose signed head has not changed. */
async function expectTrusted(account: TestAccount, head: Json): Promise<void> {
  const shown = await checkpointOf(account);
  expect(shown).toEqual(head);
  await expectSigned(account.world, shown);
  const { tree_size: size } = head;
  await account.must(200, 'GET', `/v1/audit/consistency?from=1&to=${size}`);
  for (const entry of await account.log())
    await account.must(200, 'GET', `/v1/audit/${entry.id}/proof`);
  const { shown: made } = await makeExport(account, { format: 'json', include_details: true });
  expect([made.status, made.proof_error ?? null]).toEqual(['completed', null]);
  expect(made.proof_url).toEqual(expect.any(String));
}

async function deleteAgents(account: TestAccount, count: number): Promise<void> {
  const { body } = await account.must(200, 'GET', '/v1/agents');
  for (const { id } of body.data.slice(0, count))
    await account.must(204, 'DELETE', `/v1/agents/${id}`);
  await account.world.sweep();
  await account.world.clean();
}

describe('the log of an account that is not the first', () => {
  it('is trusted after the agent with the newest entries is deleted, before and after a new entry', async () => {
    const { world, account, head, neighbour } = await makeScene();
    await deleteAgents(account, 1);
    expect((await account.log()).length).toBe(28);
    await expectTrusted(account, head);
    await addEntries(account, 1);
    const [newest] = (await account.log()).slice(-1);
    expect(newest.sequence).toBe(31);
    await world.sweep();
    const next = await checkpointOf(account);
    expect(next.tree_size).toBe(31);
    await expectTrusted(account, next);
    await expectTrusted(neighbour, await checkpointOf(neighbour));
  });

  it('is trusted after all of its agents are deleted', async () => {
    const { account, head } = await makeScene();
    await deleteAgents(account, 2);
    expect(await account.log()).toEqual([]);
    await expectTrusted(account, head);
  });

  it('is trusted after retention has erased every entry', async () => {
    const { world, account } = await makeScene({ plan: 'free' });
    // The requests expire, which appends the last entries.
    world.advance(8 * DAY);
    await world.sweep();
    await world.sweep();
    const head = await checkpointOf(account);
    world.advance(9 * DAY);
    await world.clean();
    await world.sweep();
    expect(await account.log()).toEqual([]);
    const rows = await env.DB.prepare(
      `select count(*) as n from audit_entries where pos / 4294967296 =
         (select max(number) from accounts)`,
    ).first<number>('n');
    expect(rows).toBe(0);
    await expectTrusted(account, head);
  });
});
