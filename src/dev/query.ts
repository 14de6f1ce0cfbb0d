import type { Deployment } from './project.ts';
import { runOnDatabase } from './run-on-database.ts';
import { UserError } from './user-error.ts';

/** wrangler prints results at this log level. */
const WITH_RESULTS = { WRANGLER_LOG: 'log' };

type Row = Record<string, unknown>;

/** The output of `wrangler d1 execute --json`: the rows of each statement, or an error. */
type PrintedResult = { results?: Row[] }[] | { error: { text?: string; notes?: { text?: string }[] } };

/**
 * Runs one statement in a D1 database, and returns its rows. Repeats it while another process has locked a local
 * database, so the statement must be safe to repeat.
 * @param binding the binding of the database in the configuration
 * @throws UserError with wrangler's output
 */
export async function queryDatabase(
  { config }: Pick<Deployment, 'config'>,
  binding: string,
  place: '--local' | '--remote',
  sql: string,
  signal: AbortSignal,
): Promise<Row[]> {
  const options = ['d1', 'execute', binding, place, '--config', config, '--json', '--yes'];
  const command = [...options, '--command', sql.replaceAll(/\s+/g, ' ')];
  const { stdout: said, stderr: complained, code } = await runOnDatabase(command, signal, WITH_RESULTS);
  signal.throwIfAborted();
  const printed = parsePrinted(said);
  if (code === 0 && Array.isArray(printed)) return printed[0]?.results ?? [];
  const fault = printed && !Array.isArray(printed) ? describeFault(printed.error) : said;
  throw new UserError(`The database ${binding} did not answer.\n${[fault, complained].join('\n').trim()}`);
}

function parsePrinted(said: string): PrintedResult | null {
  try {
    return JSON.parse(said) as PrintedResult;
  } catch {
    return null;
  }
}

function describeFault({ text: first = '', notes = [] }: Extract<PrintedResult, { error: unknown }>['error']): string {
  // wrangler also asks for an API token if a login has expired, because it cannot open a browser from here.
  const hint = first.includes('CLOUDFLARE_API_TOKEN') ? ['Or sign in: npx wrangler login'] : [];
  return [first, ...notes.map((note) => note.text ?? ''), ...hint].join('\n');
}
