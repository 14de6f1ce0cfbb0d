import { createWriteStream, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { Client } from './client.ts';
import type { Report } from './report.ts';
import { findRuntimes, type Service, startService } from './service.ts';
import type { LoadedTenant, Tenant } from './tenant.ts';

const FORMATS = ['csv', 'json', 'parquet'] as const;
type Format = (typeof FORMATS)[number];

const MIN_ROWS_PER_SECOND = 40_000;
const MIN_RATIO = 0.25;
const POLL = 50;

interface Export {
  status: string;
  row_count: number;
  file_size_bytes: number;
  download_url: string;
}

/**
 * Measures exports from the request to the finished file, queue included, and DuckDB writing the same rows; memory of
 * the runtime with a tenth of the rows and with all.
 */
export async function measureExports(report: Report, state: string, tenant: LoadedTenant): Promise<void> {
  const { time } = tenant.history;
  const entries = time.length;
  const tenthUntil = new Date(time[Math.floor(entries / 10)] as number).toISOString();
  report.heading(`Exports of ${entries} entries with details`);
  const files = new Map<Format, string>();
  const speeds = new Map<Format, number>();
  for (const format of FORMATS) {
    const peaks: number[] = [];
    for (const end_date of [tenthUntil, '2100-01-01']) {
      const service = await startService(state);
      try {
        const { rows, seconds, size, file, peak } = await runExport(service, state, tenant, format, end_date);
        peaks.push(peak);
        if (end_date === tenthUntil) continue;
        files.set(format, file);
        speeds.set(format, rows / seconds);
        const speed = Math.round(rows / seconds);
        report.verdict(
          speed >= MIN_ROWS_PER_SECOND && rows === entries,
          `${format}: ${speed} rows/s (at least ${MIN_ROWS_PER_SECOND}); ${rows} rows, ${Math.round(size / 1e6)} MB, ${seconds.toFixed(1)} s`,
        );
      } finally {
        await service.stop();
      }
    }
    report.note(`${format}: workerd peaks at ${peaks[0]} MB with a tenth of the rows, ${peaks[1]} MB with all`);
  }
  await compareWithDuckDb(report, state, files, speeds, entries);
}

async function runExport(service: Service, state: string, tenant: Tenant, format: Format, end_date: string) {
  const client = new Client(service.origin, tenant.token);
  const asked = { format, start_date: '2000-01-01', end_date, include_details: true };
  const runtimes = findRuntimes(service.pid);
  let peak = 0;
  const started = performance.now();
  const { body } = await client.expect<{ export_id: string }>(202, 'POST', '/v1/audit/export', asked);
  for (;;) {
    const { body: shown } = await client.expect<Export>(200, 'GET', `/v1/audit/export/${body.export_id}`);
    peak = Math.max(peak, ...runtimes.map(memoryOf));
    if (shown.status === 'completed') {
      const seconds = (performance.now() - started) / 1_000;
      const file = join(state, `export.${format}`);
      const { pathname, search } = new URL(shown.download_url);
      const response = await fetch(service.origin + pathname + search);
      await pipeline(Readable.fromWeb(response.body as never), createWriteStream(file));
      if (statSync(file).size !== shown.file_size_bytes) throw new Error('the download has another size');
      return { rows: shown.row_count, seconds, size: shown.file_size_bytes, file, peak: Math.round(peak) };
    }
    if (shown.status !== 'processing') throw new Error(`the export is ${shown.status}`);
    await new Promise((resolve) => setTimeout(resolve, POLL));
  }
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
  speeds: Map<Format, number>,
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
    const ratio = (speeds.get(format) ?? 0) / speed;
    report.verdict(
      ratio >= MIN_RATIO,
      `${format}: ${ratio.toFixed(2)} of DuckDB's COPY, ${Math.round(speed)} rows/s (at least ${MIN_RATIO})`,
    );
  }
  duck.closeSync();
}
