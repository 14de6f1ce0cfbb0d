import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ROOT } from './project.ts';

const PROGRAM = join(ROOT, 'node_modules/wrangler/bin/wrangler.js');

/** How long wrangler may take to stop, in milliseconds, before it is made to. */
const STOP_TIMEOUT = 5_000;

/** What keeps wrangler from looking things up on the network, and from talking of more than faults. */
export const QUIET = {
  WRANGLER_SEND_METRICS: 'false',
  /** Without its banner it does not ask for newer versions of itself. */
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_WRITE_LOGS: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_LOG: 'warn',
};

/** A run of wrangler. */
export interface WranglerRun {
  /** What it says, on standard output and standard error. */
  output: [Readable, Readable];
  /** Its exit code, once it and all its children are gone. */
  exit: Promise<number>;
}

/**
 * Starts wrangler in the project's folder. It asks nothing, and ends when `signal` is aborted, its children with it.
 * Variables of the environment that are set already win: `WRANGLER_LOG=log` shows every request.
 * @param variables win over these
 */
export function runWrangler(
  options: string[],
  signal: AbortSignal,
  variables: Record<string, string> = {},
): WranglerRun {
  // A process group of its own: Ctrl-C in a terminal reaches it through `signal` alone, so that it ends in good order.
  const child = spawn(process.execPath, [PROGRAM, ...options], {
    cwd: ROOT,
    env: { ...QUIET, ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  });
  let deadline: NodeJS.Timeout | undefined;
  const stop = () => {
    child.kill();
    deadline = setTimeout(() => killGroup(child), STOP_TIMEOUT);
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  const exit = new Promise<number>((resolve) => {
    child.once('exit', (code) => {
      signal.removeEventListener('abort', stop);
      clearTimeout(deadline);
      killGroup(child);
      resolve(code ?? 1);
    });
  });
  return { output: [child.stdout, child.stderr], exit };
}

/** Ends whatever is left of a run: a wrangler that was killed leaves its own children behind. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
