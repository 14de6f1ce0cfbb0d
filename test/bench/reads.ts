import { startService } from '../support/local/service.ts';
import { type AuditSubject, measureAudit, measureAuditDetail } from './audit-reads.ts';
import { drawHistory, eraseSome, type History } from './history.ts';
import { measurePermissionLists } from './permission-reads.ts';
import { seededRandom } from './random.ts';
import type { Report } from './report.ts';
import { ACTIONS, DAY, enterprise, setScene, type TenantPlan } from './scene.ts';
import { measureStatistics } from './statistics-reads.ts';

const HOUR = DAY / 24;

/** The entries of the largest account. `ENTRIES=5000000` makes it as large as a log can be. */
const ENTRIES = Number(process.env.ENTRIES ?? 1_000_000);

/**
 * Half of the entries are too old for the plan but not yet erased; some are erased, and one agent
 * is deleted.
 */
const RETAINED: TenantPlan = {
  plan: 'pro',
  agents: 20,
  draw: (random, now) => {
    const period = { from: now - 180 * DAY, to: now - HOUR / 2 };
    const history = drawHistory(random, {
      entries: 250_000,
      agents: 21,
      actions: ACTIONS,
      ...period,
    });
    eraseSome(random, history);
    eraseAround(history, now - 90 * DAY);
    return history;
  },
};

const NEIGHBOUR: TenantPlan = {
  plan: 'team',
  agents: 30,
  draw: (random, now) => {
    const period = { from: now - 360 * DAY, to: now - HOUR / 2 };
    return drawHistory(random, {
      entries: 400_000,
      agents: 30,
      actions: [...ACTIONS, 'abroad.only'],
      ...period,
    });
  },
};

/**
 * One agent with a million requests within a year; only the entries of the last seven days are
 * left.
 */
const BUSY: TenantPlan = {
  plan: 'free',
  agents: 1,
  draw: (random, now) => {
    // 3.75 million entries have a little over a million requests.
    const period = { from: firstDay(now), to: now - HOUR / 2 };
    const history = drawHistory(random, {
      entries: 3_750_000,
      agents: 1,
      actions: ACTIONS,
      ...period,
    });
    eraseBefore(history, now - 7 * DAY);
    return history;
  },
};

/**
 * Measures lists, single entries and statistics. They write nothing, so they share their accounts.
 */
export async function measureReads(report: Report, state: string): Promise<void> {
  const plans = [RETAINED, enterprise(ENTRIES, 200, 360), NEIGHBOUR, BUSY] as const;
  const keptFrom = Date.now() - 90 * DAY;
  const [retained, large, neighbour, busy] = await setScene(state, plans);
  const random = seededRandom(4_711);
  const { origin, stop } = await startService(state);
  try {
    const subject: AuditSubject = {
      name: `plan enterprise, ${ENTRIES.toLocaleString('en-US')} entries`,
      tenant: large,
      foreign: neighbour,
      keptFrom: 0,
      queriesPerCombination: 16,
    };
    await measureAudit(report, random, origin, subject);
    await measureAudit(report, random, origin, {
      name: 'plan pro, 250,000 entries, half of them beyond retention',
      tenant: retained,
      foreign: large,
      keptFrom,
      queriesPerCombination: 8,
    });
    await measureAuditDetail(report, random, origin, subject);
    await measurePermissionLists(report, random, origin, {
      name: 'plan enterprise',
      tenant: large,
      keptFrom: 0,
    });
    await measurePermissionLists(report, random, origin, {
      name: 'plan pro, half of them beyond retention',
      tenant: retained,
      keptFrom,
    });
    await measureStatistics(report, origin, busy);
  } finally {
    await stop();
  }
}

/** The start of the first of the last 365 days, today included. */
function firstDay(now: number): number {
  return (Math.floor(now / DAY) - 364) * DAY;
}

function eraseBefore({ time, erased }: History, border: number): void {
  for (const [at, instant] of time.entries()) if (instant < border) erased[at] = 1;
}

/** Erases the entries around the retention limit, so that none expires while the benchmark runs. */
function eraseAround({ time, erased }: History, border: number): void {
  for (const [at, instant] of time.entries()) if (Math.abs(instant - border) < HOUR) erased[at] = 1;
}
