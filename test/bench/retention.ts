import { DatabaseSync } from 'node:sqlite';
import { Client } from '../support/local/client.ts';
import {
  databaseFile,
  fireCron,
  prepareState,
  type Service,
  startService,
} from '../support/local/service.ts';
import { createTenant } from '../support/local/tenant.ts';
import { drawHistory } from './history.ts';
import { loadHistories } from './load.ts';
import { seededRandom } from './random.ts';
import { median, quantile, type Report } from './report.ts';
import type { SweepBatch } from './sweep-worker.ts';
import type { LoadedTenant } from './tenant.ts';

const EXPIRED = 1_000_000;
const KEPT = 200_000;
const IDLE_ACCOUNTS = 100_000;
const MAX_SLICE_MS = 100;
const MAX_SLOWDOWN = 2;
const PAGES = 300;
/**
 * The number of measured sweeps, the hourly one first: how many entries they erase is part of the
 * measurement.
 */
const RUNS = 2;
const DAY = 86_400_000;
const HOURLY = '17 * * * *';
const EACH_MINUTE = '* * * * *';

/**
 * Measures the erasure of a million expired entries: how long a slice occupies the database, how
 * many rows it writes, and how much it slows down pages of another account. Checks that accounts
 * with nothing to erase cost the sweeps nothing.
 */
export async function measureRetention(report: Report, state: string): Promise<void> {
  report.heading(`Retention: ${EXPIRED} expired entries`);
  await prepareState(state);
  const { reader } = await setScene(state);
  const service = await startService(state, 'test/bench/sweep-worker.ts');
  try {
    await measureErasure(report, service, new Client(service.origin, reader.token));
  } finally {
    await service.stop();
  }
  await measureIdleAccounts(report, state);
}

/** Makes an account whose entries have all expired, and another one that reads pages meanwhile. */
async function setScene(state: string): Promise<{ expired: LoadedTenant; reader: LoadedTenant }> {
  const service = await startService(state);
  const expired = await createTenant(service.origin, 'free', 50);
  const reader = await createTenant(service.origin, 'enterprise', 20);
  await service.stop();
  const random = seededRandom(20_260_417);
  const now = Date.now();
  const actions = Array.from({ length: 100 }, (_, at) => `area-${at % 17}.verb-${at}`);
  const past = { actions, from: now - 200 * DAY, to: now - 20 * DAY };
  const [first, second] = loadHistories(databaseFile(state), [
    { tenant: expired, history: drawHistory(random, { ...past, entries: EXPIRED, agents: 50 }) },
    { tenant: reader, history: drawHistory(random, { ...past, entries: KEPT, agents: 20 }) },
  ]) as [LoadedTenant, LoadedTenant];
  const database = new DatabaseSync(databaseFile(state));
  database.exec(`
    insert into trees (account, size) values (${first.number}, ${EXPIRED}), (${second.number}, ${KEPT})
      on conflict (account) do update set size = excluded.size, due_at = null;
    update accounts set retention_due_at = 0;
    pragma wal_checkpoint(truncate)`);
  database.close();
  return { expired: first, reader: second };
}

async function measureErasure(report: Report, service: Service, reader: Client): Promise<void> {
  const usual = await readPages(reader, async (read) => {
    for (let page = 0; page < PAGES; page++) await read();
  });
  await takeBatches(service);
  const slices: SweepBatch[] = [];
  const meanwhile: number[] = [];
  const started = performance.now();
  for (let run = 0; run < RUNS; run++) {
    const pages = await readPages(reader, async (read) => {
      let isOver = false;
      const sweep = fireCron(service, run === 0 ? HOURLY : EACH_MINUTE).finally(() => {
        isOver = true;
      });
      while (!isOver) await read();
      await sweep;
    });
    meanwhile.push(...pages);
    slices.push(...(await takeBatches(service)).filter(({ erased }) => erased > 0));
  }
  const seconds = (performance.now() - started) / 1_000;
  const erased = slices.reduce((sum, slice) => sum + slice.erased, 0);
  const written = slices.reduce((sum, slice) => sum + slice.written, 0);
  report.note(
    `${RUNS} sweeps erase ${erased} entries of one account in ${slices.length} slices, in ${seconds.toFixed(0)} s`,
  );
  report.note(`rows written per entry, including its permission: ${(written / erased).toFixed(2)}`);
  for (const [what, figures] of [
    ['a slice occupies the database', slices.map(({ held }) => held)],
    ['a slice takes, including the round trip', slices.map(({ took }) => took)],
  ] as const) {
    report.atMost(MAX_SLICE_MS, quantile(figures, 0.99), `${what}, ms: ${spread(figures)}; p99`);
  }
  report.note(`a page without a sweep, ms: ${spread(usual)}, mean ${mean(usual)}`);
  report.note(
    `the same page during the sweeps, ms: ${spread(meanwhile)}, mean ${mean(meanwhile)}; ${meanwhile.length} pages`,
  );
  const ratio = (of: (figures: number[]) => number) =>
    Math.round((100 * of(meanwhile)) / of(usual)) / 100;
  report.below(MAX_SLOWDOWN, ratio(median), 'slowdown of the median page, times');
  report.below(MAX_SLOWDOWN, ratio(mean), 'slowdown of the mean page, times');
}

/**
 * Compares the rows that the sweeps read with and without a hundred thousand accounts in which
 * nothing is due.
 */
async function measureIdleAccounts(report: Report, state: string): Promise<void> {
  const reads: number[] = [];
  const change = (sql: string) => {
    const database = new DatabaseSync(databaseFile(state));
    database.exec(`${sql}; pragma wal_checkpoint(truncate)`);
    database.close();
  };
  change('update accounts set retention_due_at = null');
  for (const idle of [0, IDLE_ACCOUNTS]) {
    const soon = Date.now() + DAY;
    change(`
      insert into accounts (id, email, plan, is_active, created_at, updated_at, retention_due_at)
      with recursive n(value) as (select 1 union all select value + 1 from n where value < ${idle})
      select randomblob(16), 'idle@example.com', 0, 1, 0, 0, iif(value % 2, null, ${soon}) from n where ${idle} > 0`);
    const service = await startService(state, 'test/bench/sweep-worker.ts');
    try {
      // The first run finishes earlier work, the second is measured.
      for (let run = 0; run < 2; run++) {
        await takeBatches(service);
        await fireCron(service, HOURLY);
        await fireCron(service, EACH_MINUTE);
      }
      reads.push((await takeBatches(service)).reduce((sum, { read }) => sum + read, 0));
    } finally {
      await service.stop();
    }
  }
  const [without = 0, withIdle = 0] = reads;
  report.verdict(
    withIdle === without,
    `rows that the two sweeps read: ${without}; with ${IDLE_ACCOUNTS} idle accounts: ${withIdle}`,
  );
}

async function readPages(
  client: Client,
  work: (read: () => Promise<void>) => Promise<void>,
): Promise<number[]> {
  const times: number[] = [];
  await work(async () => {
    const started = performance.now();
    const { status } = await client.get('/v1/audit', { limit: 50 });
    if (status !== 200) throw new Error(`a page: ${status}`);
    times.push(performance.now() - started);
  });
  return times;
}

async function takeBatches({ origin }: Service): Promise<SweepBatch[]> {
  return (await (await fetch(`${origin}/bench/batches`)).json()) as SweepBatch[];
}

function spread(figures: readonly number[]): string {
  const at = (part: number) => quantile(figures, part).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`;
}

function mean(figures: readonly number[]): number {
  return Math.round((10 * figures.reduce((sum, figure) => sum + figure, 0)) / figures.length) / 10;
}
