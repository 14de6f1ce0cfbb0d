import type { Deployment } from './project.ts';
import { runOnDatabase } from './run-on-database.ts';
import { UserError } from './user-error.ts';

/**
 * Applies the migrations that a local D1 database lacks.
 * @param binding its name in the configuration
 * @throws UserError with what wrangler said
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
