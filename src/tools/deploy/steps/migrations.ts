import { REMOTE_CONFIG } from '../../project.ts';
import { callWrangler } from '../call-wrangler.ts';
import { type Cloudflare, CloudflareError } from '../cloudflare.ts';
import type { Deployment, Step } from '../deployment.ts';

/** Applies the migrations to every database, before the code that needs them. */
export function migrationSteps({ databases, migrations, applied, signal }: Deployment): Step[] {
  return databases.map(({ binding }) => {
    const pending = migrations.resulting.filter(({ name }) => !applied.get(binding)?.has(name));
    const done = migrations.resulting.length - pending.length;
    return {
      kind: 'migrations',
      name: `${binding}: ${pending.length === 0 ? `all ${done}` : `${pending.length} of ${migrations.resulting.length}`}`,
      isDone: pending.length === 0,
      run: async () => {
        await callWrangler(
          ['d1', 'migrations', 'apply', binding, '--remote', '--config', REMOTE_CONFIG],
          signal,
        );
      },
      hint: 'A migration that fails changes nothing, and those before it stay. The version that runs works with them.',
    };
  });
}

/** The names of the migrations that a database has. */
export async function findApplied(
  cloudflare: Cloudflare,
  account: string,
  id: string | null,
): Promise<Set<string>> {
  if (id === null) return new Set();
  const query = { sql: 'select name from d1_migrations order by id' };
  const path = `/accounts/${account}/d1/database/${id}/query`;
  try {
    const [answer] = await cloudflare.change<{ results: { name: string }[] }[]>(
      'POST',
      path,
      query,
    );
    return new Set(answer?.results.map(({ name }) => name));
  } catch (error) {
    // wrangler makes the table of migrations when it applies the first one.
    if (error instanceof CloudflareError && error.message.includes('no such table'))
      return new Set();
    throw error;
  }
}
