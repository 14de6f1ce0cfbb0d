import type { Deployment } from './project.ts';
import { runOnDatabase } from './run-on-database.ts';
import { UserError } from './user-error.ts';

/**
 * Applies the pending migrations to a local D1 database.
 * @param binding the binding of the database in the configuration
 * @throws UserError with wrangler's output
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
