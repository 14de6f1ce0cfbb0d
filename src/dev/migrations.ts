import { text } from 'node:stream/consumers';
import { Complaint } from './complaint.ts';
import { runWrangler } from './wrangler.ts';

/**
 * Brings a local D1 database up to date.
 * @param database its binding in wrangler.toml
 * @throws Complaint with what wrangler said
 */
export async function applyMigrations(database: string, signal: AbortSignal): Promise<void> {
  const { output, exit } = runWrangler(['d1', 'migrations', 'apply', database, '--local'], signal);
  const [said, complained, code] = await Promise.all([...output.map((stream) => text(stream)), exit]);
  if (code !== 0 && !signal.aborted) {
    throw new Complaint(`The migrations of the database ${database} failed.\n${said}${complained}`);
  }
}
