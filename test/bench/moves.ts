import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { idBytes } from '../../src/lib/typeid.ts';
import { addDatabases } from '../../src/tools/local-shards.ts';
import { ROOT } from '../../src/tools/project.ts';
import { Client } from '../support/local/client.ts';
import {
  databaseFile,
  databaseFiles,
  fireCron,
  prepareState,
  runWrangler,
  type Service,
  startService,
} from '../support/local/service.ts';
import { createTenant, type Tenant } from '../support/local/tenant.ts';
import { drawHistory } from './history.ts';
import { loadHistories } from './load.ts';
import { seededRandom } from './random.ts';
import { median, quantile, type Report } from './report.ts';
import type { SweepBatch } from './sweep-worker.ts';
import type { LoadedTenant } from './tenant.ts';

const ENTRIES = 100_000;
const DELIVERIES = 20_000;
const ACTIVITY = 2_000;
/** The number of entries of the account that stays. */
const KEPT = 50_000;
const AGENTS = 50;
const PAGES = 300;
const LOG_SPAN = 2 ** 32;
const DAY = 86_400_000;
const EACH_MINUTE = '* * * * *';
/** The pause between two requests of the moving account, in milliseconds. */
const PAUSE = 20;
/** A shorter sweep, in seconds, found nothing to do. */
const IDLE_RUN = 2;
const MAX_RUNS = 20;
const MAX_SLICE_MS = 100;
const MAX_SLOWDOWN = 2;
const MAX_HOLD_MS = 2_000;
const MIN_PACE = 50_000;

/**
 * Measures the move of an account that is in use: how long a slice occupies a database, how much it
 * slows down pages of another account, and how long the account is held. Checks that no row is
 * lost.
 */
export async function measureMoves(report: Report, state: string): Promise<void> {
  report.heading(`Moving an account with ${ENTRIES} entries to another shard`);
  const config = 'wrangler.bench.toml';
  const settings = readFileSync(join(ROOT, 'wrangler.toml'), 'utf8');
  writeFileSync(join(ROOT, config), addDatabases(settings, [{ binding: 'DB_01' }]));
  try {
    const start = () => startService(state, 'test/bench/sweep-worker.ts', ['--config', config]);
    await prepareState(state);
    const scene = await setScene(state);
    const first = databaseFile(state);
    const options = ['DB_01', '--local', '--persist-to', state, '--config', config];
    await runWrangler(state, 'd1', 'migrations', 'apply', ...options);
    const [second = ''] = databaseFiles(state).filter((file) => file !== first);
    await settle(start);
    const before = readAccount(first, scene);
    orderMove(first, scene.moving.id);
    const service = await start();
    const { sweeps, accepted } = await measureMove(report, service, scene).finally(() =>
      service.stop(),
    );
    const rows = checkCopy(report, before, readAccount(second, scene), accepted);
    const pace = Math.round(rows / sweeps);
    report.verdict(
      pace >= MIN_PACE,
      `rows copied per sweep, that is per minute: ${pace} (at least ${MIN_PACE})`,
    );
  } finally {
    rmSync(join(ROOT, config));
  }
}

interface Scene {
  moving: Tenant;
  /** The agent that requests permissions while its account moves; it has no history. */
  asking: { id: string; key: string };
  staying: Tenant;
}

async function setScene(state: string): Promise<Scene> {
  // So far there is one shard, so both accounts are on it.
  const service = await startService(state);
  const moving = await createTenant(service.origin, 'enterprise', AGENTS);
  const asking = await makeAgent(service, moving);
  const staying = await createTenant(service.origin, 'enterprise', 20);
  const webhook = {
    url: 'https://hooks.example.com/',
    events: ['audit.created'],
    is_active: false,
  };
  await new Client(service.origin, moving.token).expect(201, 'POST', '/v1/webhooks', webhook);
  await service.stop();
  const random = seededRandom(20_261_101);
  const now = Date.now();
  const actions = Array.from({ length: 100 }, (_, at) => `area-${at % 17}.verb-${at}`);
  const past = { actions, from: now - 80 * DAY, to: now - DAY };
  const [loaded] = loadHistories(databaseFile(state), [
    { tenant: moving, history: drawHistory(random, { ...past, entries: ENTRIES, agents: AGENTS }) },
    { tenant: staying, history: drawHistory(random, { ...past, entries: KEPT, agents: 20 }) },
  ]) as [LoadedTenant];
  use(databaseFile(state), (database) => database.exec(loadRest(loaded.number)));
  return { moving, asking, staying };
}

async function makeAgent(
  { origin }: Service,
  { token }: Tenant,
): Promise<{ id: string; key: string }> {
  const created = await new Client(origin, token).expect<{ id: string; api_key: string }>(
    201,
    'POST',
    '/v1/agents',
    {
      name: 'In use',
    },
  );
  return { id: created.body.id, key: created.body.api_key };
}

/** SQL that adds rows of other tables to the account, and makes the sealing of both logs due. */
function loadRest(account: number): string {
  return `
    insert into deliveries (receiver, id, disable_count, event, pos, agent, status, attempts, last_status_code, duration, created_at,
        completed_at)
      select number, audit_entries.id, 0, 0, pos, agent, 1, 1, 200, 20, audit_entries.created_at, audit_entries.created_at
      from receivers join audit_entries on pos between account * ${LOG_SPAN} and (account + 1) * ${LOG_SPAN}
      where account = ${account} order by pos desc limit ${DELIVERIES};
    update receivers set erase_at = ${Date.now() + 20 * DAY} where account = ${account};
    insert into activity (account, id, actor, action, target, changes, ip_address, user_agent, created_at)
      select ${account}, id, null, 0, lower(hex(id)), '["name"]', '::1', 'bench', created_at
      from audit_entries where pos > ${account} * ${LOG_SPAN} limit ${ACTIVITY};
    insert into trees (account, due_at) select number, 0 from accounts where true
      on conflict (account) do update set due_at = 0;
    pragma wal_checkpoint(truncate)`;
}

/** Runs sweeps until nothing is left to do before the move. */
async function settle(start: () => Promise<Service>): Promise<void> {
  const service = await start();
  try {
    for (let run = IDLE_RUN; run >= IDLE_RUN; ) {
      const started = performance.now();
      await fireCron(service, EACH_MINUTE);
      run = (performance.now() - started) / 1_000;
    }
  } finally {
    await service.stop();
  }
}

function orderMove(file: string, id: string): void {
  use(file, (database) => {
    const order = `insert into moves (account, id, direction, shard, created_at)
      select number, id, 0, '01', ? from accounts where id = ?`;
    database.prepare(order).run(Date.now(), idBytes(id));
  });
}

/**
 * Runs sweeps until the account is on the other shard; returns their number, and the permissions
 * requested meanwhile.
 */
async function measureMove(
  report: Report,
  service: Service,
  { asking, staying }: Scene,
): Promise<{ sweeps: number; accepted: string[] }> {
  const reader = new Client(service.origin, staying.token);
  const usual: number[] = [];
  const meanwhile: number[] = [];
  const answers: Answered[] = [];
  const batches: SweepBatch[] = [];
  const runs: number[] = [];
  let isOver = false;
  const reading = async () => {
    while (usual.length < PAGES) usual.push(await readPage(reader));
    const moving = sweeping();
    while (!isOver) meanwhile.push(await readPage(reader));
    await moving;
  };
  const asks = async () => {
    const agent = new Client(service.origin, asking.key);
    for (; !isOver; await sleep(PAUSE)) answers.push(await ask(agent));
  };
  const sweeping = async () => {
    try {
      while (runs.length < MAX_RUNS && !batches.some(isLast)) {
        const started = performance.now();
        await fireCron(service, EACH_MINUTE);
        runs.push((performance.now() - started) / 1_000);
        batches.push(...(await takeBatches(service)));
      }
    } finally {
      isOver = true;
    }
  };
  await Promise.all([reading(), asks()]);
  if (!batches.some(isLast)) throw new Error('the move did not finish');
  report.note(
    `${runs.length} sweeps, of ${runs.map((seconds) => seconds.toFixed(1)).join(', ')} s`,
  );
  reportSlices(report, batches);
  report.note(
    `a page of another account without a move, ms: ${spread(usual)}, mean ${mean(usual)}`,
  );
  report.note(
    `the same page during the move, ms: ${spread(meanwhile)}, mean ${mean(meanwhile)}; ${meanwhile.length} pages`,
  );
  const ratio = (of: (figures: number[]) => number) =>
    Math.round((100 * of(meanwhile)) / of(usual)) / 100;
  report.below(MAX_SLOWDOWN, ratio(median), 'slowdown of the median page, times');
  report.below(MAX_SLOWDOWN, ratio(mean), 'slowdown of the mean page, times');
  reportAnswers(report, answers);
  return { sweeps: runs.length, accepted: answers.flatMap(({ id }) => id ?? []) };
}

/** Whether a batch with this first statement is a turn of the mover. */
function isTurn(sql: string): boolean {
  return sql.startsWith('insert into "guards"') && sql.includes('"turns"');
}

function reportSlices(report: Report, batches: SweepBatch[]): void {
  const own = batches.filter(({ sql }) => /copied_row|"turns"|place = 1/.test(sql));
  const hold = own.findIndex(({ database, sql }) => database === 'DB' && isTurn(sql));
  report.verdict(hold > 0, `batches of the move before the hold: ${hold}`);
  const [copying, held] = [own.slice(0, hold), own.slice(hold)];
  for (const [database, what] of [
    ['DB', 'the old shard'],
    ['DB_01', 'the new shard'],
  ] as const) {
    for (const [slices, when] of [
      [copying, 'while the account is in use'],
      [held, 'while the account is held'],
    ] as const) {
      const figures = slices
        .filter((slice) => slice.database === database)
        .map((slice) => slice.held);
      const text = `a slice occupies ${what} ${when}, ms: ${spread(figures)}; p99`;
      report.atMost(MAX_SLICE_MS, quantile(figures, 0.99), text);
    }
  }
  // The last turn of the move releases the account.
  const [first, last] = [held[0], held.findLast(({ sql }) => isTurn(sql))];
  const duration = (last?.at ?? 0) + (last?.took ?? 0) - (first?.at ?? 0);
  report.atMost(MAX_HOLD_MS, duration, 'time for which the account is held, ms');
}

interface Answered {
  status: number;
  /** The id of the requested permission; null if the request was refused. */
  id: string | null;
}

function reportAnswers(report: Report, answers: Answered[]): void {
  const refused = answers.filter(({ status }) => status === 503);
  const others = answers.filter(({ status }) => status !== 201 && status !== 503);
  report.note(
    `requests refused with 503 while the account was held: ${refused.length} of ${answers.length}`,
  );
  report.verdict(
    others.length === 0,
    `requests with another answer than 201 or 503: ${others.length}`,
  );
}

/**
 * The rows of an account by table, with identifiers instead of numbers, which differ between
 * shards.
 */
type Rows = Map<string, Set<string>>;

/** @returns how many rows there are to copy */
function checkCopy(report: Report, before: Rows, after: Rows, accepted: readonly string[]): number {
  const rows = [...before.values()].reduce((sum, { size }) => sum + size, 0);
  const counts = [...before].map(([name, { size }]) => `${size} ${name}`).join(', ');
  const lost = [...before].flatMap(([name, rows]) =>
    [...rows].filter((row) => !after.get(name)?.has(row)),
  );
  report.verdict(
    rows > ENTRIES && lost.length === 0,
    `rows that are missing or changed on the new shard: ${lost.length} of ${rows} (${counts})`,
  );
  const there = new Set(
    [...(after.get('permissions') ?? [])].map((row) => (JSON.parse(row) as { id: string }).id),
  );
  const missing = accepted.filter((id) => !there.has(hex(idBytes(id))));
  report.verdict(
    missing.length === 0,
    `permissions requested during the move that are missing: ${missing.length} of ${accepted.length}`,
  );
  return rows;
}

function readAccount(file: string, { moving, asking }: Scene): Rows {
  return use(file, (database) => {
    const find = (sql: string, ...values: (number | Uint8Array)[]) =>
      database.prepare(sql).all(...values) as Record<string, number | string | null | Uint8Array>[];
    const account = Number(
      find('select number from accounts where id = ?', idBytes(moving.id))[0]?.number,
    );
    const idsOf = (table: string) =>
      new Map(
        find(`select number, id from ${table} where account = ?`, account).map(({ number, id }) => [
          number,
          id,
        ]),
      );
    const ids = { agent: idsOf('agents'), receiver: idsOf('receivers') };
    const own: Record<string, string> = {
      permissions: `account = ${account}`,
      audit_entries: `pos between ${account * LOG_SPAN} and ${(account + 1) * LOG_SPAN}`,
      activity: `account = ${account}`,
      receivers: `account = ${account}`,
      deliveries: `receiver in (select number from receivers where account = ${account})`,
      // The counters of the requesting agent change during the move.
      agent_statistics: `agent in (select number from agents where account = ${account} and id <> x'${hex(idBytes(asking.id))}')`,
    };
    const neutral = (column: string, value: number | string | null | Uint8Array) => {
      if (column === 'account' || column === 'number') return null;
      if (column === 'agent' || column === 'receiver')
        return hexOf(ids[column].get(value as number));
      if (column === 'pos' || column === 'starts_after')
        return value === null ? null : Number(value) - account * LOG_SPAN;
      return hexOf(value);
    };
    return new Map(
      Object.entries(own).map(([name, condition]) => [
        name,
        new Set(
          find(`select * from ${name} where ${condition}`).map((row) =>
            JSON.stringify(
              Object.fromEntries(
                Object.entries(row).map(([column, value]) => [column, neutral(column, value)]),
              ),
            ),
          ),
        ),
      ]),
    );
  });
}

function hexOf<V>(value: V): V | string {
  return value instanceof Uint8Array ? hex(value) : value;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** Whether a batch is the last one of a move. */
function isLast({ sql }: SweepBatch): boolean {
  return sql.startsWith('delete from "moves"');
}

async function readPage(client: Client): Promise<number> {
  const started = performance.now();
  const { status } = await client.get('/v1/audit', { limit: 50 });
  if (status !== 200) throw new Error(`a page: ${status}`);
  return performance.now() - started;
}

async function ask(agent: Client): Promise<Answered> {
  const wish = { action: 'email.send', resource: 'mailbox:support' };
  const { status, body } = await agent.call<{ id?: string }>('POST', '/v1/permissions', wish);
  return { status, id: status === 201 ? (body.id ?? null) : null };
}

async function takeBatches({ origin }: Service): Promise<SweepBatch[]> {
  return (await (await fetch(`${origin}/bench/batches`)).json()) as SweepBatch[];
}

function use<T>(file: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

function spread(figures: readonly number[]): string {
  const at = (part: number) => quantile(figures, part).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`;
}

function mean(figures: readonly number[]): number {
  return Math.round((10 * figures.reduce((sum, figure) => sum + figure, 0)) / figures.length) / 10;
}
