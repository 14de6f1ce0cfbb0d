import { Client } from '../support/local/client.ts';
import { startService } from '../support/local/service.ts';
import type { Report } from './report.ts';
import { DAY, enterprise, sealLog, setScene } from './scene.ts';
import type { LoadedTenant } from './tenant.ts';

const ENTRIES = 1_000_000;
/** How long a report may take, in seconds. */
const MAX_SECONDS = 60;
const MAX_READ_BY_ENTRY = 3;
const MAX_DAYS = 366;
const POLL = 100;

interface Shown {
  report_id: string;
  status: string;
  file_size_bytes: number;
  download_url: string;
}

/**
 * Measures compliance reports on the longest allowed period, from the request to the finished file,
 * and the rows that they read. Seals the log before, because the sweep normally does so every
 * minute.
 */
export async function measureReports(report: Report, state: string): Promise<void> {
  const [tenant] = await setScene(state, [enterprise(ENTRIES, 200, 360)] as const);
  await sealLog(state, tenant);
  const { origin, stop } = await startService(state, 'test/bench/metered-worker.ts');
  try {
    await makeReports(report, origin, tenant);
  } finally {
    await stop();
  }
}

async function makeReports(
  report: Report,
  origin: string,
  { token, history }: LoadedTenant,
): Promise<void> {
  const client = new Client(origin, token);
  const now = Date.now();
  const day = (time: number) => new Date(time).toISOString().slice(0, 10);
  const period = { start: day(now - (MAX_DAYS - 1) * DAY), end: day(now) };
  const entries = history.time.filter((time) => time >= Date.parse(period.start)).length;
  report.heading(`Compliance reports on ${entries} entries`);
  for (const format of ['json', 'pdf']) {
    const before = await rowsRead(client);
    const started = performance.now();
    const asked = { report_type: 'soc2_type2', period, format };
    const { body } = await client.expect<Shown>(202, 'POST', '/v1/audit/reports/compliance', asked);
    const shown = await finish(client, body.report_id);
    const seconds = (performance.now() - started) / 1_000;
    const size = `${Math.round(shown.file_size_bytes / 1_024)} KiB`;
    report.verdict(
      seconds <= MAX_SECONDS,
      `${format}: ${seconds.toFixed(1)} s (at most ${MAX_SECONDS}); ${size}`,
    );
    const read = ((await rowsRead(client)) - before) / entries;
    report.atMost(
      MAX_READ_BY_ENTRY,
      Math.round(read * 100) / 100,
      `${format}: rows read per entry`,
    );
    if (format !== 'json') continue;
    const { pathname, search } = new URL(shown.download_url);
    const file = (await (await fetch(origin + pathname + search)).json()) as {
      summary: { entries: number };
    };
    report.verdict(
      file.summary.entries === entries,
      `json: the report counts ${file.summary.entries} entries`,
    );
  }
}

async function rowsRead(client: Client): Promise<number> {
  return (await client.expect<{ read: number }>(200, 'GET', '/bench/jobs')).body.read;
}

async function finish(client: Client, id: string): Promise<Shown> {
  for (const deadline = Date.now() + 2 * MAX_SECONDS * 1_000; Date.now() < deadline; ) {
    const { body } = await client.expect<Shown>(200, 'GET', `/v1/audit/reports/compliance/${id}`);
    if (body.status === 'completed') return body;
    if (body.status !== 'processing') throw new Error(`the report is ${body.status}`);
    await new Promise((resolve) => setTimeout(resolve, POLL));
  }
  throw new Error('the report takes too long');
}
