import { createWriteStream, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { Client } from '../support/local/client.ts';
import { findRuntimes, type Service, startService } from '../support/local/service.ts';
import type { Tenant } from '../support/local/tenant.ts';
import type { Report } from './report.ts';
import { enterprise, inFreshState, sealLog, setScene } from './scene.ts';
import type { LoadedTenant } from './tenant.ts';

const FORMATS = ['csv', 'json', 'parquet'] as const;
type Format = (typeof FORMATS)[number];

const ENTRIES = 250_000;
/**
 * Of two exports whose memory is compared, one has all of these entries and one a tenth, which
 * already fills upload parts.
 */
const MEMORY_ENTRIES = 1_000_000;
const ROUNDS = 3;
/** Minimum speed, as a share of the speed of D1 and R2 alone. */
const MIN_RATIO = 0.5;
const MAX_READ = 1.1;
/** Limit of the runtime's heap while its memory is measured, in MB. */
const SMALL_HEAP = 64;
const MAX_GROWTH = 1.25;
const POLL = 50;
/** Rows of a batch, bytes of a part and tiles of a batch, as exports read and write them. */
const BATCH = 4_096;
const PART = 8 * 2 ** 20;
const TILES = 64;

const METERED = 'test/bench/metered-worker.ts';

interface Export {
  status: string;
  row_count: number;
  file_size_bytes: number;
  download_url: string;
  proof_url?: string | null;
}

/** A finished export. */
interface Made {
  rows: number;
  seconds: number;
  size: number;
  /** The peak memory of the runtime, in MB. */
  peak: number;
  download: string;
  proof: string | null;
}

interface Wanted {
  format: Format;
  end_date?: string;
  [field: string]: unknown;
}

/**
 * Measures exports from the request to the finished file and its proof, including the queue: their
 * speed compared with D1 and R2 alone, the rows that they read, and the memory of the runtime.
 * Checks that all formats have the same content.
 */
export async function measureExports(report: Report, state: string): Promise<void> {
  await inFreshState(state, 'speed', async (folder) => {
    report.heading(`Exports of ${ENTRIES} entries with details`);
    const [tenant] = await setScene(folder, [enterprise(ENTRIES, 200, 360)] as const);
    const seconds = await sealLog(folder, tenant);
    report.note(`sealing: ${Math.round(ENTRIES / seconds)} entries/s`);
    const files = await measureSpeed(report, folder, tenant);
    await compareFiles(report, files);
  });
  await inFreshState(state, 'reads', async (folder) => {
    const [tenant] = await setScene(folder, [enterprise(ENTRIES, 200, 360)] as const);
    await measureRowsRead(report, folder, tenant);
  });
  await inFreshState(state, 'memory', async (folder) => {
    const [tenant] = await setScene(folder, [enterprise(MEMORY_ENTRIES, 200, 360)] as const);
    await sealLog(folder, tenant);
    await measureMemory(report, folder, tenant);
  });
}

/**
 * Makes an export of each format, and right after it has D1 and R2 do their part of the work alone.
 * The median of several rounds counts, because other work on the machine may slow down one half of
 * a round more than the other.
 */
async function measureSpeed(
  report: Report,
  state: string,
  tenant: LoadedTenant,
): Promise<Map<Format, string>> {
  const files = new Map<Format, string>();
  for (const format of FORMATS) {
    const file = join(state, `export.${format}`);
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round++)
      rounds.push(await runRound(state, tenant, format, file));
    files.set(format, file);
    const middle = rounds.toSorted((a, b) => a.ratio - b.ratio)[Math.floor(ROUNDS / 2)] as Round;
    const { made, read, stored, proven, ratio } = middle;
    const name = made.proof === null ? format : `${format} with its proof`;
    const all = rounds.map((round) => round.ratio.toFixed(2)).join(', ');
    report.verdict(
      ratio >= MIN_RATIO && made.rows === ENTRIES,
      `${name}: ${ratio.toFixed(2)} of the speed of D1 and R2 alone, the median of ${all} (at least ${MIN_RATIO}); ${made.rows} rows, ${megabytes(made.size)} MB`,
    );
    report.note(
      `${format}: ${Math.round(made.rows / made.seconds)} rows/s; ${made.seconds.toFixed(1)} s; D1 and R2 alone: ${read.toFixed(1)} s to read, ${stored.toFixed(1)} s for the file, ${proven.toFixed(1)} s for the proof`,
    );
  }
  return files;
}

/** An export, and the seconds that D1 and R2 alone took for the same work. */
interface Round {
  made: Made;
  read: number;
  stored: number;
  proven: number;
  ratio: number;
}

async function runRound(
  state: string,
  tenant: LoadedTenant,
  format: Format,
  file: string,
): Promise<Round> {
  const service = await startService(state, METERED);
  try {
    const made = await runExport(service, tenant, { format });
    await fetchFile(service, made.download, file);
    if (statSync(file).size !== made.size)
      throw new Error('the download differs in size from the export');
    const platform = await measurePlatform(service, tenant, made, join(state, 'proof'));
    const ratio = (platform.read + platform.stored + platform.proven) / made.seconds;
    return { made, ...platform, ratio };
  } finally {
    await service.stop();
  }
}

/**
 * Measures the seconds that D1 takes to read the rows of an export, and that R2 takes to store its
 * file and to read and store what its proof needs.
 */
async function measurePlatform(
  service: Service,
  tenant: LoadedTenant,
  { size, proof }: Made,
  proofFile: string,
) {
  const client = new Client(service.origin, tenant.token);
  const post = (path: string, body: object) => timed(() => client.expect(200, 'POST', path, body));
  const read = await post('/bench/read', {
    account: tenant.number,
    batch: BATCH,
  });
  const stored = await post('/bench/store', { bytes: size, part: PART });
  if (proof === null) return { read, stored, proven: 0 };
  await fetchFile(service, proof, proofFile);
  const tiles = await post('/bench/tiles', { id: tenant.id, entries: ENTRIES, batch: TILES });
  const proven =
    tiles + (await post('/bench/store', { bytes: statSync(proofFile).size, part: PART }));
  return { read, stored, proven };
}

/**
 * Compares the peak memory of a runtime with a small heap for a tenth of the rows and for all rows.
 */
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
      `${format}, heap of ${SMALL_HEAP} MB, ${MEMORY_ENTRIES} entries: peak memory of workerd ${tenth} MB with a tenth of the rows, ${all} MB with all (at most ${MAX_GROWTH} times as much)`,
    );
  }
}

/** Measures the rows that exports with and without filters read for each exported row. */
async function measureRowsRead(report: Report, state: string, tenant: LoadedTenant): Promise<void> {
  const [agent] = tenant.agents;
  const filters: Record<string, object> = {
    'no filter': {},
    'no filter, no details': { include_details: false },
    'one agent': { agent_id: agent?.id },
    'two types': { event_types: ['approve', 'revoke'] },
    'one agent, two types': { agent_id: agent?.id, event_types: ['approve', 'use'] },
    'one agent, half of the time': { agent_id: agent?.id, end_date: middleOf(tenant) },
  };
  const service = await startService(state, METERED);
  const client = new Client(service.origin, tenant.token);
  try {
    for (const [name, filter] of Object.entries(filters)) {
      const before = await rowsRead(client);
      const { rows } = await runExport(service, tenant, { format: 'csv', ...filter });
      const ratio = ((await rowsRead(client)) - before) / rows;
      report.verdict(
        // A ratio below 1 means that the counter was reset during the export.
        ratio >= 1 && ratio <= MAX_READ,
        `${name}: ${ratio.toFixed(3)} rows read per exported row, ${rows} rows (at most ${MAX_READ})`,
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

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}

async function runExport(service: Service, tenant: Tenant, wanted: Wanted): Promise<Made> {
  const client = new Client(service.origin, tenant.token);
  const asked = {
    start_date: '2000-01-01',
    end_date: '2100-01-01',
    include_details: true,
    ...wanted,
  };
  const runtimes = findRuntimes(service.pid);
  let peak = 0;
  const started = performance.now();
  const { body } = await client.expect<{ export_id: string }>(
    202,
    'POST',
    '/v1/audit/export',
    asked,
  );
  for (;;) {
    const { body: shown } = await client.expect<Export>(
      200,
      'GET',
      `/v1/audit/export/${body.export_id}`,
    );
    peak = Math.max(peak, ...runtimes.map(memoryOf));
    if (shown.status === 'completed') {
      const seconds = (performance.now() - started) / 1_000;
      const {
        row_count: rows,
        file_size_bytes: size,
        download_url: download,
        proof_url: proof = null,
      } = shown;
      return { rows, seconds, size, peak: Math.round(peak), download, proof };
    }
    if (shown.status !== 'processing') throw new Error(`the export is ${shown.status}`);
    await new Promise((resolve) => setTimeout(resolve, POLL));
  }
}

async function fetchFile(service: Service, url: string, file: string): Promise<void> {
  const { pathname, search } = new URL(url);
  const response = await fetch(service.origin + pathname + search);
  await pipeline(Readable.fromWeb(response.body as never), createWriteStream(file));
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}

/** The private memory of a process, in MB, without mapped files. */
function memoryOf(pid: string): number {
  return (
    Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024
  );
}

/** Reads the files of all formats with DuckDB, and compares their contents. */
async function compareFiles(report: Report, files: Map<Format, string>): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const duck = await instance.connect();
  const columns = `id, sequence::bigint as sequence, user_id, agent_id, permission_request_id, event_type, action,
    resource, ip_address, user_agent, created_at::timestamptz as created_at, details::varchar as details`;
  await duck.run(`set timezone = 'UTC'`);
  await duck.run(
    `create table p as select ${columns} from read_parquet('${files.get('parquet')}')`,
  );
  const others = {
    // CSV has no null: an empty cell is read as an empty text, for example the address of an action
    // of the service.
    csv: `read_csv('${files.get('csv')}', header = true, all_varchar = true, quote = '"', escape = '"',
      force_not_null = ['ip_address'])`,
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
      differences === 0 && rows === ENTRIES,
      `DuckDB reads the same from ${format} and parquet: ${differences} differences in ${rows} rows`,
    );
  }
  duck.closeSync();
}
