import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { JOB_SIZES, type JobSizes } from '../../src/files/job-context';
import { download, fillLog, finishFile, listObjects, sha256 } from '../support/exports';
import { FAULTS_TIMEOUT, failingCalls, MODES, strideOf } from '../support/failing-calls';
import { Outage, type OutageMode } from '../support/outage';
import { readReport, startReport } from '../support/reports';
import { emptyTables } from '../support/tables';
import { type TestAccount, World } from '../support/world';

const SECOND = 1_000;

/** Slices of 40 entries. Each slice saves a checkpoint and has its own queue message. */
const SMALL: JobSizes = { ...JOB_SIZES, sliceRows: 1, batchRows: 10, slices: 1 };

beforeEach(async () => {
  await emptyTables(env.DB);
  await env.FILES.delete(await listObjects());
});

interface Scene {
  world: World;
  account: TestAccount;
  outage: Outage;
  /** A finished report. */
  id: string;
  reference: string;
}

async function makeScene(): Promise<Scene> {
  const outage = new Outage();
  const world = new World({ DB: outage.database(env.DB), FILES: outage.bucket(env.FILES) });
  const account = await world.account({ plan: 'enterprise' });
  const [agent, other] = [await account.agent(), await account.agent()];
  await other.approved();
  const { id: denied } = await agent.request();
  await account.must(200, 'POST', `/v1/permissions/${denied}/deny`);
  await fillLog(agent, 60, 10);
  // The ledger writes no decision without a decider.
  const decided = `update audit_entries set details = json_set(details, '$.decided_by', ?) where event in (1, 2)`;
  await env.DB.prepare(decided).bind(account.id).run();
  const id = await startReport(account);
  await world.work();
  const { sha256: reference } = await readReport(account, id);
  expect(reference).toHaveLength(64);
  return { world, account, outage, id, reference };
}

/** Resets the report to the state just after its request, with its queue message. */
async function resetReport({ world, id }: Scene): Promise<void> {
  await env.FILES.delete(await listObjects());
  await env.DB.prepare(
    `update files set status = 0, error = null, state = null, upload_id = null, lease = null, size = null, sha256 = null,
       completed_at = null, expires_at = null, attempts = 0, due_at = created_at`,
  ).run();
  world.now = Date.UTC(2026, 0, 31, 12);
  world.queue.waiting = [];
  const account = await env.DB.prepare('select account from files').first<number>('account');
  await world.queue.binding.send({ shard: '00', account: account ?? 0, id });
}

/** The number of calls that making a report takes. Leaves no row and no object. */
async function countCalls(): Promise<number> {
  const scene = await makeScene();
  await resetReport(scene);
  scene.outage.arm(null);
  await scene.world.work(SMALL);
  const { calls } = scene.outage;
  await emptyTables(env.DB);
  await env.FILES.delete(await listObjects());
  return calls;
}

it('a report is the same file for every slice size', async () => {
  const scene = await makeScene();
  const variants: Partial<JobSizes>[] = [
    {},
    { batchRows: 1 },
    { batchRows: 7, slices: 1 },
    { batchRows: 43, sliceRows: 1_000 },
  ];
  for (const variant of variants) {
    await resetReport(scene);
    await scene.world.work({ ...SMALL, ...variant });
    const { sha256: hash, download_url } = await readReport(scene.account, scene.id);
    expect([variant, hash]).toEqual([variant, scene.reference]);
    scene.world.advance(SECOND);
    expect(await sha256((await download(scene.world, download_url)).bytes)).toBe(hash);
  }
});

describe.each<OutageMode>(['kill before', 'kill after'])(
  'a report whose worker is killed at any call (%s)',
  (mode) => {
    it('is the same file, and leaves no other object', FAULTS_TIMEOUT, async () => {
      const scene = await makeScene();
      const { world, outage, id, reference } = scene;
      await resetReport(scene);
      outage.arm(null);
      await world.work(SMALL);
      const { calls } = outage;
      expect(calls).toBeGreaterThan(20);
      for (const call of failingCalls(calls, 6, MODES.indexOf(mode))) {
        await resetReport(scene);
        outage.arm({ call, mode });
        await world.work(SMALL);
        outage.arm(null);
        const shown = await finishFile(world, () => readReport(scene.account, id), SMALL);
        expect([call, shown.status, shown.sha256]).toEqual([call, 'completed', reference]);
        await world.sweep();
        expect(await listObjects()).toEqual([`files/${id}/file`]);
      }
    });
  },
);

it(
  'a report leaves no file if an agent is deleted at any point of the work',
  FAULTS_TIMEOUT,
  async () => {
    const ends = [];
    // The sample always includes the last call, which cleans up after a finished report.
    for (
      let call = 1, calls = await countCalls();
      call <= calls;
      call += Math.max(1, Math.min(strideOf(2), calls - call))
    ) {
      const scene = await makeScene();
      const { world, account, outage, id } = scene;
      const { body: agents } = await account.must(200, 'GET', '/v1/agents');
      await resetReport(scene);
      let isDone = false;
      outage.before(call, async () => {
        isDone = true;
        await account.must(204, 'DELETE', `/v1/agents/${agents.data[0].id}`);
      });
      await world.work(SMALL);
      expect([call, isDone]).toEqual([call, true]);
      const { status, error } = await readReport(account, id);
      ends.push(`${status} ${error}`);
      for (let minute = 0; minute < 2; minute++) {
        world.advance(60 * SECOND);
        await world.sweep();
        await world.work(SMALL);
      }
      expect([call, await listObjects()]).toEqual([call, []]);
      await emptyTables(env.DB);
    }
    // Reports that are deleted after their completion expire.
    expect(new Set(ends)).toEqual(new Set(['failed agent_deleted', 'expired null']));
    expect(ends.indexOf('expired null')).toBeGreaterThan(3);
  },
);
