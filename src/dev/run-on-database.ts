import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from './user-error.ts';
import { runWrangler } from './wrangler.ts';

/** How long a locked database is tried again, and the longest pause between two tries, in milliseconds. */
const RETRY_LIMIT = 60_000;
const MAX_PAUSE = 500;

/** What a finished run of wrangler printed, and its exit code. */
export interface FinishedRun {
  stdout: string;
  stderr: string;
  code: number;
}

/**
 * Runs a wrangler command on a D1 database to its end.
 *
 * Retries for a minute while another process, such as the running service, has the local SQLite file locked: wrangler
 * itself fails at the first lock. The command must therefore be safe to repeat, even after it took effect.
 * @param variables as of {@link runWrangler}
 * @throws UserError when the file is still locked then
 */
export async function runOnDatabase(
  options: string[],
  signal: AbortSignal,
  variables: Record<string, string> = {},
): Promise<FinishedRun> {
  for (const deadline = Date.now() + RETRY_LIMIT; ; ) {
    const { output, exit } = runWrangler(options, signal, variables);
    const [said, complained, code] = await Promise.all([text(output[0]), text(output[1]), exit]);
    const isLocked = code !== 0 && `${said}${complained}`.includes('SQLITE_BUSY');
    if (!isLocked || signal.aborted) return { stdout: said, stderr: complained, code };
    if (Date.now() > deadline)
      throw new UserError('Another process keeps the local database locked. Stop it, or try again.');
    // Pauses of random length keep in step with no other process that locks the file at regular intervals.
    await sleep(Math.random() * MAX_PAUSE, undefined, { signal });
  }
}
