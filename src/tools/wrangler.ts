import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ROOT } from './project.ts';

const PROGRAM = join(ROOT, 'node_modules/wrangler/bin/wrangler.js');

/** Milliseconds after which wrangler is killed if it does not stop. */
const STOP_TIMEOUT = 5_000;

/** Variables that keep wrangler from using the network, and from printing more than warnings. */
export const QUIET_VARIABLES = {
  WRANGLER_SEND_METRICS: 'false',
  /** Without the banner, wrangler does not look for newer versions of itself. */
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_WRITE_LOGS: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_LOG: 'warn',
};

/** A running wrangler. */
interface WranglerRun {
  /** Standard output and standard error. */
  output: [Readable, Readable];
  /** Resolves to its exit code when it has ended and its children are killed. */
  exit: Promise<number>;
}

/**
 * Starts wrangler in the project's folder, without input. When `signal` is aborted, it ends
 * together with its children. Variables of the environment override {@link QUIET_VARIABLES}:
 * `WRANGLER_LOG=log` shows every request.
 * @param variables override the environment
 */
export function runWrangler(
  options: string[],
  signal: AbortSignal,
  variables: Record<string, string> = {},
): WranglerRun {
  // In its own process group, Ctrl-C reaches it only through `signal`, so that it ends in order.
  const child = spawn(process.execPath, [PROGRAM, ...options], {
    cwd: ROOT,
    env: { ...QUIET_VARIABLES, ...process.env, ...variables },
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

/** Kills the remaining processes of a run: the children of a killed wrangler keep running. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Runs a wrangler command to its end, and returns its output and its exit code. Takes the same
 * arguments as {@link runWrangler}.
 */
export async function runWranglerToEnd(...command: Parameters<typeof runWrangler>) {
  const { output, exit } = runWrangler(...command);
  const [stdout, stderr, code] = await Promise.all([text(output[0]), text(output[1]), exit]);
  return { stdout, stderr, code };
}
