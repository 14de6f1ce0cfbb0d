import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureBundle, measureStartup } from './bundle.ts';
import { measureConsole } from './console.ts';
import { measureCycle } from './cycle.ts';
import { measureExplorer } from './explorer.ts';
import { measureExports } from './exports.ts';
import { measureFloor } from './floor.ts';
import { measureGrowth } from './growth.ts';
import { measureHook } from './hook.ts';
import { measureInbox } from './inbox.ts';
import { measureLatency } from './latency.ts';
import { measureMoves } from './moves.ts';
import { measureExpiry, measureOperations } from './operations.ts';
import { measurePolicies } from './policy-operations.ts';
import { measureProxy } from './proxy.ts';
import { measureReads } from './reads.ts';
import { Report } from './report.ts';
import { measureReports } from './reports.ts';
import { measureRetention } from './retention.ts';
import { measureRoundTrips } from './round-trips.ts';
import { inFreshState } from './scene.ts';
import { measureSealing, measureWitnesses } from './sealing.ts';
import { measureWebhooks } from './webhooks.ts';

/** Every measurement has its own database and accounts, so none depends on another one. */
const MEASUREMENTS: Record<string, (report: Report, state: string) => Promise<void>> = {
  reads: measureReads,
  floor: measureFloor,
  latency: measureLatency,
  proxy: measureProxy,
  'round-trips': measureRoundTrips,
  cycle: measureCycle,
  growth: measureGrowth,
  operations: measureOperations,
  expiry: measureExpiry,
  policies: measurePolicies,
  reports: measureReports,
  exports: measureExports,
  webhooks: measureWebhooks,
  sealing: measureSealing,
  witnesses: measureWitnesses,
  retention: measureRetention,
  moves: measureMoves,
  bundle: measureBundle,
  startup: measureStartup,
  inbox: measureInbox,
  explorer: measureExplorer,
  console: measureConsole,
  hook: measureHook,
};

const wanted = process.argv.slice(2);
for (const name of wanted) {
  if (!(name in MEASUREMENTS))
    throw new Error(
      `unknown measurement ${name}; known are ${Object.keys(MEASUREMENTS).join(', ')}`,
    );
}

const report = new Report();
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
process.once('SIGINT', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit(130);
});

const started = Date.now();
try {
  for (const [name, measure] of Object.entries(MEASUREMENTS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    try {
      await inFreshState(folder, name, (state) => measure(report, state));
    } catch (error) {
      console.error(error);
      report.verdict(false, `${name} failed: ${error}`);
    }
    console.log(`[${((Date.now() - started) / 1_000).toFixed(0)} s] ${name}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
report.summary();
if (report.failed > 0) process.exitCode = 1;
