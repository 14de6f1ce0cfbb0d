import { readMigrations } from '../migrations/migration.ts';
import { planMigrations } from '../migrations/plan-migrations.ts';
import { chooseAddress } from './choose-address.ts';
import { chooseDatabases } from './choose-databases.ts';
import { Cloudflare } from './cloudflare.ts';
import { readConfiguration } from './configuration.ts';
import type { Deployment } from './deployment.ts';
import { findDeployment, findJurisdiction } from './found.ts';
import type { Login } from './login.ts';
import type { Options } from './options.ts';
import { requireOwnDomain } from './steps/address.ts';
import { findDatabaseId } from './steps/databases.ts';
import { findApplied } from './steps/migrations.ts';
import { requireOwnQueues } from './steps/queues.ts';

/**
 * Reads what exists and decides what is wanted. Changes nothing.
 * @throws UserError if something is in the way, such as a migration that would break the running
 *   version
 */
export async function prepareDeployment(
  login: Login,
  options: Options,
  signal: AbortSignal,
): Promise<Deployment> {
  const { cloudflare, account } = login;
  const configuration = readConfiguration();
  const found = await findDeployment(cloudflare, account, configuration, options);
  requireOwnQueues(configuration, found);
  const address = chooseAddress(configuration, found, options);
  if (address.domain) await requireOwnDomain(cloudflare, account, configuration, address.domain);
  const chosen = chooseDatabases(configuration, found.worker, options.shards);
  const databases = await Promise.all(
    chosen.map(async (database) => ({
      ...database,
      id: database.id ?? (await findDatabaseId(cloudflare, account, database)),
    })),
  );
  const entries = databases.map(
    async ({ binding, id }) => [binding, await findApplied(cloudflare, account, id)] as const,
  );
  const applied = new Map(await Promise.all(entries));
  const all = new Set([...applied.values()].flatMap((names) => [...names]));
  return {
    ...login,
    ...{ options, configuration, found, address, databases, applied, signal },
    jurisdiction: findJurisdiction(found.worker, options),
    migrations: planMigrations(readMigrations(), all, found.worker?.versions ?? [], Date.now()),
  };
}

/** The name under workers.dev of an account that is not known. */
const UNKNOWN_SUBDOMAIN = '<your-account>';

/** Decides what is wanted in an account that has nothing yet. Asks nobody. */
export function prepareForEmptyAccount(options: Options): Deployment {
  const configuration = readConfiguration();
  const subdomain = options.subdomain ?? UNKNOWN_SUBDOMAIN;
  const found = { worker: null, queues: new Map(), buckets: new Map(), subdomain };
  const signal = new AbortController().signal;
  const databases = chooseDatabases(configuration, null, options.shards).map((database) => ({
    ...database,
    id: null,
  }));
  return {
    ...{ cloudflare: new Cloudflare({}, signal), account: '', accountName: '' },
    ...{ options, configuration, found, databases, signal, applied: new Map() },
    address: chooseAddress(configuration, found, options),
    jurisdiction: options.jurisdiction,
    migrations: planMigrations(readMigrations(), new Set(), [], Date.now()),
  };
}
