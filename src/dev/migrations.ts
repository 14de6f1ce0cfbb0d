import { text } from 'node:stream/consumers';
import { Complaint } from './complaint.ts';
import type { Deployment } from './project.ts';
import { runWrangler } from './wrangler.ts';

/**
 * Brings a local D1 database up to date.
 * @param binding its name in the configuration
 * @throws Complaint with what wrangler said
 */
export async function applyMigrations(
  { config }: Pick<Deployment, 'config'>,
  binding: string,
  signal: AbortSignal,
): Promise<void> {
  const options = ['d1', 'migrations', 'apply', binding, '--local', '--config', config];
  const { output, exit } = runWrangler(options, signal);
  const [said, complained, code] = await Promise.all([...output.map((stream) => text(stream)), exit]);
  if (code !== 0 && !signal.aborted) {
    throw new Complaint(`The migrations of the database ${binding} failed.\n${said}${complained}`);
  }
}
