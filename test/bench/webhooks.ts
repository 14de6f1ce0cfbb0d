import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fillLog } from '../support/local/fill-log.ts';
import { prepareState, type Service, startService, sweep } from '../support/local/service.ts';
import { createTenant, type Tenant } from '../support/local/tenant.ts';
import { Receiver } from './receiver.ts';
import { quantile, type Report } from './report.ts';
import { permissionOf, registerWebhooks, requestPermission } from './webhook-events.ts';
import { measureFirstHang, measureIsolation } from './webhook-isolation.ts';

const ENTRIES = 10_000;
const MIN_RATIO = 0.5;
const MAX_WRITTEN = 6;
const MAX_READ = 20;
const SAMPLES = 300;

/** A message of about the size of an entry's message. */
const MESSAGE = JSON.stringify({
  event: 'audit.created',
  timestamp: '',
  data: { details: 'x'.repeat(450) },
});

/**
 * Measures webhook deliveries compared with a queue consumer that only sends requests, and how late
 * entries arrive.
 */
export async function measureWebhooks(report: Report, folder: string): Promise<void> {
  report.heading(`Webhooks: ${ENTRIES} entries to a receiver on loopback`);
  const receiver = await Receiver.start();
  try {
    const plain = await measurePlainConsumer(folder, receiver);
    report.note(`a queue consumer that only sends requests: ${Math.round(plain)} deliveries/s`);
    for (const webhooks of [1, 10]) await measureBacklog(report, folder, receiver, webhooks, plain);
    await measureLatency(report, folder, receiver);
    await measureIsolation(report, (name) => freshState(folder, name), receiver);
    await measureFirstHang(report, (name) => freshState(folder, name), receiver);
    await measureCrash(report, folder, receiver);
  } finally {
    await receiver.stop();
  }
}

async function measurePlainConsumer(folder: string, receiver: Receiver): Promise<number> {
  const state = await freshState(folder);
  const options = [
    '--config',
    'test/bench/plain-consumer.toml',
    '--var',
    `RECEIVER:${receiver.origin}/plain`,
  ];
  const service = await startService(state, undefined, options);
  try {
    const send = async (count: number) => {
      receiver.count = 0;
      const started = performance.now();
      await fetch(service.origin, {
        method: 'POST',
        body: JSON.stringify({ count, body: MESSAGE }),
      });
      await receiver.until(count);
      return count / ((performance.now() - started) / 1_000);
    };
    await send(500);
    return await send(ENTRIES);
  } finally {
    await service.stop();
  }
}

async function measureBacklog(
  report: Report,
  folder: string,
  receiver: Receiver,
  webhooks: number,
  plain: number,
) {
  const state = await freshState(folder);
  await prepareTenant(state, receiver, webhooks);
  fillLog(state, ENTRIES);
  const service = await startService(state, 'test/bench/webhook-worker.ts');
  try {
    receiver.count = 0;
    await takeCost(service);
    const started = performance.now();
    await sweep(service);
    await receiver.until(ENTRIES * webhooks);
    const speed = (ENTRIES * webhooks) / ((performance.now() - started) / 1_000);
    await settled();
    const cost = await takeCost(service);
    const each = (rows: number) => Math.round((100 * rows) / (ENTRIES * webhooks)) / 100;
    const ratio = speed / plain;
    const what = `${webhooks} webhook${webhooks > 1 ? 's' : ''}`;
    report.verdict(
      ratio >= MIN_RATIO,
      `${what}: ${Math.round(speed)} deliveries/s, ${ratio.toFixed(2)} of the plain consumer (at least ${MIN_RATIO})`,
    );
    report.atMost(MAX_WRITTEN, each(cost.written), `${what}: rows written per delivery`);
    report.atMost(MAX_READ, each(cost.read), `${what}: rows read per delivery`);
    if (receiver.count !== ENTRIES * webhooks)
      report.verdict(false, `${what}: ${receiver.count} messages arrived`);
  } finally {
    await service.stop();
  }
}

async function measureLatency(report: Report, folder: string, receiver: Receiver): Promise<void> {
  const state = await freshState(folder);
  const service = await startService(state);
  try {
    const tenant = await createTenant(service.origin, 'team', 1);
    await registerWebhooks(service, tenant, receiver, 1);
    const latencies = await measureArrival(service, tenant, receiver);
    report.note(
      `from commit to arrival: p50 ${quantile(latencies, 0.5).toFixed(0)} ms, p99 ${quantile(latencies, 0.99).toFixed(0)} ms`,
    );
  } finally {
    await service.stop();
  }
}

/**
 * Kills the service three times during a thousand deliveries, and checks that all of them arrive.
 */
async function measureCrash(report: Report, folder: string, receiver: Receiver): Promise<void> {
  const entries = 1_000;
  const state = await freshState(folder);
  await prepareTenant(state, receiver, 1);
  fillLog(state, entries);
  const arrived = new Map<string, string>();
  const healthy = receiver.behave;
  receiver.behave = (path, body, response) => {
    const { id } = JSON.parse(body).data as { id: string };
    if ((arrived.get(id) ?? body) !== body)
      report.verdict(false, 'a message differs between two attempts');
    arrived.set(id, body);
    healthy(path, body, response);
  };
  receiver.count = 0;
  for (const part of [0.1, 0.5, 0.9]) {
    const service = await startService(state);
    await sweepUntil(service, () => receiver.count >= entries * part);
    await service.kill();
  }
  const service = await startService(state);
  try {
    await sweepUntil(service, () => arrived.size >= entries);
    await settled();
    const text = `after three kills during ${entries} deliveries: ${arrived.size} arrived, ${receiver.count - arrived.size} repeated`;
    report.verdict(arrived.size === entries, text);
  } finally {
    receiver.behave = healthy;
    await service.stop();
  }
}

/** Requests permissions one after the other, and measures how late each message arrives. */
async function measureArrival(
  service: Service,
  tenant: Tenant,
  receiver: Receiver,
): Promise<number[]> {
  const committed = new Map<string, number>();
  const arrivals: { id: string; time: number }[] = [];
  const before = receiver.behave;
  receiver.behave = (path, body, response) => {
    arrivals.push({ id: permissionOf(body), time: performance.now() });
    before(path, body, response);
  };
  for (let i = 0; i < SAMPLES; i++) {
    committed.set(await requestPermission(service, tenant), performance.now());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (const deadline = Date.now() + 60_000; arrivals.length < SAMPLES && Date.now() < deadline; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  receiver.behave = before;
  if (arrivals.length < SAMPLES)
    throw new Error(`only ${arrivals.length} of ${SAMPLES} messages arrived`);
  // A message may arrive before the answer to the request that caused it.
  return arrivals.map(({ id, time }) => Math.max(0, time - (committed.get(id) ?? time)));
}

async function freshState(folder: string, name = 'webhooks'): Promise<string> {
  const state = join(folder, name);
  rmSync(state, { recursive: true, force: true });
  mkdirSync(state);
  await prepareState(state);
  return state;
}

async function prepareTenant(state: string, receiver: Receiver, webhooks: number): Promise<void> {
  const service = await startService(state);
  try {
    await registerWebhooks(
      service,
      await createTenant(service.origin, 'team', 1),
      receiver,
      webhooks,
    );
  } finally {
    await service.stop();
  }
}

/** Runs a sweep each second until `isDone`: the claims of a killed worker have to expire first. */
async function sweepUntil(service: Service, isDone: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 120_000; !isDone() && Date.now() < deadline; ) {
    await sweep(service);
    for (let i = 0; i < 200 && !isDone(); i++)
      await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function takeCost({ origin }: Service): Promise<{ read: number; written: number }> {
  return (await (await fetch(`${origin}/bench/cost`)).json()) as { read: number; written: number };
}

/** Waits until the last deliveries are recorded, which takes a moment. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
}
