import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readMigrations } from '../../migrations/migration.ts';
import { REMOTE_CONFIG, ROOT } from '../../project.ts';
import { CHOSEN_MIGRATIONS, makeConfiguration } from '../configuration.ts';
import type { Deployment, Step } from '../deployment.ts';

/** Writes what wrangler needs: its configuration, and the migrations that it applies. */
export function configurationStep(deployment: Deployment): Step {
  const { databases, found, address } = deployment;
  const attached = found.worker?.domains.includes(address.domain ?? '') ? address.domain : null;
  const file = join(ROOT, REMOTE_CONFIG);
  const isKnown = databases.every(({ id }) => id !== null) && existsSync(file);
  return {
    kind: 'configuration',
    name: REMOTE_CONFIG,
    isDone:
      isKnown &&
      hasMigrations(deployment) &&
      readFileSync(file, 'utf8') === describe(deployment, attached),
    run: async () => {
      writeMigrations(deployment);
      writeConfiguration(deployment, attached);
    },
  };
}

/**
 * Writes the configuration for wrangler, and returns the name of the file.
 * @param domain the custom domain to serve on; null for none
 */
export function writeConfiguration(deployment: Deployment, domain: string | null): string {
  writeFileSync(join(ROOT, REMOTE_CONFIG), describe(deployment, domain));
  return REMOTE_CONFIG;
}

/** The configuration without a custom domain: what decides on the version of the Worker. */
export function describeVersion(deployment: Deployment): string {
  return describe(deployment, null);
}

function describe(deployment: Deployment, domain: string | null): string {
  const { configuration, account, databases, jurisdiction, address } = deployment;
  return makeConfiguration(configuration, {
    ...{ account, databases, jurisdiction, domain },
    servesWorkersDev: address.domain === null,
    publicUrl: address.publicUrl,
  });
}

/**
 * Whether the folder for wrangler has exactly the resulting migrations: wrangler applies all that
 * it finds there.
 */
function hasMigrations({ migrations }: Deployment): boolean {
  const folder = join(ROOT, CHOSEN_MIGRATIONS);
  return existsSync(folder) && isDeepStrictEqual(readMigrations(folder), migrations.resulting);
}

function writeMigrations({ migrations }: Deployment): void {
  const folder = join(ROOT, CHOSEN_MIGRATIONS);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { name, sql } of migrations.resulting) writeFileSync(join(folder, name), sql);
}
