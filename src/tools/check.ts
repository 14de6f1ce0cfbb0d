import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './project.ts';

/** How many checks run at the same time. */
const PARALLEL = 2;

/** A check: its name, a program of the project or of its packages, and the program's options. */
type Check = [name: string, program: string, ...options: string[]];

const BIOME = 'node_modules/@biomejs/biome/bin/biome';
const DEPCRUISE = 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs';
const TSC = 'node_modules/typescript/bin/tsc';

/** The folders with a tsconfig.json, besides the one of the tests. */
const TYPED = [
  '.',
  'src/tools',
  'src/packages/verify',
  'src/packages/client',
  'src/console/browser',
  'src/console/push-worker',
  'test/bench',
  'test/chaos',
];

/** All checks, the longest ones first. The compiler skips what has not changed since it passed. */
const CHECKS: Check[] = [
  ['types', TSC, '--build', '--incremental', ...TYPED],
  ['types of the tests', TSC, '--build', '--incremental', 'test'],
  ['OpenAPI', 'src/tools/check-openapi.ts'],
  ['imports', DEPCRUISE, 'src', '--config', '.dependency-cruiser.json'],
  ['migrations', 'src/tools/check-migrations.ts'],
  ['format and lint', BIOME, 'check', '--error-on-warnings', '.'],
];

/** Runs a check to its end, and prints what it said if it failed. Returns whether it passed. */
async function runCheck([name, program, ...options]: Check): Promise<boolean> {
  const started = Date.now();
  const child = spawn(process.execPath, [join(ROOT, program), ...options], { cwd: ROOT });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => output.push(chunk));
  }
  const passed = await new Promise<boolean>((resolve) => {
    child.on('close', (code) => resolve(code === 0));
  });
  const seconds = ((Date.now() - started) / 1_000).toFixed(1);
  console.log(`${passed ? 'passed' : 'FAILED'}  ${name} (${seconds} s)`);
  if (!passed) console.log(Buffer.concat(output).toString());
  return passed;
}

/** Runs the checks one after the other until none is left. Returns the names of those that fail. */
async function runNext(waiting: Check[]): Promise<string[]> {
  const failed: string[] = [];
  for (let check = waiting.shift(); check; check = waiting.shift()) {
    if (!(await runCheck(check))) failed.push(check[0]);
  }
  return failed;
}

// The types need the hashes of the console's files, which this makes.
execFileSync(process.execPath, [join(ROOT, 'src/tools/build-assets.mjs')]);

const waiting = [...CHECKS];
const workers = Array.from({ length: PARALLEL }, () => runNext(waiting));
const failed = (await Promise.all(workers)).flat();
if (failed.length > 0) {
  console.error(`Failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
