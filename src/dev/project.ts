import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'smol-toml';
import { Complaint } from './complaint.ts';

/** The project's folder. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url).href);

/** A D1 database, as a configuration of wrangler binds it. */
export interface BoundDatabase {
  binding: string;
  /** Locally, the name of its file follows from it; from the binding where it has none. */
  database_id?: string;
}

/** What a configuration of wrangler says that this folder's programs have to know. */
export interface Deployment {
  /** The configuration, by its name in the project's folder. */
  config: string;
  /** One a shard. */
  databases: BoundDatabase[];
  crons: string[];
}

/** Reads a configuration of wrangler. */
export function readDeployment(config = 'wrangler.toml'): Deployment {
  const file = parse(readFileSync(join(ROOT, config), 'utf8')) as {
    d1_databases?: BoundDatabase[];
    triggers?: { crons?: string[] };
  };
  return { config, databases: file.d1_databases ?? [], crons: file.triggers?.crons ?? [] };
}

/** A shard by its two characters, and the binding of its database. */
export interface Shard {
  name: string;
  binding: string;
}

/** The shards of a deployment, the first one first. */
export function listShards({ databases }: Deployment): Shard[] {
  return databases.map(({ binding }) => ({ name: binding === 'DB' ? '00' : binding.replace(/^DB_/, ''), binding }));
}

/**
 * The shard with a name.
 * @throws Complaint when the deployment has none
 */
export function findShard(shards: readonly Shard[], name: string, { config }: Deployment): Shard {
  const shard = shards.find((shard) => shard.name === name);
  if (shard) return shard;
  throw new Complaint(`There is no shard ${name} in ${config}: ${shards.map((shard) => shard.name).join(', ')}.`);
}
