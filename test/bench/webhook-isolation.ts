import type { ServerResponse } from 'node:http';
import { Client } from '../support/local/client.ts';
import { type Service, startService } from '../support/local/service.ts';
import { createTenant, type Tenant } from '../support/local/tenant.ts';
import type { Receiver } from './receiver.ts';
import { quantile, type Report } from './report.ts';
import { permissionOf, registerWebhooks, requestPermission } from './webhook-events.ts';

/** The number of accounts, and of the answering and the hanging webhooks of each. */
const ACCOUNTS = 2;
const EACH = 25;
/**
 * Maximum number of measured events per account, and the number of events before them that are not
 * measured.
 */
const ROUNDS = 30;
const WARM_UP = 3;
/** The time after which no further event is measured, in milliseconds. */
const BUDGET = 40_000;
const LIMIT = 2;

/**
 * The number of webhooks of the attacking account, the most that it can have, and of its attacks in
 * each way.
 */
const ATTACKING = 50;
const ATTACKS = 3;
/** How late another account's message may be during an attack, in milliseconds. */
const MAX_DELAY = 1_000;

/** A service with accounts whose webhooks get events. */
interface Side {
  service: Service;
  tenants: Tenant[];
  /** The delays of messages, in milliseconds. */
  latencies: number[];
}

/**
 * Measures how late fifty answering webhooks get an event: alone on one service, and together with
 * fifty hanging webhooks on another. The services take turns, so that warm-up and other work on the
 * machine affect both. Each event waits until the previous one has arrived everywhere, so that no
 * queue grows.
 * @param prepare creates the state of a service with this name
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
    for (const tenant of beside.tenants)
      await registerWebhooks(beside.service, tenant, receiver, EACH, '/ill');
    await tellAll(beside, arrivals);
    await until(() => failed.size === ACCOUNTS * EACH);
    let rounds = -WARM_UP;
    let end = Number.POSITIVE_INFINITY;
    for (; rounds < ROUNDS && Date.now() < end; rounds++) {
      if (rounds === 0) end = Date.now() + BUDGET;
      // Each side comes first equally often.
      for (const side of rounds % 2 === 0 ? [alone, beside] : [beside, alone]) {
        const latencies = await tellAll(side, arrivals);
        if (rounds >= 0) side.latencies.push(...latencies);
      }
    }
    const show = ({ latencies }: Side) =>
      `p50 ${quantile(latencies, 0.5).toFixed(0)} ms, p99 ${quantile(latencies, 0.99).toFixed(0)} ms`;
    const ratio = quantile(beside.latencies, 0.99) / quantile(alone.latencies, 0.99);
    report.verdict(
      ratio < LIMIT && hanging.length > 0,
      `50 webhooks together with 50 hanging ones: ${show(beside)}; alone: ${show(alone)}; ` +
        `p99 ${ratio.toFixed(2)} times as late (below ${LIMIT}; ${rounds} rounds)`,
    );
  } catch (error) {
    report.verdict(false, `50 webhooks together with 50 hanging ones: ${error}`);
  } finally {
    receiver.behave = healthy;
    for (const response of hanging) response.destroy();
    for (const service of services) await service.stop();
  }
}

/** An account that can make its webhooks hang. */
interface Attacker {
  service: Service;
  tenant: Tenant;
  user: Client;
  webhooks: string[];
}

/** The ways in which all webhooks of an account can start to hang at the same time. */
const WAYS: Record<
  string,
  (attacker: Attacker, round: number, url: (name: string) => string) => Promise<unknown>
> = {
  'that are new': async (attacker, round, url) => {
    const { user, service, tenant } = attacker;
    for (const id of attacker.webhooks.splice(0))
      await user.expect(204, 'DELETE', `/v1/webhooks/${id}`);
    for (let i = 0; i < ATTACKING; i++) {
      const webhook = { url: url(`new/${round}/${i}`) };
      attacker.webhooks.push(
        (await user.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook)).body.id,
      );
    }
    await requestPermission(service, tenant);
  },
  'that get another URL': async ({ service, tenant, user, webhooks }, round, url) => {
    for (const id of webhooks)
      await user.expect(200, 'PUT', `/v1/webhooks/${id}`, { url: url(`moved/${round}/${id}`) });
    await requestPermission(service, tenant);
  },
  'that are enabled again': async ({ service, tenant, user, webhooks }) => {
    for (const is_active of [false, true]) {
      for (const id of webhooks) await user.expect(200, 'PUT', `/v1/webhooks/${id}`, { is_active });
    }
    await requestPermission(service, tenant);
  },
  'that have answered before': ({ service, tenant }) => requestPermission(service, tenant),
  'that are sent a test each': ({ user, webhooks }) =>
    Promise.all(webhooks.map((id) => user.expect(202, 'POST', `/v1/webhooks/${id}/test`))),
};

/**
 * Measures how late another account gets an event, at a webhook that has answered before and at a
 * new one, while all webhooks of one account start to hang. The local service has one consumer per
 * queue, so whatever blocks a queue blocks every account.
 */
export async function measureFirstHang(
  report: Report,
  prepare: (name: string) => Promise<string>,
  receiver: Receiver,
): Promise<void> {
  const healthy = receiver.behave;
  const arrivals = new Map<string, Map<string, number>>();
  const hanging: ServerResponse[] = [];
  let isHanging = false;
  receiver.behave = (path, body, response) => {
    if (isHanging && path.startsWith('/attack')) return void hanging.push(response);
    const permission = permissionOf(body);
    arrivals.set(
      permission,
      (arrivals.get(permission) ?? new Map<string, number>()).set(path, performance.now()),
    );
    response.end();
  };
  const service = await startService(await prepare('first-hang'));
  try {
    const tenant = await createTenant(service.origin, 'team', 1);
    const attacker: Attacker = {
      service,
      tenant,
      user: new Client(service.origin, tenant.token),
      webhooks: [],
    };
    const other = await createTenant(service.origin, 'team', 1);
    const arrivalsOf = async (webhooks: number) => {
      const id = await requestPermission(service, other);
      const committed = performance.now();
      await until(() => arrivals.get(id)?.size === webhooks);
      return [...(arrivals.get(id) ?? [])].map(([path, time]) => ({
        path,
        delay: Math.max(0, time - committed),
      }));
    };
    await registerWebhooks(service, other, receiver, 1, '/proven');
    await arrivalsOf(1);
    let webhooks = 1;
    for (const [way, attack] of Object.entries(WAYS)) {
      const delays: Record<string, number[]> = { proven: [], fresh: [] };
      for (let round = 0; round < ATTACKS; round++) {
        const fresh = `/fresh/${webhooks}`;
        await registerWebhooks(service, other, receiver, 1, fresh);
        webhooks += 1;
        // Existing webhooks answer quickly before they hang.
        if (attacker.webhooks.length > 0) {
          const proof = await requestPermission(service, tenant);
          await until(() => arrivals.get(proof)?.size === ATTACKING);
          await settled();
        }
        isHanging = true;
        await attack(attacker, round, (name) => `${receiver.origin}/attack/${name}`);
        for (const { path, delay } of await arrivalsOf(webhooks)) {
          if (path.startsWith('/proven')) delays.proven?.push(delay);
          if (path.startsWith(`${fresh}/`)) delays.fresh?.push(delay);
        }
        await until(() => hanging.length === ATTACKING);
        isHanging = false;
        for (const response of hanging.splice(0)) response.end();
        await settled();
      }
      const worst = (figures: number[] = []) => Math.round(Math.max(...figures));
      report.verdict(
        worst(delays.proven) <= MAX_DELAY,
        `with 50 hanging webhooks ${way}, another account's message takes ${worst(delays.proven)} ms to a webhook that answered ` +
          `before (at most ${MAX_DELAY}), ${worst(delays.fresh)} ms to a new one; worst of ${ATTACKS}`,
      );
    }
  } catch (error) {
    report.verdict(false, `with 50 webhooks that start to hang: ${error}`);
  } finally {
    receiver.behave = healthy;
    for (const response of hanging) response.destroy();
    await service.stop();
  }
}

/** Waits until the last answers are recorded, which takes a moment. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
}

/**
 * Causes an event in each account, waits until all answering webhooks have it, and returns the
 * delay of each message.
 */
async function tellAll(
  { service, tenants }: Side,
  arrivals: Map<string, number[]>,
): Promise<number[]> {
  const committed: { id: string; time: number }[] = [];
  for (const tenant of tenants) {
    const id = await requestPermission(service, tenant);
    committed.push({ id, time: performance.now() });
  }
  await until(() => committed.every(({ id }) => arrivals.get(id)?.length === EACH));
  // A message may arrive before the answer to the request that caused it.
  return committed.flatMap(({ id, time }) =>
    (arrivals.get(id) ?? []).map((arrival) => Math.max(0, arrival - time)),
  );
}

async function until(isDone: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !isDone(); ) {
    if (Date.now() > deadline) throw new Error('a message did not arrive within a minute');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
