import type { ServerResponse } from 'node:http';
import type { Receiver } from './receiver.ts';
import type { Report } from './report.ts';
import { type Service, startService } from './service.ts';
import { createTenant, type Tenant } from './tenant.ts';
import { permissionOf, quantile, registerWebhooks, requestPermission } from './webhook-events.ts';

/** Accounts, and the webhooks of each that answer, and that hang. */
const ACCOUNTS = 2;
const EACH = 25;
/** Events of each account that are measured, at most, after some that are not. */
const ROUNDS = 30;
const WARM_UP = 3;
/** After so long no further one is measured, in milliseconds. */
const BUDGET = 40_000;
const LIMIT = 2;

/** A service whose webhooks are told of events. */
interface Side {
  service: Service;
  tenants: Tenant[];
  /** How late messages arrived, in milliseconds. */
  latencies: number[];
}

/**
 * Measures how late fifty webhooks that answer hear of an event: of one service by themselves, of another beside fifty
 * that hang. The two take turns, event by event, so that neither is warmer and what else the machine does hits both. An
 * event comes when all have heard of the one before, so that no queue grows, which would be the measure of the machine.
 * @param prepare makes the state of a service, by name
 */
export async function measureIsolation(
  report: Report,
  prepare: (name: string) => Promise<string>,
  receiver: Receiver,
): Promise<void> {
  const healthy = receiver.behave;
  const arrivals = new Map<string, number[]>();
  const failed = new Set<string>();
  const hanging: ServerResponse[] = [];
  receiver.behave = (path, body, response) => {
    if (!path.startsWith('/ill')) {
      const times = arrivals.get(permissionOf(body)) ?? [];
      arrivals.set(permissionOf(body), [...times, performance.now()]);
      response.end();
    } else if (failed.has(path)) {
      hanging.push(response);
    } else {
      failed.add(path);
      response.writeHead(500).end();
    }
  };
  const services: Service[] = [];
  const open = async (name: string): Promise<Side> => {
    const service = await startService(await prepare(name));
    services.push(service);
    const tenants: Tenant[] = [];
    for (let i = 0; i < ACCOUNTS; i++) {
      const tenant = await createTenant(service.origin, 'team', 1);
      await registerWebhooks(service, tenant, receiver, EACH);
      tenants.push(tenant);
    }
    return { service, tenants, latencies: [] };
  };
  try {
    const alone = await open('alone');
    const beside = await open('beside');
    for (const tenant of beside.tenants) await registerWebhooks(beside.service, tenant, receiver, EACH, '/ill');
    await tellAll(beside, arrivals);
    await until(() => failed.size === ACCOUNTS * EACH);
    let rounds = -WARM_UP;
    let end = Number.POSITIVE_INFINITY;
    for (; rounds < ROUNDS && Date.now() < end; rounds++) {
      if (rounds === 0) end = Date.now() + BUDGET;
      // Each is first as often as the other.
      for (const side of rounds % 2 === 0 ? [alone, beside] : [beside, alone]) {
        const latencies = await tellAll(side, arrivals);
        if (rounds >= 0) side.latencies.push(...latencies);
      }
    }
    const show = ({ latencies }: Side) => `p50 ${quantile(latencies, 0.5)} ms, p99 ${quantile(latencies, 0.99)} ms`;
    const ratio = quantile(beside.latencies, 0.99) / quantile(alone.latencies, 0.99);
    report.verdict(
      ratio < LIMIT && hanging.length > 0,
      `50 webhooks beside 50 that hang: ${show(beside)}; by themselves: ${show(alone)}; ` +
        `p99 ${ratio.toFixed(2)} times as late (below ${LIMIT}; ${rounds} rounds)`,
    );
  } catch (error) {
    report.verdict(false, `50 webhooks beside 50 that hang: ${error}`);
  } finally {
    receiver.behave = healthy;
    for (const response of hanging) response.destroy();
    for (const service of services) await service.stop();
  }
}

/** Lets something happen in each account, waits until all have heard of it who answer, and gives how late each did. */
async function tellAll({ service, tenants }: Side, arrivals: Map<string, number[]>): Promise<number[]> {
  const committed: { id: string; time: number }[] = [];
  for (const tenant of tenants) {
    const id = await requestPermission(service, tenant);
    committed.push({ id, time: performance.now() });
  }
  await until(() => committed.every(({ id }) => arrivals.get(id)?.length === EACH));
  // A message may be there before the answer that tells of the commit.
  return committed.flatMap(({ id, time }) => (arrivals.get(id) ?? []).map((arrival) => Math.max(0, arrival - time)));
}

async function until(isDone: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !isDone(); ) {
    if (Date.now() > deadline) throw new Error('a message did not arrive within a minute');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
