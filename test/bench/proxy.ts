import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { Client } from '../support/local/client.ts';
import { prepareState, type Service, startService } from '../support/local/service.ts';
import { createTenant } from '../support/local/tenant.ts';
import { type BareService, startBareService } from './bare-service.ts';
import { median, quantile, type Report } from './report.ts';
import { startUpstream, type Upstream } from './upstream.ts';

const MAX_TRIPS_BEFORE = 2;
const MAX_WRITES_AFTER = 1;

const ROUNDS = 400;
const WARM_UP = 60;
const MEBIBYTE = 1024 * 1024;
const LARGE_ROUNDS = 40;
const HANGING = 500;
/** How much longer other requests may take beside calls that hang: other work of the machine. */
const MAX_DELAY_RATIO = 2;
/** How long the Worker may rest after an act, which is answered before its outcome is written. */
const REST = 10;

/** A call, as a program with a base URL and a key makes it. */
interface Call {
  method?: 'GET' | 'POST';
  path: string;
  key?: string;
  body?: string | Buffer;
  type?: string;
}

interface Timed {
  status: number;
  milliseconds: number;
  bytes: number;
}

/** An agent with a connection to the server: reads are allowed, as are uploads; the rest asks. */
interface Connected {
  key: string;
  /** The path of the proxy. */
  proxy: string;
  /** A permission to read. */
  permission: string;
}

/**
 * Measures what a connection adds to a call, against a Worker that only forwards: time, trips and
 * writes, large bodies, and calls that hang.
 */
export async function measureProxy(report: Report, state: string): Promise<void> {
  await prepareState(state);
  const upstream = await startUpstream();
  const filled = await startService(state);
  const connected = await connect(filled.origin, upstream).finally(() => filled.stop());
  await measureTrips(report, state);
  const service = await startBareService(state);
  const forward = await startBareService(state, { entry: 'test/bench/forward-worker.ts' });
  const scene = { service, forward, upstream, connected };
  try {
    await measureAdded(report, scene);
    await measureLargeBodies(report, scene);
    await measureHanging(report, scene);
  } finally {
    await service.stop();
    await forward.stop();
    await upstream.stop();
  }
}

interface Scene {
  service: BareService;
  forward: BareService;
  upstream: Upstream;
  connected: Connected;
}

/** Creates an agent with a connection, and a policy that approves what it asks for. */
async function connect(origin: string, { port }: Upstream): Promise<Connected> {
  // Not the first account, and one with a history.
  await createTenant(origin, 'pro', 1);
  const { token, agents } = await createTenant(origin, 'enterprise', 2);
  const [, agent] = agents;
  const user = new Client(origin, token);
  await user.expect(201, 'POST', '/v1/policies', {
    name: 'All',
    effect: 'approve',
    actions: ['*'],
    resources: ['*'],
  });
  const connection = await user.expect<{ id: string }>(201, 'POST', '/v1/connections', {
    name: 'Upstream',
    base_url: `http://127.0.0.1:${port}`,
    auth: { type: 'header' },
    secret: 'sk_of_the_bench',
    agent_ids: [agent?.id],
    rules: [
      { methods: ['GET'], effect: 'allow' },
      { methods: ['POST'], paths: [`/${MEBIBYTE}/allowed`], effect: 'allow' },
      { effect: 'ask' },
    ],
  });
  const key = agent?.key ?? '';
  const asked = await new Client(origin, key).expect<{ id: string }>(
    201,
    'POST',
    '/v1/permissions',
    {
      action: 'mail.send',
      resource: 'mailbox:support',
    },
  );
  return {
    key,
    proxy: `/v1/connections/${connection.body.id}/proxy`,
    permission: `/v1/permissions/${asked.body.id}`,
  };
}

const connections = new Agent({ keepAlive: true });

function send(origin: string, { method = 'GET', path, key, body, type }: Call): Promise<Timed> {
  const started = performance.now();
  const headers = {
    ...(key !== undefined && { Authorization: `Bearer ${key}` }),
    ...(body !== undefined && {
      'Content-Type': type ?? 'application/json',
      'Content-Length': Buffer.byteLength(body),
    }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(`${origin}${path}`, { method, headers, agent: connections });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      let bytes = 0;
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      incoming.on('error', reject);
      incoming.on('end', () => {
        const milliseconds = performance.now() - started;
        resolve({ status: incoming.statusCode ?? 0, milliseconds, bytes });
      });
    });
    outgoing.end(body);
  });
}

async function timeOf(origin: string, call: Call): Promise<number> {
  const { status, milliseconds } = await send(origin, call);
  if (status !== 200) throw new Error(`${call.method ?? 'GET'} ${call.path}: ${status}`);
  return milliseconds;
}

const rest = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Times calls in turns, so that other work on the machine meets all of them alike. */
async function inTurns<Name extends string>(
  calls: Record<Name, () => Promise<number>>,
  rounds: number,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(calls) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      times[name]?.push(await calls[name]());
      await rest(REST);
    }
  }
  return times as Record<Name, number[]>;
}

const rounded = (figure: number) => Math.round(figure * 100) / 100;

/** The calls through the service and through the Worker that only forwards. */
function pathsOf({ connected, upstream }: Scene) {
  return {
    own: (path: string) => ({ path: connected.proxy + path, key: connected.key }),
    forwarded: (path: string) => ({ path: `/${upstream.port}${path}` }),
  };
}

async function measureAdded(report: Report, scene: Scene): Promise<void> {
  report.heading(`What a connection adds on loopback, p50 of ${ROUNDS} calls in turns`);
  const { service, forward, upstream } = scene;
  const { own, forwarded } = pathsOf(scene);
  const act = () => ({ method: 'POST' as const, body: JSON.stringify({ payout: randomUUID() }) });
  const calls = {
    direct: () => timeOf(`http://127.0.0.1:${upstream.port}`, { path: '/100' }),
    forwardedRead: () => timeOf(forward.origin, forwarded('/100')),
    read: () => timeOf(service.origin, own('/100')),
    forwardedPost: () => timeOf(forward.origin, { ...forwarded('/100/acts'), ...act() }),
    act: () => timeOf(service.origin, { ...own('/100/acts'), ...act() }),
    ownRead: () =>
      timeOf(service.origin, { path: scene.connected.permission, key: scene.connected.key }),
  };
  await inTurns(calls, WARM_UP);
  const times = await inTurns(calls, ROUNDS);
  const p50 = (name: keyof typeof calls) => median(times[name]);
  const show = (name: keyof typeof calls) =>
    `${p50(name).toFixed(2)} ms (p99 ${quantile(times[name], 0.99).toFixed(1)})`;
  report.note(`the other service itself: ${show('direct')}`);
  report.note(`reading a permission, which sends nothing: ${show('ownRead')}`);
  const readRatio = rounded(p50('read') / p50('forwardedRead'));
  report.note(
    `an allowed read: ${show('read')}; forwarded only: ${show('forwardedRead')}; ratio ${readRatio}`,
  );
  const actRatio = rounded(p50('act') / p50('forwardedPost'));
  report.note(
    `an act by policy: ${show('act')}; forwarded only: ${show('forwardedPost')}; ratio ${actRatio}`,
  );
}

interface Totals {
  trips: number;
  written: number;
}

/** Counts trips to the database until a call arrives, and after it. */
async function measureTrips(report: Report, state: string): Promise<void> {
  report.heading('Trips to the database of a call through a connection');
  const service = await startService(state, 'test/bench/metered-worker.ts');
  const arrivals: Totals[] = [];
  const upstream = await startUpstream(async () => {
    arrivals.push(await totalsOf(service));
  });
  try {
    const { key, proxy } = await connect(service.origin, upstream);
    const kinds = {
      'an allowed read': () => ({ path: `${proxy}/100`, key }),
      'an act by policy': () => ({
        method: 'POST' as const,
        path: `${proxy}/100/acts`,
        key,
        body: JSON.stringify({ payout: randomUUID() }),
      }),
    };
    for (const [name, next] of Object.entries(kinds)) {
      // The first calls of a minute also record the use of the credentials.
      await timeOf(service.origin, next());
      await settle(service);
      const before = await totalsOf(service);
      await timeOf(service.origin, next());
      const arrived = arrivals.at(-1) ?? before;
      const after = await settle(service);
      const trips = [arrived.trips - before.trips, after.trips - arrived.trips];
      const written = [arrived.written - before.written, after.written - arrived.written];
      report.note(`${name}: rows written before it is sent ${written[0]}, after it ${written[1]}`);
      report.atMost(MAX_TRIPS_BEFORE, trips[0] ?? 0, `${name}: trips before it is sent`);
      report.atMost(MAX_WRITES_AFTER, trips[1] ?? 0, `${name}: trips after it, which write`);
    }
  } finally {
    await service.stop();
    await upstream.stop();
  }
}

async function totalsOf({ origin }: Service): Promise<Totals> {
  const answer = await fetch(`${origin}/bench/totals`);
  return (await answer.json()) as Totals;
}

/** Waits until the service has done what it does after its answers. */
async function settle(service: Service): Promise<Totals> {
  let [last, now] = [await totalsOf(service), null as Totals | null];
  while (now?.trips !== last.trips) {
    if (now) last = now;
    await rest(300);
    now = await totalsOf(service);
  }
  return now;
}

async function measureLargeBodies(report: Report, scene: Scene): Promise<void> {
  report.heading(`Bodies of 1 MiB both ways, p50 of ${LARGE_ROUNDS} calls in turns`);
  const { service, forward } = scene;
  const { own, forwarded } = pathsOf(scene);
  const path = `/${MEBIBYTE}`;
  const upload = () => ({
    method: 'POST' as const,
    body: randomBytes(MEBIBYTE),
    type: 'application/octet-stream',
  });
  const json = JSON.stringify({ text: 'x'.repeat(MEBIBYTE - 20) });
  const calls = {
    forwarded: () => timeOf(forward.origin, { ...forwarded(`${path}/allowed`), ...upload() }),
    allowed: () => timeOf(service.origin, { ...own(`${path}/allowed`), ...upload() }),
    json: () => timeOf(service.origin, { ...own(`${path}/allowed`), method: 'POST', body: json }),
    act: () => timeOf(service.origin, { ...own(`${path}/acts`), ...upload() }),
  };
  await inTurns(calls, 5);
  const before = memoryOf(service);
  const times = await inTurns(calls, LARGE_ROUNDS);
  const p50 = (name: keyof typeof calls) => median(times[name]);
  for (const name of ['allowed', 'json', 'act'] as const) {
    const ratio = rounded(p50(name) / p50('forwarded'));
    report.note(`${name}: ${p50(name).toFixed(1)} ms, ratio to forwarded only ${ratio}`);
  }
  report.note(`forwarded only: ${p50('forwarded').toFixed(1)} ms`);
  const at = { ...own(`${path}/acts`) };
  await Promise.all(
    Array.from({ length: 20 }, () => timeOf(service.origin, { ...at, ...upload() })),
  );
  report.note(
    `memory of the runtime: ${before} MiB before, ${memoryOf(service)} MiB after ${3 * LARGE_ROUNDS} calls and 20 at once`,
  );
}

/** The memory that the runtime of a service holds, in MiB. */
function memoryOf({ runtime }: BareService): number {
  if (process.platform !== 'linux') return 0;
  const status = readFileSync(`/proc/${runtime}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

async function measureHanging(report: Report, scene: Scene): Promise<void> {
  report.heading(`Other requests beside ${HANGING} calls that hang, half of them acts`);
  const { service, upstream, connected } = scene;
  const { own } = pathsOf(scene);
  const others = {
    'reading a permission': () =>
      timeOf(service.origin, { path: connected.permission, key: connected.key }),
    'an allowed read': () => timeOf(service.origin, own('/100')),
    'an act by policy': () =>
      timeOf(service.origin, {
        ...own('/100/acts'),
        method: 'POST',
        body: JSON.stringify({ payout: randomUUID() }),
      }),
  };
  const alone = await inTurns(others, 200);
  const leave = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const startedAt = performance.now();
  const calls = Array.from({ length: HANGING }, (_, at) =>
    hang(service.origin, leave, {
      ...own(`/hang/${at}`),
      ...(at % 2 === 1 && { method: 'POST', body: JSON.stringify({ payout: randomUUID() }) }),
    }),
  );
  while (upstream.hanging() < HANGING) await rest(20);
  report.note(`all ${HANGING} were sent within ${Math.round(performance.now() - startedAt)} ms`);
  const beside = await inTurns(others, 200);
  for (const name of Object.keys(others) as (keyof typeof others)[]) {
    const show = (times: number[]) =>
      `p50 ${median(times).toFixed(2)}, p99 ${quantile(times, 0.99).toFixed(1)} ms`;
    report.note(`${name}: alone ${show(alone[name])}; beside them ${show(beside[name])}`);
    const ratio = rounded(median(beside[name]) / median(alone[name]));
    report.atMost(MAX_DELAY_RATIO, ratio, `${name}: p50 beside them, in ratio to alone`);
  }
  report.verdict(upstream.hanging() === HANGING, `${HANGING} calls still hang`);
  leave.destroy();
  await Promise.all(calls);
}

/** Makes a call that no answer comes to, until its connection is destroyed. */
function hang(origin: string, agent: Agent, { method, path, key, body }: Call): Promise<void> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  return new Promise((resolve) => {
    const outgoing = request(`${origin}${path}`, { method, headers, agent });
    outgoing.on('error', () => resolve());
    outgoing.on('response', ({ statusCode }) => {
      throw new Error(`the call was answered ${statusCode}`);
    });
    outgoing.end(body);
  });
}
