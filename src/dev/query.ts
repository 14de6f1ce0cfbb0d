import type { Deployment } from './project.ts';
import { runOnDatabase } from './run-on-database.ts';
import { UserError } from './user-error.ts';

/** What wrangler answers with it takes for mere information. */
const WITH_RESULTS = { WRANGLER_LOG: 'log' };

type Row = Record<string, unknown>;

/** What `wrangler d1 execute --json` prints: of each statement its rows, here and at Cloudflare alike; or what failed. */
type PrintedResult = { results?: Row[] }[] | { error: { text?: string; notes?: { text?: string }[] } };

/**
 * Runs one statement in a D1 database, and answers its rows. A local database that another process has locked is tried
 * again: the statement must be safe to repeat.
 * @param binding its name in the configuration
 * @throws UserError with what wrangler said
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
  // Wrangler says so too where a login has expired, as it cannot open a browser from here.
  const hint = first.includes('CLOUDFLARE_API_TOKEN') ? ['Or sign in: npx wrangler login'] : [];
  return [first, ...notes.map((note) => note.text ?? ''), ...hint].join('\n');
}
