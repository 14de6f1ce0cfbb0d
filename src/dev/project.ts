import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'smol-toml';

/** The project's folder. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url).href);

/** What wrangler.toml says that local development has to know. */
export interface Deployment {
  /** Bindings of the D1 databases: one a shard. */
  databases: string[];
  crons: string[];
}

/** Reads wrangler.toml. */
export function readDeployment(): Deployment {
  const file = parse(readFileSync(join(ROOT, 'wrangler.toml'), 'utf8')) as {
    d1_databases?: { binding: string }[];
    triggers?: { crons?: string[] };
  };
  return {
    databases: (file.d1_databases ?? []).map(({ binding }) => binding),
    crons: file.triggers?.crons ?? [],
  };
}
