import { databaseFile, startService } from '../support/local/service.ts';
import { createTenant } from '../support/local/tenant.ts';
import { drawHistory, eraseSome, type History } from './history.ts';
import { loadHistories } from './load.ts';
import { seededRandom } from './random.ts';
import type { LoadedTenant } from './tenant.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The accounts of the benchmark, all in one database. */
export interface Scene {
  /** Plan pro: half of its entries are older than its plan keeps, and not swept; some are erased, one agent is gone. */
  retained: LoadedTenant;
  /** Plan enterprise: a million entries over a year, as many as a report can be on. */
  large: LoadedTenant;
  /** Another large account beside it. */
  neighbour: LoadedTenant;
  /** Plan free: one agent with a million requests within a year, all but the last seven days of its entries erased. */
  busy: LoadedTenant;
  /** The time from which the plan pro keeps entries. */
  retainedFrom: number;
}

/** Makes the accounts through the API, and their histories straight in the database. */
export async function setScene(state: string, note: (text: string) => void): Promise<Scene> {
  const service = await startService(state);
  const retained = await createTenant(service.origin, 'pro', 20);
  const large = await createTenant(service.origin, 'enterprise', 200);
  const neighbour = await createTenant(service.origin, 'team', 30);
  const busy = await createTenant(service.origin, 'free', 1);
  await service.stop();

  const random = seededRandom(20_260_131);
  const now = Date.now();
  const actions = Array.from({ length: 300 }, (_, at) => `area-${at % 17}.verb-${at}`);
  // Half an hour of requests and tokens has run out since, and waits for the sweep.
  const to = now - HOUR / 2;
  const history = {
    retained: drawHistory(random, { entries: 250_000, agents: 21, actions, from: now - 180 * DAY, to }),
    large: drawHistory(random, { entries: 1_000_000, agents: 200, actions, from: now - 360 * DAY, to }),
    neighbour: drawHistory(random, {
      ...{ entries: 400_000, agents: 30, from: now - 360 * DAY, to },
      actions: [...actions, 'abroad.only'],
    }),
    // 3.75 million entries are a little over a million requests.
    busy: drawHistory(random, { entries: 3_750_000, agents: 1, actions, from: firstDay(now), to }),
  };
  eraseSome(random, history.retained);
  const retainedFrom = now - 90 * DAY;
  eraseAround(history.retained, retainedFrom);
  eraseBefore(history.busy, now - 7 * DAY);
  note(`histories drawn: ${history.large.agent.length} permissions in the large account`);

  const loaded = loadHistories(databaseFile(state), [
    { tenant: retained, history: history.retained },
    { tenant: large, history: history.large },
    { tenant: neighbour, history: history.neighbour },
    { tenant: busy, history: history.busy },
  ]);
  const [first, second, third, fourth] = loaded as [LoadedTenant, LoadedTenant, LoadedTenant, LoadedTenant];
  return { retained: first, large: second, neighbour: third, busy: fourth, retainedFrom };
}

/** The start of the first of the last 365 days, today included. */
function firstDay(now: number): number {
  return (Math.floor(now / DAY) - 364) * DAY;
}

function eraseBefore({ time, erased }: History, border: number): void {
  for (const [at, instant] of time.entries()) if (instant < border) erased[at] = 1;
}

/** Retention moves on while the benchmark runs: no entry may cross its border meanwhile. */
function eraseAround({ time, erased }: History, border: number): void {
  for (const [at, instant] of time.entries()) if (Math.abs(instant - border) < HOUR) erased[at] = 1;
}
