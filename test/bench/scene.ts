import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../support/local/client.ts';
import { databaseFile, prepareState, startService } from '../support/local/service.ts';
import { createTenant } from '../support/local/tenant.ts';
import { drawHistory, type History } from './history.ts';
import { loadHistories } from './load.ts';
import { type Random, seededRandom } from './random.ts';
import type { LoadedTenant } from './tenant.ts';

const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** The actions of the benchmark's accounts. */
export const ACTIONS = Array.from({ length: 300 }, (_, at) => `area-${at % 17}.verb-${at}`);

/** An account to create, and the history to load into it. */
export interface TenantPlan {
  plan: string;
  agents: number;
  draw: (random: Random, now: number) => History;
}

/** Runs a measurement in a folder that nothing else uses, and deletes the folder afterwards. */
export async function inFreshState<T>(
  folder: string,
  name: string,
  measure: (state: string) => Promise<T>,
): Promise<T> {
  const state = join(folder, name);
  mkdirSync(state);
  try {
    return await measure(state);
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

/**
 * Creates accounts through the API in an empty database, then writes their histories directly into
 * its file.
 */
export async function setScene<const P extends readonly TenantPlan[]>(
  state: string,
  plans: P,
): Promise<{ [I in keyof P]: LoadedTenant }> {
  await prepareState(state);
  const service = await startService(state);
  const tenants = [];
  for (const { plan, agents } of plans)
    tenants.push(await createTenant(service.origin, plan, agents));
  await service.stop();
  const random = seededRandom(20_260_131);
  const now = Date.now();
  const histories = tenants.map((tenant, i) => ({
    tenant,
    history: (plans[i] as TenantPlan).draw(random, now),
  }));
  return loadHistories(databaseFile(state), histories) as { [I in keyof P]: LoadedTenant };
}

/**
 * The plan of an enterprise account whose entries are spread over `days` days and end half an hour
 * ago.
 */
export function enterprise(entries: number, agents: number, days: number): TenantPlan {
  return {
    plan: 'enterprise',
    agents,
    draw: (random, now) =>
      drawHistory(random, {
        entries,
        agents,
        actions: ACTIONS,
        from: now - days * DAY,
        to: now - HOUR / 2,
      }),
  };
}

/**
 * Seals the log of an account, so that a measurement of reports or exports does not include it;
 * takes seconds.
 */
export async function sealLog(state: string, tenant: LoadedTenant): Promise<number> {
  const service = await startService(state, 'test/bench/metered-worker.ts');
  const started = performance.now();
  try {
    await new Client(service.origin, tenant.token).expect(200, 'POST', '/bench/seal', {
      account: tenant.number,
    });
  } finally {
    await service.stop();
  }
  return (performance.now() - started) / 1_000;
}
