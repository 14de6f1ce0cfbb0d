import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareState, startService } from '../support/local/service.ts';
import { type AuditSubject, measureAudit, measureAuditDetail } from './audit-reads.ts';
import { measureBundle, measureStartup } from './bundle.ts';
import { measureExports } from './exports.ts';
import { measureMoves } from './moves.ts';
import { measureExpiry, measureOperations } from './operations.ts';
import { measurePermissionLists } from './permission-reads.ts';
import { measurePolicies } from './policy-operations.ts';
import { seededRandom } from './random.ts';
import { Report } from './report.ts';
import { measureReports } from './reports.ts';
import { measureRetention } from './retention.ts';
import { measureRoundTrips } from './round-trips.ts';
import { setScene } from './scene.ts';
import { measureSealing } from './sealing.ts';
import { measureStatistics } from './statistics-reads.ts';
import { measureWebhooks } from './webhooks.ts';

const report = new Report();
const state = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
process.once('SIGINT', () => {
  rmSync(state, { recursive: true, force: true });
  process.exit(130);
});

const started = Date.now();
const lap = (text: string) => console.log(`[${((Date.now() - started) / 1_000).toFixed(0)} s] ${text}`);

try {
  await prepareState(state);
  const scene = await setScene(state, lap);
  lap('histories loaded');
  const random = seededRandom(4_711);
  const { origin, stop } = await startService(state);
  try {
    const large: AuditSubject = {
      name: 'plan enterprise, 1,000,000 entries',
      tenant: scene.large,
      foreign: scene.neighbour,
      keptFrom: 0,
      queriesPerCombination: 16,
    };
    await measureAudit(report, random, origin, large);
    await measureAudit(report, random, origin, {
      name: 'plan pro, 250,000 entries, half of them beyond retention',
      tenant: scene.retained,
      foreign: scene.large,
      keptFrom: scene.retainedFrom,
      queriesPerCombination: 8,
    });
    await measureAuditDetail(report, random, origin, large);
    lap('audit log measured');
    await measurePermissionLists(report, random, origin, scene.large);
    await measureStatistics(report, origin, scene.busy);
    await measureRoundTrips(report, origin);
    lap('lists, statistics and round trips measured');
  } finally {
    await stop();
  }
  const metered = await startService(state, 'test/bench/metered-worker.ts');
  try {
    await measureOperations(report, metered.origin, scene.large);
    await measureExpiry(report, metered.origin);
    await measurePolicies(report, metered.origin, scene.large);
    lap('state changes measured');
    await measureReports(report, metered.origin, scene.large);
    lap('reports measured');
  } finally {
    await metered.stop();
  }
  await measureExports(report, state, scene.large);
  lap('exports measured');
  await measureWebhooks(report, state);
  lap('webhooks measured');
  await measureSealing(report, state);
  lap('sealing measured');
  await measureRetention(report, state);
  lap('retention measured');
  await measureMoves(report, state);
  lap('moves measured');
  await measureBundle(report, state);
  await measureStartup(report, state);
  lap('bundle measured');
} finally {
  rmSync(state, { recursive: true, force: true });
}
if (report.failed) process.exitCode = 1;
