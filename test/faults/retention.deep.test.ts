import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openErasure } from '../support/agent-erasure';
import { agentNumbers, fillWithDenials } from '../support/bulk-log';
import { checkErasure } from '../support/erasure';
import { FAULTS_TIMEOUT, MODES, strideOf } from '../support/failing-calls';
import { Outage, type OutageMode } from '../support/outage';
import { sealLogs } from '../support/seal';
import { countRows, emptyTables } from '../support/tables';
import { type Json, type TestAccount, World } from '../support/world';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Enough for several slices. */
const ENTRIES = 450;

beforeEach(() => emptyTables(env.DB));

interface Scene {
  world: World;
  outage: Outage;
  account: TestAccount;
}

/** An account with two agents whose entries alternate. Its whole log is sealed. */
async function makeScene(): Promise<Scene & { agent: string }> {
  const outage = new Outage();
  const world = new World({ DB: outage.database(env.DB) });
  const account = await world.account({ plan: 'free' });
  const [first, second] = [await account.agent(), await account.agent()];
  const { id } = await second.request();
  await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
  await fillWithDenials(env.DB, ENTRIES, await agentNumbers(env.DB));
  world.advance(1);
  await sealLogs(env.DB);
  return { world, outage, account, agent: first.id };
}

/**
 * Lets calls of `work` fail, one per run, and checks the data immediately after the failure and at
 * the end.
 */
async function failEachCall(
  mode: OutageMode,
  prepare: (scene: Scene & { agent: string }) => Promise<unknown>,
  work: (world: World) => Promise<void>,
  expectEnd: (scene: Scene) => Promise<void>,
): Promise<void> {
  // The first run has no failure and counts the calls. In each later run a single call fails.
  for (let call = 1, calls = 1; call <= calls; call += call === 1 ? 1 : strideOf(10)) {
    await emptyTables(env.DB);
    const scene = await makeScene();
    await prepare(scene);
    if (call === 1) {
      scene.outage.arm(null);
      await work(scene.world);
      await expectEnd(scene);
      calls = scene.outage.calls;
      expect(calls).toBeGreaterThan(8);
      continue;
    }
    scene.outage.arm({ call, mode });
    await work(scene.world);
    scene.outage.arm(null);
    expect([call, await checkErasure(env.DB)]).toEqual([call, []]);
    for (let run = 1; run <= 2; run++) {
      scene.world.advance(HOUR);
      await work(scene.world);
      expect([call, await checkErasure(env.DB)]).toEqual([call, []]);
    }
    await expectEnd(scene);
  }
}

/**
 * Gives the first agent more tokens than one slice erases that are used in part and have outlived
 * their entries.
 */
async function addOutlivingPermissions(): Promise<void> {
  await env.DB.prepare(
    `insert into permissions (account, id, agent, action, resource, scope, token_ttl, max_uses, status, token_status,
       token_max_uses, token_uses, token_issued_at, token_expires_at, last_entry, expires_at, created_at, updated_at, erase_at)
     select account, randomblob(16), (select min(number) from agents where number > 1), action, resource, scope, token_ttl,
       max_uses, 1, 0, 2, 1, created_at, 9e15, 0, expires_at, created_at, updated_at, 9e15
     from permissions limit 250`,
  ).run();
}

async function remainingRows(): Promise<Json> {
  const { audit_entries, permissions, erasures } = await countRows(env.DB);
  return { audit_entries, permissions, erasures };
}

async function erasedSequences(): Promise<number> {
  const { results } = await env.DB.prepare('select ranges from erased_entries').all<{
    ranges: string;
  }>();
  const ranges = results.flatMap(({ ranges }) => JSON.parse(ranges) as [number, number][]);
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

describe.each(MODES)('after any call fails (%s)', FAULTS_TIMEOUT, (mode) => {
  it('retention resumes and erases each entry once', async () => {
    await failEachCall(
      mode,
      async ({ world }) => world.advance(7 * DAY),
      (world) => world.clean(),
      async () => {
        expect(await remainingRows()).toEqual({ audit_entries: 0, permissions: 0, erasures: 0 });
        expect(await erasedSequences()).toBe(ENTRIES + 2);
      },
    );
  });
});

describe.each<OutageMode>(['before', 'kill after'])(
  'after any call fails (%s)',
  FAULTS_TIMEOUT,
  (mode) => {
    it('the erasure of an agent resumes, and erases no entry of another agent', async () => {
      await failEachCall(
        mode,
        async ({ account, agent }) => {
          await addOutlivingPermissions();
          return account.must(204, 'DELETE', `/v1/agents/${agent}`);
        },
        (world) => world.sweep(),
        async ({ account }) => {
          expect(await remainingRows()).toEqual({
            ...{ audit_entries: ENTRIES / 2 + 2, permissions: ENTRIES / 2 + 1, erasures: 0 },
          });
          expect((await account.log()).length).toBe(ENTRIES / 2 + 2);
          expect(await erasedSequences()).toBe(ENTRIES / 2);
        },
      );
    });

    it('the erasure of an account resumes and leaves no row', async () => {
      await failEachCall(
        mode,
        ({ world, account }) =>
          world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, {
            token: env.ADMIN_TOKEN ?? '',
          }),
        (world) => world.sweep(),
        async ({ world }) => {
          // By then no sealer can still be sealing its log.
          world.advance(20 * 60_000);
          await world.sweep();
          expect(Object.entries(await countRows(env.DB)).filter(([, rows]) => rows > 0)).toEqual(
            [],
          );
        },
      );
    });
  },
);

describe('concurrent sweeps', FAULTS_TIMEOUT, () => {
  it('erase each expired entry once', async () => {
    const { world } = await makeScene();
    world.advance(7 * DAY);
    await Promise.all([world.clean(), world.clean(), world.clean()]);
    expect(await checkErasure(env.DB)).toEqual([]);
    world.advance(HOUR);
    await world.clean();
    expect(await remainingRows()).toEqual({ audit_entries: 0, permissions: 0, erasures: 0 });
    expect(await erasedSequences()).toBe(ENTRIES + 2);
  });

  it('erase each entry of an agent once, and record it once', async () => {
    // Another sweep runs right before one of the calls.
    for (let call = 1, isDone = true; isDone; call += strideOf(4)) {
      await emptyTables(env.DB);
      const { world, outage, account, agent } = await makeScene();
      await account.must(204, 'DELETE', `/v1/agents/${agent}`);
      isDone = false;
      outage.before(call, async () => {
        isDone = true;
        const other = new World();
        other.now = world.now;
        await other.sweep();
      });
      const failures = vi.spyOn(console, 'error');
      await world.sweep();
      expect([call, failures.mock.calls]).toEqual([call, []]);
      failures.mockRestore();
      expect([call, await checkErasure(env.DB), await erasedSequences()]).toEqual([
        call,
        [],
        ENTRIES / 2,
      ]);
    }
  });

  it('erase an agent even if another sweep erases a part of the same slice', async () => {
    const { world, outage, account, agent } = await makeScene();
    await account.must(204, 'DELETE', `/v1/agents/${agent}`);
    const slow = openErasure(world.env.DB, 'oldest', world.now);
    // A slice of several agents erases fewer entries of each agent.
    outage.before(2, async () => {
      for (const { id } of (await account.must(200, 'GET', '/v1/agents')).body.data) {
        await account.must(204, 'DELETE', `/v1/agents/${id}`);
      }
      await openErasure(env.DB, 'newest', world.now).eraseSlice();
    });
    await slow.eraseSlice();
    expect(await checkErasure(env.DB)).toEqual([]);
    await world.sweep();
    expect(await checkErasure(env.DB)).toEqual([]);
    expect([await remainingRows(), await erasedSequences()]).toEqual([
      { audit_entries: 0, permissions: 0, erasures: 0 },
      ENTRIES + 2,
    ]);
  });

  it('erase an agent while retention erases the same entries', async () => {
    const { world, account, agent } = await makeScene();
    await account.must(204, 'DELETE', `/v1/agents/${agent}`);
    world.advance(8 * DAY);
    await Promise.all([world.clean(), world.sweep(), world.clean(), world.sweep()]);
    expect(await checkErasure(env.DB)).toEqual([]);
    world.advance(HOUR);
    await sealLogs(env.DB);
    await world.clean();
    await world.sweep();
    expect(await checkErasure(env.DB)).toEqual([]);
    expect(await remainingRows()).toEqual({ audit_entries: 0, permissions: 0, erasures: 0 });
  });
});
