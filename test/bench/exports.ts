import { createWriteStream, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { Client } from '../support/local/client.ts';
import { findRuntimes, type Service, startService } from '../support/local/service.ts';
import type { Tenant } from '../support/local/tenant.ts';
import type { Report } from './report.ts';
import type { LoadedTenant } from './tenant.ts';

const FORMATS = ['csv', 'json', 'parquet'] as const;
type Format = (typeof FORMATS)[number];

const MIN_ROWS_PER_SECOND = 40_000;
/** Of DuckDB's speed. */
const MIN_RATIO = 0.25;
const MAX_READ = 1.1;
/** MB that the runtime may take for its heap while its memory is watched. */
const SMALL_HEAP = 64;
const MAX_GROWTH = 1.25;
const POLL = 50;

interface Export {
  status: string;
  row_count: number;
  file_size_bytes: number;
  download_url: string;
}

/** An export that was made. */
interface Made {
  rows: number;
  seconds: number;
  size: number;
  /** The most that the runtime held, in MB. */
  peak: number;
  download: string;
}

interface Wanted {
  format: Format;
  end_date?: string;
  [field: string]: unknown;
}

/**
 * Measures exports from the request to the finished file, queue included: their speed beside DuckDB's and beside that of
 * the platform alone; memory of the runtime with a tenth of the rows and with all; the rows that they read.
 */
export async function measureExports(report: Report, state: string, tenant: LoadedTenant): Promise<void> {
  const entries = tenant.history.time.length;
  report.heading(`Exports of ${entries} entries with details`);
  await sealFirst(report, state, tenant, entries);
  const files = new Map<Format, string>();
  const made = new Map<Format, Made>();
  for (const format of FORMATS) {
    const service = await startService(state);
    try {
      const one = await runExport(service, tenant, { format });
      const speed = Math.round(one.rows / one.seconds);
      made.set(format, one);
      report.verdict(
        speed >= MIN_ROWS_PER_SECOND && one.rows === entries,
        `${format}: ${speed} rows/s (at least ${MIN_ROWS_PER_SECOND}); ${one.rows} rows, ${megabytes(one.size)} MB, ${one.seconds.toFixed(1)} s`,
      );
      const file = join(state, `export.${format}`);
      await fetchFile(service, one, file);
      files.set(format, file);
    } finally {
      await service.stop();
    }
  }
  await measureMemory(report, state, tenant);
  await measureReads(report, state, tenant);
  const limits = await measurePlatform(state, tenant, made);
  await compareWithDuckDb(report, state, files, made, limits, entries);
}

/** Exports with details come with their proofs, of a log that the sweep has sealed. */
async function sealFirst(report: Report, state: string, tenant: LoadedTenant, entries: number): Promise<void> {
  const service = await startService(state, 'test/bench/metered-worker.ts');
  const client = new Client(service.origin, tenant.token);
  try {
    const seconds = await timed(() => client.expect(200, 'POST', '/bench/seal', { account: tenant.number }));
    report.note(`sealed: ${Math.round(entries / seconds)} entries/s`);
  } finally {
    await service.stop();
  }
}

/** The runtime's memory while it has a small heap, with a tenth of the rows and with all. */
async function measureMemory(report: Report, state: string, tenant: LoadedTenant): Promise<void> {
  const { time } = tenant.history;
  const tenthUntil = new Date(time[Math.floor(time.length / 10)] as number).toISOString();
  for (const format of FORMATS) {
    const peaks: number[] = [];
    for (const end_date of [tenthUntil, '2100-01-01']) {
      const service = await startService(state, undefined, [], SMALL_HEAP);
      try {
        peaks.push((await runExport(service, tenant, { format, end_date })).peak);
      } finally {
        await service.stop();
      }
    }
    const [tenth = 0, all = 0] = peaks;
    report.verdict(
      all <= tenth * MAX_GROWTH,
      `${format}, a heap of ${SMALL_HEAP} MB: workerd holds ${tenth} MB at most with a tenth of the rows, ${all} MB with all (at most ${MAX_GROWTH} times)`,
    );
  }
}

/** The rows that exports with and without filters read, a row exported. */
async function measureReads(report: Report, state: string, tenant: LoadedTenant): Promise<void> {
  const [agent] = tenant.agents;
  const filters: Record<string, object> = {
    'no filter': {},
    'no filter, no details': { include_details: false },
    'one agent': { agent_id: agent?.id },
    'two types': { event_types: ['approve', 'revoke'] },
    'one agent, two types': { agent_id: agent?.id, event_types: ['approve', 'use'] },
    'one agent, half of the time': { agent_id: agent?.id, end_date: middleOf(tenant) },
  };
  const service = await startService(state, 'test/bench/metered-worker.ts');
  const client = new Client(service.origin, tenant.token);
  try {
    for (const [name, filter] of Object.entries(filters)) {
      const before = await rowsRead(client);
      const { rows } = await runExport(service, tenant, { format: 'csv', ...filter });
      const ratio = ((await rowsRead(client)) - before) / rows;
      report.verdict(
        // Without every row the counter has begun anew meanwhile.
        ratio >= 1 && ratio <= MAX_READ,
        `${name}: ${ratio.toFixed(3)} rows read a row exported, ${rows} of them (at most ${MAX_READ})`,
      );
    }
  } finally {
    await service.stop();
  }
}

async function rowsRead(client: Client): Promise<number> {
  return (await client.expect<{ read: number }>(200, 'GET', '/bench/jobs')).body.read;
}

function middleOf({ history: { time } }: LoadedTenant): string {
  return new Date(time[Math.floor(time.length / 2)] as number).toISOString();
}

/**
 * Rows a second if nothing but the platform's part were to be done: reading the rows through D1, and storing the bytes
 * of the file through R2.
 */
async function measurePlatform(state: string, tenant: LoadedTenant, made: Map<Format, Made>) {
  const service = await startService(state, 'test/bench/metered-worker.ts');
  const client = new Client(service.origin, tenant.token);
  const limits = new Map<Format, number>();
  try {
    const reading = await timed(() =>
      client.expect(200, 'POST', '/bench/read', { account: tenant.number, batch: 4_096 }),
    );
    for (const [format, { rows, size }] of made) {
      const storing = await timed(() => client.expect(200, 'POST', '/bench/store', { bytes: size, part: 8 * 2 ** 20 }));
      limits.set(format, rows / (reading + storing));
    }
  } finally {
    await service.stop();
  }
  return limits;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}

async function runExport(service: Service, tenant: Tenant, wanted: Wanted): Promise<Made> {
  const client = new Client(service.origin, tenant.token);
  const asked = { start_date: '2000-01-01', end_date: '2100-01-01', include_details: true, ...wanted };
  const runtimes = findRuntimes(service.pid);
  let peak = 0;
  const started = performance.now();
  const { body } = await client.expect<{ export_id: string }>(202, 'POST', '/v1/audit/export', asked);
  for (;;) {
    const { body: shown } = await client.expect<Export>(200, 'GET', `/v1/audit/export/${body.export_id}`);
    peak = Math.max(peak, ...runtimes.map(memoryOf));
    if (shown.status === 'completed') {
      const seconds = (performance.now() - started) / 1_000;
      const { row_count: rows, file_size_bytes: size, download_url: download } = shown;
      return { rows, seconds, size, peak: Math.round(peak), download };
    }
    if (shown.status !== 'processing') throw new Error(`the export is ${shown.status}`);
    await new Promise((resolve) => setTimeout(resolve, POLL));
  }
}

async function fetchFile(service: Service, { download, size }: Made, file: string): Promise<void> {
  const { pathname, search } = new URL(download);
  const response = await fetch(service.origin + pathname + search);
  await pipeline(Readable.fromWeb(response.body as never), createWriteStream(file));
  if (statSync(file).size !== size) throw new Error('the download has another size');
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}

/** The memory that a process holds of its own, in MB: files that it has mapped do not count. */
function memoryOf(pid: string): number {
  return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
}

/** DuckDB reads all three files back, compares them, and writes the same rows from a table of its own. */
async function compareWithDuckDb(
  report: Report,
  state: string,
  files: Map<Format, string>,
  made: Map<Format, Made>,
  limits: Map<Format, number>,
  entries: number,
): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const duck = await instance.connect();
  const columns = `id, sequence::bigint as sequence, user_id, agent_id, permission_request_id, event_type, action,
    resource, ip_address, user_agent, created_at::timestamptz as created_at, details::varchar as details`;
  await duck.run(`set timezone = 'UTC'`);
  await duck.run(`create table p as select ${columns} from read_parquet('${files.get('parquet')}')`);
  const others = {
    csv: `read_csv('${files.get('csv')}', header = true, all_varchar = true, quote = '"', escape = '"')`,
    json: `read_json('${files.get('json')}', format = 'array', columns = {id: 'varchar', sequence: 'bigint',
      user_id: 'varchar', agent_id: 'varchar', permission_request_id: 'varchar', event_type: 'varchar',
      action: 'varchar', resource: 'varchar', ip_address: 'varchar', user_agent: 'varchar', created_at: 'varchar',
      details: 'json'})`,
  };
  for (const [format, source] of Object.entries(others)) {
    const reader = await duck.runAndReadAll(`select count(*) as n from (
      (select ${columns} from ${source} except select * from p) union all
      (select * from p except select ${columns} from ${source}))`);
    const count = await duck.runAndReadAll(`select count(*) as n from ${source}`);
    const [differences, rows] = [Number(reader.getRows()[0]?.[0]), Number(count.getRows()[0]?.[0])];
    report.verdict(
      differences === 0 && rows === entries,
      `DuckDB reads ${format} and parquet alike: ${differences} differences in ${rows} rows`,
    );
  }
  const options = { csv: 'format csv, header', json: 'format json, array true', parquet: 'format parquet, codec zstd' };
  for (const format of FORMATS) {
    const file = join(state, `duckdb.${format}`);
    const started = performance.now();
    await duck.run(`copy p to '${file}' (${options[format]})`);
    const speed = entries / ((performance.now() - started) / 1_000);
    rmSync(file);
    const { rows = 0, seconds = 1 } = made.get(format) ?? {};
    const limit = limits.get(format) ?? 0;
    const [ratio, reachable] = [rows / seconds / speed, limit / speed];
    report.verdict(
      ratio >= MIN_RATIO,
      `${format}: ${ratio.toFixed(2)} of DuckDB's COPY, ${Math.round(speed)} rows/s (at least ${MIN_RATIO})`,
    );
    report.note(
      `${format}: D1 and R2 alone take ${Math.round(limit)} rows/s here, ${reachable.toFixed(2)} of DuckDB's; ours is ${(rows / seconds / limit).toFixed(2)} of that`,
    );
  }
  duck.closeSync();
}
