import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from './project.ts';
import { UserError } from './user-error.ts';
import { runWranglerToEnd } from './wrangler.ts';

/**
 * Milliseconds for which a command is repeated while the database is locked, and the maximum pause.
 */
const RETRY_LIMIT = 60_000;
const MAX_PAUSE = 500;

/** wrangler prints results at this log level. */
const WITH_RESULTS = { WRANGLER_LOG: 'log' };

/** The configuration that binds a database. */
type Configuration = Pick<Deployment, 'config'>;

type Row = Record<string, unknown>;

/** The output of `wrangler d1 execute --json`: the rows of each statement, or an error. */
type PrintedResult =
  | { results?: Row[] }[]
  | { error: { text?: string; notes?: { text?: string }[] } };

/**
 * Applies the pending migrations to a local D1 database.
 * @param binding the binding of the database in the configuration
 * @throws UserError with wrangler's output
 */
export async function applyMigrations(
  { config }: Configuration,
  binding: string,
  signal: AbortSignal,
): Promise<void> {
  const options = ['d1', 'migrations', 'apply', binding, '--local', '--config', config];
  const { stdout, stderr, code } = await runOnDatabase(options, signal);
  if (code !== 0 && !signal.aborted) {
    throw new UserError(`The migrations of the database ${binding} failed.\n${stdout}${stderr}`);
  }
}

/**
 * Runs one statement in a D1 database, and returns its rows. Repeats it while another process has
 * locked a local database, so the statement must be safe to repeat.
 * @param binding the binding of the database in the configuration
 * @throws UserError with wrangler's output
 */
export async function queryDatabase(
  { config }: Configuration,
  binding: string,
  place: '--local' | '--remote',
  sql: string,
  signal: AbortSignal,
): Promise<Row[]> {
  const options = ['d1', 'execute', binding, place, '--config', config, '--json', '--yes'];
  const command = [...options, '--command', sql.replaceAll(/\s+/g, ' ')];
  const { stdout, stderr, code } = await runOnDatabase(command, signal, WITH_RESULTS);
  signal.throwIfAborted();
  const printed = parsePrinted(stdout);
  if (code === 0 && Array.isArray(printed)) return printed[0]?.results ?? [];
  const fault = printed && !Array.isArray(printed) ? describeFault(printed.error) : stdout;
  throw new UserError(
    `The database ${binding} did not answer.\n${[fault, stderr].join('\n').trim()}`,
  );
}

/**
 * Runs a wrangler command on a D1 database, and returns its output and its exit code.
 *
 * Repeats it for a minute while another process, such as the running service, has locked the local
 * SQLite file. The command must therefore be safe to repeat, even after it took effect.
 * @param variables as for {@link runWranglerToEnd}
 * @throws UserError if the file is still locked after a minute
 */
async function runOnDatabase(
  options: string[],
  signal: AbortSignal,
  variables: Record<string, string> = {},
) {
  for (const deadline = Date.now() + RETRY_LIMIT; ; ) {
    const ended = await runWranglerToEnd(options, signal, variables);
    const isLocked = ended.code !== 0 && `${ended.stdout}${ended.stderr}`.includes('SQLITE_BUSY');
    if (!isLocked || signal.aborted) return ended;
    if (Date.now() > deadline) {
      throw new UserError(
        'Another process keeps the local database locked. Stop it, or try again.',
      );
    }
    // The pauses are random because another process may lock the file at regular intervals.
    await sleep(Math.random() * MAX_PAUSE, undefined, { signal });
  }
}

function parsePrinted(output: string): PrintedResult | null {
  try {
    return JSON.parse(output) as PrintedResult;
  } catch {
    return null;
  }
}

function describeFault({
  text: first = '',
  notes = [],
}: Extract<PrintedResult, { error: unknown }>['error']): string {
  // wrangler also asks for an API token if a login has expired, because it cannot open a browser
  // from here.
  const hint = first.includes('CLOUDFLARE_API_TOKEN') ? ['Or sign in: npx wrangler login'] : [];
  return [first, ...notes.map((note) => note.text ?? ''), ...hint].join('\n');
}
