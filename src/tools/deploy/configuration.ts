import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'smol-toml';
import { REMOTE_CONFIG, ROOT } from '../project.ts';

/**
 * The folder of the migrations that wrangler applies: those of migrations/, except contractions
 * that must wait.
 */
export const CHOSEN_MIGRATIONS = 'dist/migrations';

/** The id of a database in the wrangler.toml of the repository, which is nobody's. */
const PLACEHOLDER = /^[0-]+\d?$/;

/** The parts of wrangler.toml that a deployment reads. The rest is passed to wrangler as it is. */
export interface Configuration {
  name: string;
  account_id?: string;
  vars?: Record<string, unknown>;
  routes?: ({ pattern: string; custom_domain?: boolean } | string)[];
  d1_databases?: { binding: string; database_name?: string; database_id?: string }[];
  r2_buckets?: { binding: string; bucket_name: string; jurisdiction?: string }[];
  queues?: {
    producers?: { queue: string }[];
    consumers?: { queue: string; dead_letter_queue?: string }[];
  };
  triggers?: { crons?: string[] };
  [setting: string]: unknown;
}

/** A database that the service is deployed with. */
export interface TargetDatabase {
  binding: string;
  name: string;
  /** Null until it is made. */
  id: string | null;
}

/** Reads wrangler.toml. */
export function readConfiguration(): Configuration {
  return parse(readFileSync(join(ROOT, 'wrangler.toml'), 'utf8')) as unknown as Configuration;
}

/**
 * The Cloudflare account of the last deployment from this folder, or else the one in wrangler.toml;
 * null without either.
 */
export function readTargetAccount(): string | null {
  const file = join(ROOT, REMOTE_CONFIG);
  if (!existsSync(file)) return readConfiguration().account_id ?? null;
  return (parse(readFileSync(file, 'utf8')) as unknown as Configuration).account_id ?? null;
}

/** The id of a database that somebody wrote into wrangler.toml; null for the placeholder. */
export function givenId({ database_id: id }: { database_id?: string }): string | null {
  return id === undefined || PLACEHOLDER.test(id) ? null : id;
}

/** The custom domain that somebody wrote into wrangler.toml; null if there is none. */
export function givenDomain({ routes = [] }: Configuration): string | null {
  const route = routes.find((route) => typeof route === 'object' && route.custom_domain);
  return typeof route === 'object' ? route.pattern : null;
}

/**
 * The queues of a configuration by their names, those first that another one sends its dead letters
 * to.
 */
export function queueNames({ queues = {} }: Configuration): string[] {
  const { producers = [], consumers = [] } = queues;
  const dead = consumers.flatMap(({ dead_letter_queue: name }) => name ?? []);
  return [
    ...new Set([
      ...dead,
      ...producers.map(({ queue }) => queue),
      ...consumers.map(({ queue }) => queue),
    ]),
  ];
}

/**
 * The configuration that is deployed, as text: wrangler.toml with the account, the ids of the
 * databases and the address.
 * @param domain the custom domain that is attached; null without one
 * @param servesWorkersDev whether the address is below workers.dev
 * @param publicUrl null leaves the setting as it is deployed
 * @throws Error if a database has no id yet
 */
export function makeConfiguration(
  configuration: Configuration,
  {
    account,
    databases,
    jurisdiction,
    domain,
    servesWorkersDev,
    publicUrl,
  }: {
    account: string;
    databases: readonly TargetDatabase[];
    jurisdiction: string | null;
    domain: string | null;
    servesWorkersDev: boolean;
    publicUrl: string | null;
  },
): string {
  const { routes = [], r2_buckets: buckets = [], vars = {}, ...rest } = configuration;
  const served = [
    ...routes.filter((route) => typeof route === 'string' || !route.custom_domain),
    ...(domain ? [{ pattern: domain, custom_domain: true }] : []),
  ];
  const deployed = {
    ...rest,
    account_id: account,
    workers_dev: servesWorkersDev,
    // A preview would show every uploaded version under an address of its own.
    preview_urls: false,
    // What an operator has set in Cloudflare's dashboard stays.
    keep_vars: true,
    ...(served.length > 0 && { routes: served }),
    vars: { ...vars, ...(publicUrl && { PUBLIC_URL: publicUrl }) },
    d1_databases: databases.map(({ binding, name, id }) => {
      if (id === null) throw new Error(`the database ${name} has no id`);
      return { binding, database_name: name, database_id: id, migrations_dir: CHOSEN_MIGRATIONS };
    }),
    r2_buckets: buckets.map((bucket) => ({ ...bucket, ...(jurisdiction && { jurisdiction }) })),
  };
  return `# Written by npm run deploy from wrangler.toml and from what is deployed. Changes are lost.\n${stringify(deployed)}`;
}
