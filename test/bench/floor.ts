import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { idBytes } from '../../src/lib/typeid.ts';
import { Client } from '../support/local/client.ts';
import {
  databaseFile,
  prepareState,
  type Service,
  startService,
} from '../support/local/service.ts';
import { createTenant } from '../support/local/tenant.ts';
import { type BareService, startBareService } from './bare-service.ts';
import type { Report } from './report.ts';

/** The least share of the floor's requests that the service answers with the same CPU time. */
const GOALS = { read: 0.7, ask: 0.6, page: 0.6, use: 0.7 } as const;
type Call = keyof typeof GOALS;

const ROUNDS = 6;
const REQUESTS = 80;
const CONCURRENCY = 4;

const ASKED = {
  action: 'mail.send',
  resource: 'mailbox:support',
  scope: { max_recipients: 10 },
  max_uses: 1_000,
};

type Permission = { id: string; token: { value: string } | null };
type Request = { method: 'GET' | 'POST'; path: string; credential: string; body?: object };

/**
 * Compares the CPU time of the service with that of a Worker that does the least with the same
 * database: see `floor-worker.ts`. Both run on copies of the same database, in turns. Other work on
 * the machine only adds to a figure, so the best of several rounds is the most accurate.
 */
export async function measureFloor(report: Report, state: string): Promise<void> {
  report.heading('CPU time of the runtime for a request, against a Worker that does the least');
  if (process.platform !== 'linux') {
    report.note('measured on Linux only');
    return;
  }
  const [own, floor] = [`${state}/service`, `${state}/floor`];
  await prepareState(own);
  const filled = await startService(own, 'test/bench/metered-worker.ts');
  const calls = await fill(filled);
  const batches = {} as Record<Call, number[]>;
  for (const call of Object.keys(GOALS) as Call[])
    batches[call] = await countStatements(filled, calls[call]);
  await filled.stop();
  const permission = findPermission(databaseFile(own), calls.read.path);
  cpSync(own, floor, { recursive: true });
  const service = await startBareService(own);
  const least = await startBareService(floor, { entry: 'test/bench/floor-worker.ts' });
  try {
    for (const call of Object.keys(GOALS) as Call[]) {
      const { method, credential, body } = calls[call];
      const path = `/${permission.account}/${permission.id}/${call}`;
      const asked = { method, path, credential, ...(body && { body }) };
      const written = await rowsWritten(service, calls[call]);
      const writtenByLeast = await rowsWritten(least, asked);
      report.verdict(
        written === writtenByLeast,
        `${call}: both write ${written} rows (${writtenByLeast})`,
      );
      await compare(report, call, [
        () => cpuTime(service, calls[call]),
        () => cpuTime(least, asked),
      ]);
      const empty = `/${permission.account}/${permission.id}/batches?sizes=${batches[call]}`;
      await noteBatches(report, least, { method: 'GET', path: empty, credential });
    }
  } finally {
    await service.stop();
    await least.stop();
  }
}

/** Fills a log, and returns the request of each call. */
async function fill({ origin }: Service): Promise<Record<Call, Request>> {
  const { token, agents } = await createTenant(origin, 'enterprise', 1);
  const key = agents[0]?.key ?? '';
  const [user, agent] = [new Client(origin, token), new Client(origin, key)];
  let permission: Permission | undefined;
  for (let i = 0; i < 30; i++) {
    const asked = await agent.expect<Permission>(201, 'POST', '/v1/permissions', ASKED);
    permission = asked.body;
    await user.expect(200, 'POST', `/v1/permissions/${permission.id}/approve`);
  }
  const path = `/v1/permissions/${permission?.id}`;
  const { body } = await agent.expect<Permission>(200, 'GET', path);
  const used = { token: body.token?.value };
  return {
    read: { method: 'GET', path, credential: key },
    ask: { method: 'POST', path: '/v1/permissions', credential: key, body: ASKED },
    page: { method: 'GET', path: '/v1/audit', credential: token },
    use: { method: 'POST', path: '/v1/tokens/use', credential: key, body: used },
  };
}

function findPermission(file: string, path: string): { account: number; id: string } {
  const id = idBytes(path.slice(path.lastIndexOf('/') + 1));
  const database = new DatabaseSync(file);
  const row = database.prepare('select account from permissions where id = ?').get(id);
  database.close();
  return { account: Number(row?.account), id: Buffer.from(id).toString('hex') };
}

async function compare(
  report: Report,
  call: Call,
  [measureOwn, measureLeast]: [() => Promise<number>, () => Promise<number>],
): Promise<void> {
  const [own, least]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    own.push(await measureOwn());
    least.push(await measureLeast());
  }
  const share = Math.round((Math.min(...least) / Math.min(...own)) * 100) / 100;
  const milliseconds = (figures: number[]) => Math.min(...figures).toFixed(2);
  const goal = GOALS[call];
  report.verdict(
    share >= goal,
    `${call}: ${milliseconds(own)} ms, the least ${milliseconds(least)} ms: ${share} of the floor (at least ${goal})`,
  );
}

/**
 * The numbers of statements of each round trip of a call: one trip reads, and one writes. Calls it
 * twice, because the first call has some of its own.
 */
async function countStatements({ origin }: Service, request: Request): Promise<number[]> {
  const client = new Client(origin, request.credential);
  await client.call(request.method, request.path, request.body);
  const { statements } = await client.call(request.method, request.path, request.body);
  const reads = statements.filter(({ sql }) => sql.startsWith('select')).length;
  return [reads, statements.length - reads].filter((size) => size > 0);
}

/** Notes what the round trips and statements of a call cost alone, if they do nothing. */
async function noteBatches(report: Report, least: BareService, request: Request): Promise<void> {
  const figures: number[] = [];
  for (let round = 0; round < ROUNDS; round++) figures.push(await cpuTime(least, request));
  const sizes = request.path.slice(request.path.indexOf('=') + 1);
  report.note(`its ${sizes} statements alone, empty: ${Math.min(...figures).toFixed(2)} ms`);
}

/** The rows that one request writes, after another one has marked the account as due. */
async function rowsWritten({ origin }: BareService, request: Request): Promise<number> {
  const client = new Client(origin, request.credential);
  await client.call(request.method, request.path, request.body);
  return (await client.call(request.method, request.path, request.body)).cost.written;
}

/** The CPU time of the runtime for one request, in milliseconds. */
async function cpuTime({ origin, runtime }: BareService, request: Request): Promise<number> {
  const client = new Client(origin, request.credential);
  const send = async () => {
    for (let sent = 0; sent < REQUESTS / CONCURRENCY; sent++) {
      const { status, body } = await client.call(request.method, request.path, request.body);
      if (status >= 300) throw new Error(`${request.path}: ${status} ${JSON.stringify(body)}`);
    }
  };
  const before = usedTime(runtime);
  await Promise.all(Array.from({ length: CONCURRENCY }, send));
  return (usedTime(runtime) - before) / REQUESTS;
}

/** The CPU time that the threads of a process have used, in milliseconds. */
function usedTime(pid: string): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(nanoseconds);
  });
  return threads.reduce((total, nanoseconds) => total + nanoseconds, 0) / 1_000_000;
}
