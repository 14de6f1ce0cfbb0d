import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyMigrations, queryDatabase } from './database.ts';
import { readLocalSettings } from './local-settings.ts';
import {
  type BoundDatabase,
  type Deployment,
  ROOT,
  readDeployment,
  readRemoteDeployment,
} from './project.ts';
import { UserError } from './user-error.ts';

/**
 * A copy of wrangler.toml with additional databases for local development. Exists only if there are
 * any.
 */
const LOCAL_CONFIG = 'wrangler.local.toml';

const MAX_SHARDS = 10;

/**
 * The configuration for local development: the one that `npm start` last wrote, or wrangler.toml.
 */
export function readLocalDeployment(): Deployment {
  return hasLocalConfig() ? readDeployment(LOCAL_CONFIG) : readDeployment();
}

/**
 * Reads the words of a command that works on local databases, or with `--remote` on those of the
 * deployed service.
 */
export function readPlace(words: string[]): {
  place: '--local' | '--remote';
  rest: string[];
  deployment: Deployment;
} {
  const rest = words.filter((word) => word !== '--remote');
  if (rest.length === words.length)
    return { place: '--local', rest, deployment: readLocalDeployment() };
  return { place: '--remote', rest, deployment: readRemoteDeployment() };
}

/**
 * Writes the configuration for local development, and returns it: wrangler.toml, with further
 * shards until there are as many as `SHARDS=…` in .dev.vars says.
 * @throws UserError if `SHARDS` is invalid, or the new configuration lacks a database that has or
 *   had accounts
 */
export async function prepareLocalDeployment(signal: AbortSignal): Promise<Deployment> {
  const deployed = readDeployment();
  const further = listMissing(deployed.databases);
  await requireNoLostDatabase([...deployed.databases, ...further], signal);
  if (further.length === 0) {
    rmSync(join(ROOT, LOCAL_CONFIG), { force: true });
  } else {
    const settings = readFileSync(join(ROOT, 'wrangler.toml'), 'utf8');
    writeFileSync(join(ROOT, LOCAL_CONFIG), addDatabases(settings, further));
  }
  return readLocalDeployment();
}

/**
 * Adds databases to a wrangler configuration. They need only a binding, because they are never
 * deployed.
 */
export function addDatabases(settings: string, databases: readonly BoundDatabase[]): string {
  const blocks = databases.map(({ binding }) => `\n[[d1_databases]]\nbinding = "${binding}"\n`);
  return [settings, ...blocks].join('');
}

function hasLocalConfig(): boolean {
  return existsSync(join(ROOT, LOCAL_CONFIG));
}

/**
 * The databases that `SHARDS` requires besides the bound ones.
 * @throws UserError if `SHARDS` is invalid
 */
function listMissing(bound: readonly BoundDatabase[]): BoundDatabase[] {
  const { SHARDS = '1' } = readLocalSettings();
  const count = /^\d+$/.test(SHARDS) ? Number(SHARDS) : 0;
  if (count < 1 || count > MAX_SHARDS)
    throw new UserError(`SHARDS in .dev.vars is a number from 1 to ${MAX_SHARDS}.`);
  return Array.from({ length: count - 1 }, (_, i) => ({ binding: `DB_0${i + 1}` })).filter(
    ({ binding }) => !bound.some((database) => database.binding === binding),
  );
}

/**
 * @throws UserError if the last configuration has a database with accounts that is not among these
 */
async function requireNoLostDatabase(
  databases: readonly BoundDatabase[],
  signal: AbortSignal,
): Promise<void> {
  if (!hasLocalConfig()) return;
  const before = readDeployment(LOCAL_CONFIG);
  for (const { binding, database_id } of before.databases) {
    if (databases.some((other) => other.binding === binding && other.database_id === database_id))
      continue;
    await applyMigrations(before, binding, signal);
    const sql =
      'select (select count(*) from accounts) + (select count(*) from moved_accounts) as n';
    const [found] = await queryDatabase(before, binding, '--local', sql, signal);
    if (!found?.n) continue;
    const database = `${binding} (${database_id ?? 'without an id'})`;
    throw new UserError(
      `Neither wrangler.toml nor SHARDS in .dev.vars names the local database ${database} any more, which has or had\n` +
        `${found.n} accounts. Restore the setting. To abandon the data of the database: rm ${LOCAL_CONFIG}`,
    );
  }
}
