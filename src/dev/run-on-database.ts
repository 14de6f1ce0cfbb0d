import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from './user-error.ts';
import { runWrangler } from './wrangler.ts';

/** How long a command is repeated while the database is locked, and the maximum pause, in milliseconds. */
const RETRY_LIMIT = 60_000;
const MAX_PAUSE = 500;

/** The output and the exit code of a finished wrangler run. */
export interface FinishedRun {
  stdout: string;
  stderr: string;
  code: number;
}

/**
 * Runs a wrangler command on a D1 database.
 *
 * Repeats it for a minute while another process, such as the running service, has locked the local SQLite file. The
 * command must therefore be safe to repeat, even after it took effect.
 * @param variables as for {@link runWrangler}
 * @throws UserError if the file is still locked after a minute
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
    // The pauses are random because another process may lock the file at regular intervals.
    await sleep(Math.random() * MAX_PAUSE, undefined, { signal });
  }
}
