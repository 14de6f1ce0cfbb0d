import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { JOB_SIZES, type JobSizes } from '../src/files/job';
import { download, fillLog, finishFile, listObjects, readExport, sha256, startExport } from './support/exports';
import { Outage, type OutageMode } from './support/outage';
import { deliver } from './support/queue';
import { emptyTables } from './support/tables';
import { type Json, type TestAccount, World } from './support/world';

const SECOND = 1_000;
const MIB = 2 ** 20;

/** Small slices, so that a job has many boundaries. */
const SMALL: JobSizes = { part: 5 * MIB, sliceRows: 700, sliceBytes: 4 * MIB, slices: 2, batchRows: 700 };

beforeEach(async () => {
  await emptyTables(env.DB);
  await env.FILES.delete(await listObjects());
});

interface Scene {
  world: World;
  account: TestAccount;
  outage: Outage;
}

/** An account whose log is some slices long; its file is of more than one part in CSV and in Parquet. */
async function makeScene(entries = 2_200, size = 5_000): Promise<Scene> {
  const outage = new Outage();
  const world = new World({ DB: outage.database(env.DB), FILES: outage.bucket(env.FILES) });
  const account = await world.account({ plan: 'enterprise' });
  await fillLog(await account.agent(), entries, size);
  return { world, account, outage };
}

/** Undisturbed, in one go. */
async function makeReference({ account, world }: Scene, fields: Json): Promise<string> {
  const id = await startExport(account, fields);
  await world.work();
  const { sha256: hash, download_url } = await readExport(account, id);
  const { bytes } = await download(world, download_url);
  expect(await sha256(bytes)).toBe(hash);
  return hash;
}

/** Deletes what the job left behind when all went well. */
async function expectOneObject(id: string): Promise<void> {
  expect(await listObjects()).toEqual([`files/${id}/file`]);
  await env.FILES.delete(`files/${id}/file`);
}

const MODES: OutageMode[] = ['before', 'after', 'kill before', 'kill after'];

describe.each<[string, Json, number, number, OutageMode[]]>([
  ['csv', { format: 'csv', include_details: true }, 2_200, 5_000, MODES],
  ['json, without a part', { format: 'json' }, 2_200, 10, MODES],
  ['parquet', { format: 'parquet', include_details: true }, 3_000, 3_400, ['kill after']],
])('%s', (_, fields, entries, size, modes) => {
  it('is the same file however the work is cut', { timeout: 120_000 }, async () => {
    const scene = await makeScene(entries, size);
    const reference = await makeReference(scene, fields);
    const cuts: JobSizes[] = [
      SMALL,
      { ...SMALL, slices: 1, sliceRows: 1 },
      { ...JOB_SIZES, part: 6 * MIB, batchRows: 1_000 },
      { ...SMALL, batchRows: 99, slices: 100 },
    ];
    for (const sizes of cuts) {
      const id = await startExport(scene.account, fields);
      await scene.world.work(sizes);
      expect((await readExport(scene.account, id)).sha256).toBe(reference);
    }
  });

  it.each(modes)('is the same file when any one call fails (%s)', { timeout: 300_000 }, async (mode) => {
    const scene = await makeScene(entries, size);
    const reference = await makeReference(scene, fields);
    await env.FILES.delete(await listObjects());
    const { outage, account, world } = scene;
    const calls = await countCalls(scene, fields);
    expect(calls).toBeGreaterThan(8);
    for (let call = 1; call <= calls; call++) {
      const id = await startExport(account, fields);
      const message = world.queue.take();
      outage.arm({ call, mode });
      await deliver(message, world.env, world.runtime, SMALL);
      await world.work(SMALL);
      outage.arm(null);
      const shown = await finishFile(world, () => readExport(account, id), SMALL);
      expect([call, shown.status, shown.sha256]).toEqual([call, 'completed', reference]);
      await world.sweep();
      await expectOneObject(id);
    }
  });
});

async function countCalls({ outage, account, world }: Scene, fields: Json): Promise<number> {
  const id = await startExport(account, fields);
  outage.arm(null);
  await world.work(SMALL);
  const { calls } = outage;
  await expectOneObject(id);
  return calls;
}

const CSV = { format: 'csv', include_details: true };

describe('messages', () => {
  it('that are repeated, late, of nothing or of what is over do nothing', async () => {
    const { world, account } = await makeScene(300, 100);
    const id = await startExport(account);
    const [message] = world.queue.take();
    if (!message) throw new Error('no message');
    const strange = [
      { ...message, id: 'export_01h455vb4pex5vsknk084sn02q' },
      { ...message, id: message.id.replace('export_', 'report_') },
      { ...message, id: 'nonsense' },
      { ...message, account: 4_711 },
      { ...message, shard: 'zz' },
    ];
    const result = await deliver([...strange, message, message], world.env, world.runtime);
    expect(result.explicitAcks).toHaveLength(7);
    const shown = await readExport(account, id);
    expect(shown.status).toBe('completed');
    world.advance(SECOND);
    await deliver([message], world.env, world.runtime);
    expect(await readExport(account, id)).toEqual(shown);
  });

  it('fail and succeed each by itself', async () => {
    const { world, account, outage } = await makeScene(300, 100);
    const ids = [await startExport(account), await startExport(account)];
    const messages = world.queue.take();
    outage.arm({ call: 2, mode: 'before' });
    const result = await deliver(messages, world.env, world.runtime);
    expect([result.retryMessages.map(({ msgId }) => msgId), result.explicitAcks]).toEqual([['0'], ['1']]);
    outage.arm(null);
    expect((await readExport(account, ids[1] ?? '')).status).toBe('completed');
    await deliver(messages, world.env, world.runtime);
    expect((await readExport(account, ids[0] ?? '')).status).toBe('completed');
  });

  it('that two consumers take at once make one file', async () => {
    const scene = await makeScene();
    const reference = await makeReference(scene, CSV);
    await env.FILES.delete(await listObjects());
    const { world, account } = scene;
    const id = await startExport(account, CSV);
    const messages = world.queue.take();
    await Promise.all(Array.from({ length: 4 }, () => deliver(messages, world.env, world.runtime, SMALL)));
    await world.work(SMALL);
    expect((await readExport(account, id)).sha256).toBe(reference);
    await expectOneObject(id);
  });
});

it('resumes within 30 seconds of the next sweep after a crash', async () => {
  const scene = await makeScene();
  const { world, account, outage } = scene;
  const id = await startExport(account, CSV);
  outage.arm({ call: 9, mode: 'kill after' });
  await world.work(SMALL);
  outage.arm(null);
  world.advance(SECOND);
  await world.sweep();
  world.advance(30 * SECOND);
  await world.work(SMALL);
  expect((await readExport(account, id)).status).toBe('completed');
});

it('does not start over: what was done before a crash is not done again', async () => {
  const scene = await makeScene();
  const { world, account, outage } = scene;
  const fresh = await countCalls(scene, CSV);
  await startExport(account, CSV);
  outage.arm({ call: fresh - 6, mode: 'kill before' });
  await world.work(SMALL);
  outage.arm(null);
  world.advance(30 * SECOND);
  await world.sweep();
  outage.arm(null);
  await world.work(SMALL);
  expect(outage.calls).toBeLessThan(fresh / 2);
});

it('fails after ten attempts without progress, and leaves nothing behind', async () => {
  const scene = await makeScene();
  const { world, account, outage } = scene;
  const id = await startExport(account, CSV);
  // The first slices begin the upload; from then on the bucket takes nothing.
  await deliver(world.queue.take(), world.env, world.runtime, SMALL);
  world.queue.take();
  const bucket = { ...world.env.FILES, put: () => Promise.reject(new Error('put: We encountered an internal error.')) };
  const broken = { ...world.env, FILES: bucket as unknown as R2Bucket };
  const message = { shard: '00', account: await accountNumber(), id };
  for (let attempt = 1; attempt <= 10; attempt++) {
    expect((await deliver([message], broken, world.runtime, SMALL)).retryMessages).toHaveLength(1);
    expect((await readExport(account, id)).status).toBe('processing');
  }
  outage.arm(null);
  await deliver([message], broken, world.runtime, SMALL);
  expect(await readExport(account, id)).toMatchObject({ status: 'failed', error: 'processing_failed' });
  await world.sweep();
  expect(await listObjects()).toEqual([]);
  await startExport(account, CSV);
});

async function accountNumber(): Promise<number> {
  return (await env.DB.prepare('select max(number) as number from accounts').first<number>('number')) ?? 0;
}

describe('an agent or account that is deleted while its export is being made', () => {
  it.each(['agent', 'account'])('leaves nothing of it (%s)', { timeout: 120_000 }, async (what) => {
    for (let call = 2; call < 20; call += 3) {
      const { world, account, outage } = await makeScene();
      const id = await startExport(account, CSV);
      const { body: agents } = await account.must(200, 'GET', '/v1/agents');
      outage.arm({ call, mode: 'kill after' });
      await world.work(SMALL);
      outage.arm(null);
      if (what === 'agent') await account.must(204, 'DELETE', `/v1/agents/${agents.data[0].id}`);
      else await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: env.ADMIN_TOKEN });
      for (let minute = 0; minute < 2; minute++) {
        await world.sweep();
        await world.work(SMALL);
        world.advance(60 * SECOND);
      }
      await world.sweep();
      if (what === 'agent') expect((await readExport(account, id)).error).toBe('agent_deleted');
      const { results } = await env.DB.prepare('select status, due_at, upload_id from files').all();
      expect(results).toEqual(what === 'agent' ? [{ status: 2, due_at: null, upload_id: null }] : []);
      expect(await listObjects()).toEqual([]);
      await emptyTables(env.DB);
    }
  });
});
