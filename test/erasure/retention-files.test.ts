import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import type { JobSizes } from '../../src/files/job-context';
import { TestBucket } from '../support/bucket';
import { agentNumbers, fillWithDenials } from '../support/bulk-log';
import { depth } from '../support/depth';
import { checkErasure } from '../support/erasure';
import { download, finishFile, makeExport, readExport, startExport } from '../support/exports';
import { deliver } from '../support/queue';
import { sealLogs } from '../support/seal';
import { countRows, emptyTables } from '../support/tables';
import { World } from '../support/world';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KIB = 2 ** 10;

/** Small parts and slices, so that a job needs many of them. */
const SMALL: JobSizes = {
  part: 16 * KIB,
  sliceRows: 20,
  sliceBytes: 12 * KIB,
  slices: 2,
  batchRows: 20,
};

beforeEach(() => emptyTables(env.DB));

/**
 * An account with a retention of one day, whose entries except the newest one expire in a minute.
 */
async function makeScene(entries = 102) {
  const bucket = new TestBucket(16 * KIB);
  const world = new World({ FILES: bucket.binding });
  const account = await world.account({ plan: 'enterprise', audit_retention_days: 1 });
  const agent = await account.agent();
  const { id } = await agent.request();
  await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
  await fillWithDenials(env.DB, entries - 3, await agentNumbers(env.DB));
  world.advance(DAY - MINUTE);
  await agent.request();
  await sealLogs(env.DB, { bucket: bucket.binding });
  return { world, account, bucket };
}

async function countEntries(): Promise<number> {
  return (await countRows(env.DB)).audit_entries ?? 0;
}

/** Makes the first slice of the queued file. Then the entries expire and the hourly sweep runs. */
async function sweepDuringJob(world: World, sizes = SMALL): Promise<void> {
  await deliver(world.queue.take(), world.env, world.runtime, { ...sizes, slices: 1 });
  world.advance(10 * MINUTE);
  await world.clean();
}

/** More entries than one row group of 16,384, which takes seconds. */
const PARQUET: [string, number, JobSizes] = [
  'parquet',
  17_000,
  { ...SMALL, part: 768 * KIB, batchRows: 9_000 },
];

describe('retention during the making of a file', () => {
  it.each<[string, number, JobSizes]>([
    ['csv', 102, SMALL],
    ['json', 102, SMALL],
    ...(depth.isDeep ? [PARQUET] : []),
  ])('does not change a %s export', { timeout: 60_000 }, async (format, entries, sizes) => {
    const { world, account } = await makeScene(entries);
    const wanted = { format, include_details: true };
    const { shown: reference } = await makeExport(account, wanted, sizes);
    expect(reference.row_count).toBe(entries);
    const id = await startExport(account, wanted);
    await sweepDuringJob(world, sizes);
    expect([(await readExport(account, id)).status, await countEntries()]).toEqual([
      'processing',
      entries,
    ]);
    expect((await account.log()).length).toBe(1);
    const { status, sha256 } = await finishFile(world, () => readExport(account, id), sizes);
    expect([status, sha256]).toEqual(['completed', reference.sha256]);
    world.advance(HOUR);
    await world.clean();
    expect(await countEntries()).toBe(1);
    expect(await checkErasure(env.DB)).toEqual([]);
  });

  it('does not change the entries and the activity of a report', { timeout: 60_000 }, async () => {
    const { world, account } = await makeScene();
    const today = { start: '2026-01-31', end: '2026-02-01' };
    const asked = { report_type: 'soc2_type2', period: today, format: 'json' };
    const { report_id } = (await account.must(202, 'POST', '/v1/audit/reports/compliance', asked))
      .body;
    const { activity } = await countRows(env.DB);
    await sweepDuringJob(world);
    const read = async () =>
      (await account.must(200, 'GET', `/v1/audit/reports/compliance/${report_id}`)).body;
    expect([(await read()).status, await countEntries()]).toEqual(['processing', 102]);
    expect((await countRows(env.DB)).activity).toBe(activity);
    const { download_url } = await finishFile(world, read, SMALL);
    const report = JSON.parse((await download(world, download_url)).text);
    expect(report.summary.entries).toBe(102);
    expect(report.activity.by_action['agent.created']).toBe(1);
  });

  it('erases entries that expired before the export was requested', async () => {
    const { world, account } = await makeScene();
    world.advance(10 * MINUTE);
    const { shown } = await makeExport(account, {}, SMALL);
    expect(shown.row_count).toBe(1);
    await world.clean();
    expect(await countEntries()).toBe(1);
  });
});

it('the file of an export is deleted when it expires', async () => {
  const { world, account, bucket } = await makeScene();
  const { shown } = await makeExport(account, {}, SMALL);
  expect(shown.status).toBe('completed');
  expect(bucket.fileKeys).toHaveLength(1);
  world.advance(DAY);
  await world.sweep();
  expect(bucket.fileKeys).toEqual([]);
});
