import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { JOB_SIZES, type JobSizes } from '../../src/files/job-context';
import { TestBucket } from '../support/bucket';
import {
  download,
  fillLog,
  finishFile,
  listObjects,
  readExport,
  sha256,
  startExport,
} from '../support/exports';
import { FAULTS_TIMEOUT, failingCalls, MODES, strideOf } from '../support/failing-calls';
import { Outage } from '../support/outage';
import { deliver } from '../support/queue';
import { emptyTables } from '../support/tables';
import { type Json, type TestAccount, World } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const KIB = 2 ** 10;
const MIB = 2 ** 20;

/** Small parts and slices, so that a job has many boundaries. */
const SMALL: JobSizes = {
  part: 16 * KIB,
  sliceRows: 20,
  sliceBytes: 12 * KIB,
  slices: 2,
  batchRows: 20,
};

beforeEach(() => emptyTables(env.DB));

interface Scene {
  world: World;
  account: TestAccount;
  outage: Outage;
  bucket: TestBucket;
}

/**
 * An account whose log takes several slices, and whose CSV export with details takes several upload
 * parts.
 */
async function makeScene(entries = 100, size = 500): Promise<Scene> {
  const outage = new Outage();
  const bucket = new TestBucket(16 * KIB);
  const world = new World({ DB: outage.database(env.DB), FILES: outage.bucket(bucket.binding) });
  const account = await world.account({ plan: 'enterprise' });
  await fillLog(await account.agent(), entries, size);
  return { world, account, outage, bucket };
}

/** The digest of an export that is made in one run without failures. */
async function makeReference(
  { account, world }: Pick<Scene, 'world' | 'account'>,
  fields: Json,
): Promise<string> {
  const id = await startExport(account, fields);
  await world.work();
  const { sha256: hash, download_url } = await readExport(account, id);
  const { bytes } = await download(world, download_url);
  expect(await sha256(bytes)).toBe(hash);
  return hash;
}

/** Checks that only the file and its proof (if it has one) are left, and deletes them. */
async function expectOneObject({ bucket }: Scene, id: string): Promise<void> {
  const [file, proof] = [`files/${id}/file`, `files/${id}/proof`];
  const expected = bucket.fileKeys.includes(proof) ? [file, proof] : [file];
  expect([bucket.fileKeys, bucket.openUploads]).toEqual([expected, []]);
  await bucket.binding.delete(bucket.fileKeys);
}

const CSV = { format: 'csv', include_details: true };

describe.each<[string, Json, number, number, JobSizes, stride: number]>([
  ['csv', CSV, 100, 500, SMALL, 8],
  ['json, without multipart upload', { format: 'json' }, 100, 10, { ...SMALL, part: MIB }, 8],
  // A row group has 16,384 entries.
  [
    'parquet',
    { format: 'parquet', include_details: true },
    17_000,
    10,
    { ...SMALL, part: 768 * KIB, batchRows: 9_000 },
    24,
  ],
])('an export (%s)', (_, fields, entries, size, sizes, stride) => {
  it('is the same file for every slice, part and batch size', FAULTS_TIMEOUT, async () => {
    const scene = await makeScene(entries, size);
    const reference = await makeReference(scene, fields);
    const variants: JobSizes[] = [
      sizes,
      { ...sizes, slices: 1, sliceRows: 1, batchRows: Math.ceil(entries / 10) },
      { ...JOB_SIZES, part: 20 * KIB, batchRows: entries / 2 },
      { ...sizes, batchRows: Math.ceil(entries / 9), slices: 100 },
    ];
    for (const variant of variants) {
      const id = await startExport(scene.account, fields);
      await scene.world.work(variant);
      expect((await readExport(scene.account, id)).sha256).toBe(reference);
    }
  });

  it.each(MODES)('is the same file after any call fails (%s)', FAULTS_TIMEOUT, async (mode) => {
    const scene = await makeScene(entries, size);
    const { outage, account, world, bucket } = scene;
    const reference = await makeReference(scene, fields);
    await bucket.binding.delete(bucket.fileKeys);
    const calls = await countCalls(scene, fields, sizes);
    expect(calls).toBeGreaterThan(8);
    for (const call of failingCalls(calls, stride, MODES.indexOf(mode))) {
      const id = await startExport(account, fields);
      const message = world.queue.take();
      outage.arm({ call, mode });
      await deliver(message, world.env, world.runtime, sizes);
      await world.work(sizes);
      outage.arm(null);
      const shown = await finishFile(world, () => readExport(account, id), sizes);
      expect([call, shown.status, shown.sha256]).toEqual([call, 'completed', reference]);
      await world.sweep();
      await expectOneObject(scene, id);
    }
  });
});

async function countCalls(scene: Scene, fields: Json, sizes = SMALL): Promise<number> {
  const { outage, account, world } = scene;
  const id = await startExport(account, fields);
  outage.arm(null);
  await world.work(sizes);
  const { calls } = outage;
  await expectOneObject(scene, id);
  return calls;
}

it(
  'an export with 5 MiB parts is the same file after its worker is killed at any call',
  FAULTS_TIMEOUT,
  async () => {
    const sizes = { part: 5 * MIB, sliceRows: 550, sliceBytes: 4 * MIB, slices: 2, batchRows: 550 };
    const outage = new Outage();
    const world = new World({ DB: outage.database(env.DB), FILES: outage.bucket(env.FILES) });
    const account = await world.account({ plan: 'enterprise' });
    await fillLog(await account.agent(), 1_100, 5_000);
    const reference = await makeReference({ world, account }, CSV);
    await env.FILES.delete(await listObjects());
    const stride = strideOf(4);
    for (let call = 1, calls = call; call <= calls; call += stride) {
      const id = await startExport(account, CSV);
      outage.arm({ call, mode: 'kill after' });
      await world.work(sizes);
      calls = Math.max(calls, outage.calls + stride);
      if (outage.calls < call) break;
      outage.arm(null);
      const shown = await finishFile(world, () => readExport(account, id), sizes);
      expect([call, shown.status, shown.sha256]).toEqual([call, 'completed', reference]);
      await world.sweep();
      expect(await listObjects()).toEqual([`files/${id}/file`]);
      await env.FILES.delete(await listObjects());
    }
  },
);

describe('queue messages', () => {
  it('that are duplicate, late or invalid are acknowledged and do not change the export', async () => {
    const { world, account } = await makeScene();
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

  it('fail and succeed independently', async () => {
    const { world, account, outage } = await makeScene();
    const ids = [await startExport(account), await startExport(account)];
    const messages = world.queue.take();
    outage.arm({ call: 2, mode: 'before' });
    const result = await deliver(messages, world.env, world.runtime);
    expect([result.retryMessages.map(({ msgId }) => msgId), result.explicitAcks]).toEqual([
      ['0'],
      ['1'],
    ]);
    outage.arm(null);
    expect((await readExport(account, ids[1] ?? '')).status).toBe('completed');
    world.advance(2 * SECOND);
    await deliver(messages, world.env, world.runtime);
    expect((await readExport(account, ids[0] ?? '')).status).toBe('completed');
  });

  it('that four consumers process concurrently make one file', async () => {
    const scene = await makeScene();
    const { world, account, bucket } = scene;
    const reference = await makeReference(scene, CSV);
    await bucket.binding.delete(bucket.fileKeys);
    const id = await startExport(account, CSV);
    const messages = world.queue.take();
    await Promise.all(
      Array.from({ length: 4 }, () => deliver(messages, world.env, world.runtime, SMALL)),
    );
    await world.work(SMALL);
    expect((await readExport(account, id)).sha256).toBe(reference);
    await expectOneObject(scene, id);
  });
});

it('an export resumes within 30 seconds of the next sweep after a crash', async () => {
  const { world, account, outage } = await makeScene();
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

it('an export that resumes after a crash does not repeat its completed slices', async () => {
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

/** The environment of a scene with a bucket that refuses every `put`. */
function withFailingPut({ world }: Scene) {
  const bucket = {
    ...world.env.FILES,
    put: () => Promise.reject(new Error('put: We encountered an internal error.')),
  };
  return { ...world.env, FILES: bucket as unknown as R2Bucket };
}

describe('an export job that fails repeatedly', () => {
  it('backs off exponentially, and completes after eight minutes of failures', async () => {
    const scene = await makeScene();
    const { world, account } = scene;
    const reference = await makeReference(scene, CSV);
    const id = await startExport(account, CSV);
    await deliver(world.queue.take(), world.env, world.runtime, SMALL);
    world.queue.take();
    const message = { shard: '00', account: await accountNumber(), id };
    for (const delaySeconds of [2, 4, 8, 16, 25, 25]) {
      expect(
        (await deliver([message], withFailingPut(scene), world.runtime, SMALL)).retryMessages,
      ).toHaveLength(1);
      world.advance(delaySeconds * SECOND - 1);
      expect(
        (await deliver([message], withFailingPut(scene), world.runtime, SMALL)).explicitAcks,
      ).toHaveLength(1);
      world.advance(1);
    }
    for (let minute = 0; minute < 8; minute++) {
      await world.sweep();
      for (const body of world.queue.take())
        await deliver([body], withFailingPut(scene), world.runtime, SMALL);
      world.advance(MINUTE);
    }
    await world.sweep();
    await world.work(SMALL);
    expect(await readExport(account, id)).toMatchObject({ status: 'completed', sha256: reference });
  });

  it('halves its batch size with each attempt, down to 64 rows', async () => {
    const { world, account } = await makeScene(300, 10);
    await startExport(account, CSV);
    const sizes = { ...SMALL, batchRows: 256 };
    const reads: number[] = [];
    const exhausted = {
      prepare: (sql: string) => env.DB.prepare(sql),
      batch: async (statements: D1PreparedStatement[]) => {
        const results = await env.DB.batch<Json>(statements);
        const rows = results
          .flatMap((result) => result.results)
          .filter(({ row }) => row !== undefined);
        if (rows.length === 0) return results;
        reads.push(rows.length);
        throw new Error('D1_ERROR: Network connection lost.');
      },
    } as unknown as D1Database;
    const message = world.queue.take();
    for (let attempt = 1; attempt <= 5; attempt++) {
      await deliver(message, { ...world.env, DB: exhausted }, world.runtime, sizes);
      world.advance(25 * SECOND);
    }
    expect(reads).toEqual([256, 128, 64, 64, 64]);
  });

  it('gives up after 20 attempts without progress, and leaves no object and no upload', async () => {
    const scene = await makeScene();
    const { world, account, bucket } = scene;
    const id = await startExport(account, CSV);
    // The first slices start the upload. After that the bucket refuses every `put`.
    await deliver(world.queue.take(), world.env, world.runtime, SMALL);
    world.queue.take();
    expect(bucket.openUploads).toHaveLength(1);
    const message = { shard: '00', account: await accountNumber(), id };
    for (let attempt = 1; attempt <= 20; attempt++) {
      expect(
        (await deliver([message], withFailingPut(scene), world.runtime, SMALL)).retryMessages,
      ).toHaveLength(1);
      expect((await readExport(account, id)).status).toBe('processing');
      world.advance(25 * SECOND);
    }
    await deliver([message], withFailingPut(scene), world.runtime, SMALL);
    expect(await readExport(account, id)).toMatchObject({
      status: 'failed',
      error: 'processing_failed',
    });
    await world.sweep();
    expect([bucket.fileKeys, bucket.openUploads]).toEqual([[], []]);
    await startExport(account, CSV);
  });
});

async function accountNumber(): Promise<number> {
  return (
    (await env.DB.prepare('select max(number) as number from accounts').first<number>('number')) ??
    0
  );
}

it.each([
  ['one slice', 1],
  ['all remaining slices', 100],
])(
  'an export is the same file even if its worker outlives its lease at any call while another worker makes %s',
  FAULTS_TIMEOUT,
  async (_, slices) => {
    const scene = await makeScene();
    const { world, account, outage, bucket } = scene;
    const reference = await makeReference(scene, CSV);
    await bucket.binding.delete(bucket.fileKeys);
    const calls = await countCalls(scene, CSV);
    for (const call of failingCalls(calls, 4, slices)) {
      const id = await startExport(account, CSV);
      outage.before(call, async () => {
        world.advance(30 * SECOND);
        await world.sweep();
        for (const body of world.queue.take())
          await deliver([body], world.env, world.runtime, { ...SMALL, slices });
      });
      await world.work(SMALL);
      const shown = await finishFile(scene.world, () => readExport(scene.account, id), SMALL);
      expect([call, shown.status, shown.sha256]).toEqual([call, 'completed', reference]);
      await world.sweep();
      await expectOneObject(scene, id);
    }
  },
);

it.each<[string, Partial<JobSizes>, number]>([
  ['rows', { sliceRows: 40, sliceBytes: MIB }, 2],
  ['bytes', { sliceRows: 1_000, sliceBytes: 10 * KIB }, 5],
])(
  'an export saves a checkpoint after a fixed number of %s, and keeps only the newest one',
  async (_, limits, saves) => {
    const { world, account, bucket } = await makeScene();
    const id = await startExport(account, CSV);
    let puts = 0;
    const put = async (key: string, value: Uint8Array) => {
      if (key.includes('/state-')) puts += 1;
      expect(bucket.fileKeys.length).toBeLessThanOrEqual(1);
      return bucket.binding.put(key, value);
    };
    const FILES = { ...bucket.binding, put } as unknown as R2Bucket;
    const sizes = { ...SMALL, part: MIB, slices: 100, ...limits };
    await deliver(world.queue.take(), { ...world.env, FILES }, world.runtime, sizes);
    expect([(await readExport(account, id)).status, puts]).toEqual(['completed', saves]);
  },
);

it('an export completes its upload once, even if the response of R2 is lost', async () => {
  const { world, account, bucket } = await makeScene();
  const id = await startExport(account, CSV);
  let completions = 0;
  const FILES = {
    ...bucket.binding,
    resumeMultipartUpload: (key: string, uploadId: string) => {
      const upload = bucket.binding.resumeMultipartUpload(key, uploadId);
      const complete = async (parts: R2UploadedPart[]) => {
        await upload.complete(parts);
        completions += 1;
        throw new Error('Network connection lost.');
      };
      return { ...upload, complete };
    },
  } as unknown as R2Bucket;
  const message = world.queue.take();
  for (let attempt = 1; attempt <= 2; attempt++) {
    await deliver(message, { ...world.env, FILES }, world.runtime, { ...SMALL, slices: 100 });
    world.advance(2 * SECOND);
  }
  expect([(await readExport(account, id)).status, completions]).toEqual(['completed', 1]);
});

it('an export restarts when the part size changes during its upload', async () => {
  const scene = await makeScene();
  const { world, account, bucket } = scene;
  const reference = await makeReference(scene, CSV);
  await bucket.binding.delete(bucket.fileKeys);
  const id = await startExport(account, CSV);
  await deliver(world.queue.take(), world.env, world.runtime, SMALL);
  expect(bucket.openUploads).toHaveLength(1);
  await world.work({ ...SMALL, part: 20 * KIB });
  expect((await readExport(account, id)).sha256).toBe(reference);
  await expectOneObject(scene, id);
});

it('an export restarts when its upload no longer exists', async () => {
  const scene = await makeScene();
  const { world, account, bucket } = scene;
  const reference = await makeReference(scene, CSV);
  await bucket.binding.delete(bucket.fileKeys);
  const id = await startExport(account, CSV);
  const FILES = {
    ...bucket.binding,
    resumeMultipartUpload: (key: string, uploadId: string) => {
      const upload = bucket.binding.resumeMultipartUpload(key, uploadId);
      const complete = () =>
        upload.abort().then(() => Promise.reject(new Error('Network connection lost.')));
      return { ...upload, complete };
    },
  } as unknown as R2Bucket;
  const sizes = { ...SMALL, slices: 100 };
  await deliver(world.queue.take(), { ...world.env, FILES }, world.runtime, sizes);
  expect([bucket.fileKeys.length, bucket.openUploads]).toEqual([1, []]);
  const shown = await finishFile(scene.world, () => readExport(scene.account, id), sizes);
  expect([shown.status, shown.sha256]).toEqual(['completed', reference]);
  await expectOneObject(scene, id);
});

it.each([
  ['a checkpoint that R2 no longer has', {}],
  ['an upload that R2 no longer has', { state: null }],
])('an export restarts when the database is restored to a state with %s', async (_, lost) => {
  const scene = await makeScene();
  const { world, account } = scene;
  const id = await startExport(account, CSV);
  await deliver(world.queue.take(), world.env, world.runtime, SMALL);
  const columns = [
    'status',
    'row_count',
    'completed_at',
    'expires_at',
    'lease',
    'state',
    'upload_id',
    'due_at',
  ];
  const row = await env.DB.prepare(`select ${columns} from files`).first();
  expect(row).toMatchObject({
    status: 0,
    state: expect.any(String),
    upload_id: expect.any(String),
  });
  const read = () => readExport(account, id);
  const first = await finishFile(world, read, SMALL);
  const earlier = { ...row, ...lost };
  await env.DB.prepare(`update files set ${columns.map((column) => `${column} = ?`)}`)
    .bind(...columns.map((column) => earlier[column as keyof typeof earlier]))
    .run();
  expect((await read()).status).toBe('processing');
  const second = await finishFile(world, read, SMALL);
  expect([second.status, second.sha256]).toEqual(['completed', first.sha256]);
  await expectOneObject(scene, id);
});

it('an export fails when R2 repeatedly refuses its parts, and leaves no object and no upload', async () => {
  const { world, account, bucket } = await makeScene();
  const refuse = () =>
    Promise.reject(
      new Error('completeMultipartUpload: One or more parts could not be found. (10025)'),
    );
  const FILES = {
    ...bucket.binding,
    resumeMultipartUpload: (key: string, id: string) => ({
      ...bucket.binding.resumeMultipartUpload(key, id),
      complete: refuse,
    }),
  } as unknown as R2Bucket;
  const id = await startExport(account, CSV);
  for (let bodies = world.queue.take(); bodies.length > 0; bodies = world.queue.take()) {
    await deliver(bodies, { ...world.env, FILES }, world.runtime, SMALL);
    expect(bucket.openUploads.length).toBeLessThanOrEqual(1);
  }
  expect(await readExport(account, id)).toMatchObject({
    status: 'failed',
    error: 'processing_failed',
  });
  await world.sweep();
  expect([bucket.fileKeys, bucket.openUploads]).toEqual([[], []]);
});

describe('the deletion of an agent or account during an export', FAULTS_TIMEOUT, () => {
  async function remove({ world, account }: Scene, what: string): Promise<void> {
    if (what === 'account') {
      await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: env.ADMIN_TOKEN });
      return;
    }
    const { body } = await account.must(200, 'GET', '/v1/agents');
    await account.must(204, 'DELETE', `/v1/agents/${body.data[0].id}`);
  }

  async function expectNothing(
    { account, bucket }: Scene,
    what: string,
    id: string,
  ): Promise<void> {
    if (what === 'agent')
      expect(['failed', 'expired']).toContain((await readExport(account, id)).status);
    const { results } = await env.DB.prepare('select lease, upload_id, state from files').all();
    expect(results).toEqual(
      what === 'agent' ? [{ lease: null, state: null, upload_id: null }] : [],
    );
    expect([bucket.fileKeys, bucket.openUploads]).toEqual([[], []]);
  }

  it.each(['agent', 'account'])(
    'leaves no object and no upload after the worker is killed at any call (%s)',
    async (what) => {
      for (const call of failingCalls(20, 3, 1)) {
        const scene = await makeScene();
        const { world, account, outage, bucket } = scene;
        const id = await startExport(account, CSV);
        outage.arm({ call, mode: 'kill after' });
        await world.work(SMALL);
        outage.arm(null);
        await remove(scene, what);
        for (let minute = 0; minute < 2; minute++) {
          await world.sweep();
          await world.work(SMALL);
          world.advance(MINUTE);
        }
        expect([bucket.fileKeys, bucket.openUploads]).toEqual([[], []]);
        world.advance(20 * MINUTE);
        await world.sweep();
        await expectNothing(scene, what, id);
        await emptyTables(env.DB);
      }
    },
  );

  it.each(['agent', 'account'])(
    'leaves no object and no upload if the worker continues after the sweep (%s)',
    async (what) => {
      const stride = strideOf(4);
      for (let call = 1, calls = 1; call <= calls; call += stride) {
        const scene = await makeScene(70, 500);
        const { world, account, outage } = scene;
        const id = await startExport(account, CSV);
        const message = world.queue.take();
        outage.before(call, async () => {
          await remove(scene, what);
          world.advance(30 * SECOND);
          await world.sweep();
        });
        await deliver(message, world.env, world.runtime, { ...SMALL, slices: 100 });
        const wasInterrupted = world.now > Date.UTC(2026, 0, 31, 12);
        if (!wasInterrupted) break;
        calls += stride;
        world.advance(20 * MINUTE);
        await world.sweep();
        await world.sweep();
        await expectNothing(scene, what, id);
        await emptyTables(env.DB);
      }
    },
  );
});
