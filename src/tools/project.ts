import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'smol-toml';
import { UserError } from './user-error.ts';

/** The project's folder. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url).href);

/**
 * The configuration that `npm run deploy` deployed last: wrangler.toml with the ids of its
 * databases. Exists only after a deployment.
 */
export const REMOTE_CONFIG = 'wrangler.remote.toml';

/**
 * Reads a JSON file that this folder's programs wrote; null if there is none.
 * @throws UserError if it is not JSON
 */
export function readJsonFile<T>(file: string): T | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new UserError(`${file} is not JSON. Delete it, and try again.`);
  }
}

/** Writes JSON; only the owner can read the file. Makes its folder. */
export function writeJsonFile(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}

/** A D1 database in a wrangler configuration. */
export interface BoundDatabase {
  binding: string;
  /** Names the local file; if absent, the binding does. */
  database_id?: string;
}

/** The parts of a wrangler configuration that the programs in this folder use. */
export interface Deployment {
  /** The file name of the configuration. */
  config: string;
  /** One per shard. */
  databases: BoundDatabase[];
  crons: string[];
}

/** Reads a wrangler configuration. */
export function readDeployment(config = 'wrangler.toml'): Deployment {
  const file = parse(readFileSync(join(ROOT, config), 'utf8')) as {
    d1_databases?: BoundDatabase[];
    triggers?: { crons?: string[] };
  };
  return { config, databases: file.d1_databases ?? [], crons: file.triggers?.crons ?? [] };
}

/**
 * The configuration of the deployed service: the one that `npm run deploy` last wrote, or
 * wrangler.toml.
 */
export function readRemoteDeployment(): Deployment {
  return existsSync(join(ROOT, REMOTE_CONFIG)) ? readDeployment(REMOTE_CONFIG) : readDeployment();
}

/** A shard by its two characters, and the binding of its database. */
export interface Shard {
  name: string;
  binding: string;
}

/** The shards of a deployment, the first one first. */
export function listShards({ databases }: Deployment): Shard[] {
  return databases.map(({ binding }) => ({
    name: binding === 'DB' ? '00' : binding.replace(/^DB_/, ''),
    binding,
  }));
}

/**
 * The shard with a name.
 * @throws UserError when the deployment has none
 */
export function findShard(shards: readonly Shard[], name: string, { config }: Deployment): Shard {
  const shard = shards.find((shard) => shard.name === name);
  if (shard) return shard;
  throw new UserError(
    `There is no shard ${name} in ${config}: ${shards.map((shard) => shard.name).join(', ')}.`,
  );
}
