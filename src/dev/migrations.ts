import { UserError } from './complaint.ts';
import { runOnDatabase } from './database-run.ts';
import type { Deployment } from './project.ts';

/**
 * Applies the migrations that a local D1 database lacks.
 * @param binding its name in the configuration
 * @throws Complaint with what wrangler said
 */
export async function applyMigrations(
  { config }: Pick<Deployment, 'config'>,
  binding: string,
  signal: AbortSignal,
): Promise<void> {
  const options = ['d1', 'migrations', 'apply', binding, '--local', '--config', config];
  const { stdout: said, stderr: complained, code } = await runOnDatabase(options, signal);
  if (code !== 0 && !signal.aborted) {
    throw new UserError(`The migrations of the database ${binding} failed.\n${said}${complained}`);
  }
}
