import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { TestBucket } from '../support/bucket';
import { depth } from '../support/depth';
import { makeExport, readExport, startExport } from '../support/exports';
import { deliver } from '../support/queue';
import { emptyTables } from '../support/tables';
import { type Json, World } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 86_400_000;

beforeEach(() => emptyTables(env.DB));

async function makeScene() {
  const bucket = new TestBucket(1);
  const world = new World({ FILES: bucket.binding });
  return { bucket, world, account: await world.account() };
}

async function countFiles(): Promise<number | null> {
  return env.DB.prepare('select count(*) as n from files').first<number>('n');
}

it.runIf(depth.isDeep)(
  'the sweep cleans up the other files when one fails, and retries the failed one',
  async () => {
    const { world, account, bucket } = await makeScene();
    const ids: string[] = [];
    for (let i = 0; i < 22; i++) ids.push((await makeExport(account)).id);
    const [last] = ids.slice(-1);
    const list = async (options: R2ListOptions) => {
      if (!options.prefix?.includes(`${last}`))
        throw new Error('list: We encountered an internal error. (10001)');
      return bucket.binding.list(options);
    };
    const broken = new World({ FILES: { ...bucket.binding, list } as unknown as R2Bucket });
    broken.now = world.now + DAY;
    await broken.sweep();
    expect(bucket.fileKeys).toEqual(
      ids
        .slice(0, -1)
        .map((id) => `files/${id}/file`)
        .toSorted(),
    );
    world.advance(DAY + 5 * MINUTE - 1);
    await world.sweep();
    expect(bucket.fileKeys).toHaveLength(21);
    world.advance(1);
    await world.sweep();
    expect(bucket.fileKeys).toEqual([]);
  },
);

it('the sweep keeps the row of an expired or failed file for 90 days', async () => {
  const { world, account } = await makeScene();
  const { id } = await makeExport(account);
  const agent = await account.agent();
  const failed = await startExport(account);
  await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
  world.advance(DAY);
  await world.sweep();
  world.advance(89 * DAY - 1);
  await world.sweep();
  expect([
    (await readExport(account, id)).status,
    (await readExport(account, failed)).status,
  ]).toEqual(['expired', 'failed']);
  world.advance(1);
  await world.sweep();
  for (const gone of [id, failed]) await account.must(404, 'GET', `/v1/audit/export/${gone}`);
  expect((await account.must(200, 'GET', '/v1/audit/export')).body.data).toEqual([]);
  expect(await countFiles()).toBe(0);
});

it('the sweep deletes the rows of the files of a deleted account immediately', async () => {
  const { world, account } = await makeScene();
  await makeExport(account);
  world.advance(DAY);
  await world.sweep();
  expect(await countFiles()).toBe(1);
  await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: env.ADMIN_TOKEN });
  await world.sweep();
  expect(await countFiles()).toBe(0);
});

it('the sweep does not touch a leased file, and enqueues a message for the end of its lease', async () => {
  const { world, account, bucket } = await makeScene();
  await startExport(account);
  const stuck = new World({
    FILES: {
      ...bucket.binding,
      put: async () => {
        world.advance(9 * SECOND);
        await world.sweep();
        throw new Error('put: We encountered an internal error. (10001)');
      },
    } as unknown as R2Bucket,
  });
  await deliver(world.queue.take(), stuck.env, world.runtime);
  expect(world.queue.waiting.map(({ due }) => due - world.now)).toEqual([16 * SECOND]);
});

it('the sweep cleans up a completed file, and deletes it when it expires', async () => {
  const { world, account, bucket } = await makeScene();
  const agent = await account.agent();
  for (let i = 0; i < 4; i++) await agent.request();
  const { id } = await makeExport(
    account,
    {},
    { part: 1_000, sliceRows: 1, sliceBytes: 1, slices: 9, batchRows: 1 },
  );
  await world.sweep();
  expect(bucket.fileKeys).toEqual([`files/${id}/file`]);
  const due = await env.DB.prepare('select due_at - expires_at as early, state from files').first();
  expect(due).toEqual({ early: 0, state: null });
  world.advance(DAY);
  await world.sweep();
  expect([bucket.fileKeys, world.queue.waiting]).toEqual([[], []]);
});

it('the sweep deletes a file whose agent is deleted during the sweep', async () => {
  const { world, account, bucket } = await makeScene();
  const agent = await account.agent();
  for (let i = 0; i < 4; i++) await agent.request();
  const { id } = await makeExport(
    account,
    {},
    { part: 1_000, sliceRows: 1, sliceBytes: 1, slices: 9, batchRows: 1 },
  );
  await env.DB.prepare('update files set due_at = ?').bind(world.now).run();
  const list = async (options: R2ListOptions) => {
    await account.call('DELETE', `/v1/agents/${agent.id}`);
    return bucket.binding.list(options);
  };
  const racing = new World({ FILES: { ...bucket.binding, list } as unknown as R2Bucket });
  racing.now = world.now;
  await racing.sweep();
  await world.sweep();
  expect([(await readExport(account, id)).status, bucket.fileKeys]).toEqual(['expired', []]);
});

it('a worker writes no file after its lease has expired', async () => {
  const { world, account, bucket } = await makeScene();
  const agent = await account.agent();
  await agent.request();
  await startExport(account);
  const late = {
    prepare: (sql: string) => env.DB.prepare(sql),
    batch: async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch<Json>(statements);
      if (results.some((result) => result.results.some(({ row }) => row !== undefined))) {
        await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
        world.advance(30 * SECOND);
        await world.sweep();
      }
      return results;
    },
  } as unknown as D1Database;
  const { explicitAcks } = await deliver(
    world.queue.take(),
    { ...world.env, DB: late },
    world.runtime,
  );
  expect([explicitAcks, bucket.fileKeys]).toEqual([['0'], []]);
});

it.runIf(depth.isDeep)('a worker renews its lease during a long job', async () => {
  const { world, account } = await makeScene();
  const agent = await account.agent();
  for (let i = 0; i < 40; i++) await agent.request();
  const id = await startExport(account, { format: 'csv' });
  const message = world.queue.take();
  let visits = 0;
  const slow = {
    prepare: (sql: string) => env.DB.prepare(sql),
    batch: async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch(statements);
      world.advance(6 * SECOND);
      await world.sweep();
      const [wakeUp] = world.queue.take();
      // Another worker finds the file leased, and makes no call to R2.
      if (wakeUp && ++visits)
        await deliver(
          [wakeUp],
          { ...world.env, FILES: null as unknown as R2Bucket },
          world.runtime,
        );
      return results;
    },
  } as unknown as D1Database;
  const sizes = { part: 1_000, sliceRows: 1_000, sliceBytes: 10 ** 6, slices: 1, batchRows: 2 };
  await deliver(message, { ...world.env, DB: slow }, world.runtime, sizes);
  expect((await readExport(account, id)).row_count).toBe(40);
  expect(visits).toBeGreaterThan(0);
});
