import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../../..');
export const wranglerScript = join(root, 'node_modules/wrangler/bin/wrangler.js');

export const ADMIN_TOKEN = 'operator-token-of-the-bench';

const VARIABLES = {
  ADMIN_TOKEN,
  ROOT_SECRET: 'dGhpcnR5LXR3byBieXRlcyBvZiB0ZXN0IHNlY3JldCE=',
  PUBLIC_URL: 'http://127.0.0.1',
  EXPOSE_COST: 'on',
  RATE_LIMITS: 'off',
  WEBHOOK_ALLOW_INSECURE: 'on',
  WEBHOOK_DNS: 'off',
};

/** Runs wrangler once and returns its output. */
export function runWrangler(state: string, ...args: string[]): Promise<string> {
  return runWranglerIn(root, state, ...args);
}

async function runWranglerIn(project: string, state: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [wranglerScript, ...args], {
    cwd: project,
    env: environment(state),
  });
  return stdout;
}

/** Creates empty, migrated databases and the variables of the service. */
export async function prepareState(
  state: string,
  databases = ['DB'],
  project = root,
): Promise<void> {
  mkdirSync(join(state, 'registry'), { recursive: true });
  const lines = Object.entries(VARIABLES).map(([name, value]) => `${name}="${value}"\n`);
  writeFileSync(join(state, 'variables.env'), lines.join(''));
  for (const database of databases) {
    await runWranglerIn(
      project,
      state,
      'd1',
      'migrations',
      'apply',
      database,
      '--local',
      '--persist-to',
      state,
    );
  }
}

/** Runs one cron of a service, and waits until it ends. */
export async function fireCron({ origin }: Service, cron: string): Promise<void> {
  const answer = await fetch(`${origin}/cdn-cgi/local/scheduled?cron=${encodeURIComponent(cron)}`);
  if (!answer.ok) throw new Error(`the cron ${cron}: ${answer.status}`);
  await answer.text();
}

/** Runs the sweep of each minute once, and waits until it ends. */
export function sweep(service: Service): Promise<void> {
  return fireCron(service, '* * * * *');
}

/** The file of the local D1 database. No other process may have it open while it is written to. */
export function databaseFile(state: string): string {
  const files = databaseFiles(state);
  if (files.length !== 1)
    throw new Error(`expected one database in ${state}, found ${files.length}`);
  return files[0] as string;
}

/** The files of all local D1 databases. */
export function databaseFiles(state: string): string[] {
  const folder = join(state, 'v3/d1/miniflare-D1DatabaseObject');
  return readdirSync(folder).flatMap((name) =>
    /^[0-9a-f]+\.sqlite$/.test(name) ? [join(folder, name)] : [],
  );
}

/** A running service. */
export interface Service {
  origin: string;
  /** The process of wrangler, whose child is the runtime. */
  pid: number;
  stop(): Promise<void>;
  /** Kills the service without a shutdown, the runtime first. */
  kill(): Promise<void>;
}

/**
 * Starts the service on a free loopback port with the database of `state`.
 * @param entry a worker to run instead of the service's own, as a path from the project's root
 * @param options additional options of wrangler
 * @param heap limit of the runtime's heap, in MB; none by default
 */
export async function startService(
  state: string,
  entry?: string,
  options: string[] = [],
  heap?: number,
): Promise<Service> {
  const [port, inspectorPort] = [await freePort(), await freePort()];
  const limit = heap === undefined ? {} : { MINIFLARE_WORKERD_V8_FLAGS: `--max-heap-size=${heap}` };
  const child = spawn(
    process.execPath,
    [
      ...[wranglerScript, 'dev', ...(entry ? [entry] : []), ...options],
      ...['--ip', '127.0.0.1', '--port', String(port), '--inspector-port', String(inspectorPort)],
      ...['--persist-to', state, '--env-file', join(state, 'variables.env')],
      ...['--log-level', 'warn', '--show-interactive-dev-session=false'],
    ],
    { cwd: root, env: { ...environment(state), ...limit }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000);
    });
  }
  const origin = `http://127.0.0.1:${port}`;
  for (const deadline = Date.now() + 60_000; ; ) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop(child);
      throw new Error(`the service did not start:\n${output}`);
    }
    const answer = await fetch(`${origin}/healthz`).catch(() => null);
    if (answer?.ok)
      return { origin, pid: child.pid ?? 0, stop: () => stop(child), kill: () => kill(child) };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGINT');
  await ended;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  // Its child processes would otherwise keep running.
  const below = findProcesses(child.pid ?? 0);
  child.kill('SIGKILL');
  for (const { pid } of below) killIfAlive(pid);
  await ended;
}

/** The ids of the runtime's processes below a process. */
export function findRuntimes(pid: number): string[] {
  return findProcesses(pid)
    .filter(({ name }) => name === 'workerd')
    .map((runtime) => String(runtime.pid));
}

/** All processes below a process. */
function findProcesses(pid: number): { pid: number; name: string }[] {
  if (process.platform !== 'linux') return [];
  const table = execFileSync('ps', ['-eo', 'pid,ppid,comm'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .slice(1);
  const processes = table.map((line) => {
    const [id, parent, name = ''] = line.trim().split(/\s+/);
    return { pid: Number(id), parent: Number(parent), name };
  });
  const below = (parent: number): { pid: number; name: string }[] =>
    processes
      .filter((process) => process.parent === parent)
      .flatMap((process) => [process, ...below(process.pid)]);
  return below(pid);
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

/** The environment that wrangler runs in. */
export function environment(state: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    CI: 'true',
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_LOG_PATH: join(state, 'logs'),
    WRANGLER_REGISTRY_PATH: join(state, 'registry'),
  };
}

/**
 * A free port of loopback, below those that the system gives to clients and to servers that ask for
 * any port: none of them takes it before the caller does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
