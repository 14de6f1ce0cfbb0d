import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { runWrangler } from '../support/local/service.ts';
import { median, type Report } from './report.ts';

const MAX_BYTES = 400 * 1024;
const MAX_STARTUP = 50;
const RUNS = 5;

/**
 * Builds the bundle that would be deployed, and measures the part of it that runs at the start.
 * Both parts are in one file, so the size of the first is computed from its share. The rest runs
 * only for the console, a Parquet file or a PDF.
 */
export async function measureBundle(report: Report, state: string): Promise<void> {
  report.heading('The bundle');
  const [folder, metafile] = [join(state, 'bundle'), join(state, 'bundle.json')];
  mkdirSync(folder);
  await runWrangler(state, 'deploy', '--dry-run', '--outdir', folder, '--metafile', metafile);
  const modules = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.m?js$/.test(name),
  );
  const size = modules.reduce(
    (sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length,
    0,
  );
  const started = size * shareAtStart(JSON.parse(readFileSync(metafile, 'utf8')) as Metafile);
  report.atMost(
    MAX_BYTES / 1024,
    Math.ceil(started / 1024),
    'JavaScript that runs at the start, KiB gzipped',
  );
  report.note(`the whole bundle, with the parts that run on demand: ${Math.ceil(size / 1024)} KiB`);
}

/** The metadata that esbuild writes for a bundle. */
interface Metafile {
  inputs: Record<string, { imports: { path: string; kind: string }[] }>;
  outputs: Record<
    string,
    { entryPoint?: string; inputs: Record<string, { bytesInOutput: number }> }
  >;
}

/** The share of a bundle that its entry imports, directly or indirectly, without `import()`. */
function shareAtStart({ inputs, outputs }: Metafile): number {
  const bundle = Object.values(outputs).find(({ entryPoint }) => entryPoint !== undefined);
  if (!bundle?.entryPoint) throw new Error('the bundle has no entry');
  const reached = new Set([bundle.entryPoint]);
  for (const path of reached) {
    for (const { path: imported, kind } of inputs[path]?.imports ?? []) {
      if (kind !== 'dynamic-import' && imported in inputs) reached.add(imported);
    }
  }
  const sizes = Object.entries(bundle.inputs).map(
    ([path, { bytesInOutput }]) => [path, bytesInOutput] as const,
  );
  const sum = (some: typeof sizes) => some.reduce((total, [, bytes]) => total + bytes, 0);
  return sum(sizes.filter(([path]) => reached.has(path))) / sum(sizes);
}

interface Profile {
  nodes: { id: number; callFrame: { functionName: string } }[];
  samples: number[];
  timeDeltas: number[];
}

/**
 * Profiles the start of the worker on this machine. Counts the time in which the isolate was
 * active: the script, garbage collection and native code, that is everything except `(idle)`. Other
 * work on the machine only adds to it, so the best of several runs is the most accurate.
 */
export async function measureStartup(report: Report, state: string): Promise<void> {
  const figures: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const file = join(state, 'startup.cpuprofile');
    await runWrangler(state, 'check', 'startup', '--outfile', file);
    const active = activeMilliseconds(JSON.parse(readFileSync(file, 'utf8')) as Profile);
    rmSync(file);
    // On a busy machine a profile may be empty.
    if (active > 0) figures.push(active);
  }
  report.below(
    MAX_STARTUP,
    Math.min(...figures),
    `start, ms, the best of ${RUNS} runs (median ${median(figures)})`,
  );
}

function activeMilliseconds({ nodes, samples, timeDeltas }: Profile): number {
  const idle = nodes.find(({ callFrame }) => callFrame.functionName === '(idle)')?.id;
  // A sample's delta is the time since the one before it.
  const active = samples.reduce(
    (sum, node, at) => sum + (node === idle ? 0 : (timeDeltas[at] ?? 0)),
    0,
  );
  return Math.round(active / 100) / 10;
}
