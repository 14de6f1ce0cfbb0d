import type { RunningVersion } from '../migrations/plan-migrations.ts';
import { UserError } from '../user-error.ts';
import { type Cloudflare, CloudflareError } from './cloudflare.ts';
import { type Configuration, queueNames } from './configuration.ts';
import type { Options } from './options.ts';

/** The code of Cloudflare's API for an account that has not switched R2 on. */
const NO_R2 = 10_042;

const R2_IS_OFF =
  'The account has not switched R2 on. Do so once in the dashboard, under Storage & databases, R2: https://dash.cloudflare.com';

/** The resources of a deployment on Cloudflare that can be read at once. */
export interface Found {
  /** Null if there is no Worker of this name. */
  worker: FoundWorker | null;
  queues: Map<string, FoundQueue>;
  /** By their names. Null is a bucket that does not exist. */
  buckets: Map<string, LifecycleRule[] | null>;
  /** The account's name under workers.dev; null if it has none. */
  subdomain: string | null;
}

/** A deployed Worker. */
export interface FoundWorker {
  bindings: {
    type: string;
    name: string;
    id?: string;
    database_id?: string;
    text?: string;
    jurisdiction?: string;
  }[];
  versions: DeployedVersion[];
  crons: string[];
  servesWorkersDev: boolean;
  /** The custom domains that it is served on. */
  domains: string[];
}

/** A version that gets traffic. */
export interface DeployedVersion extends RunningVersion {
  /** The tag of its version; empty if it was deployed by hand. */
  tag: string;
}

/** A queue with the Workers that consume it. */
export interface FoundQueue {
  queue_name: string;
  consumers: {
    script?: string;
    service?: string;
    script_name?: string;
    dead_letter_queue?: string;
  }[];
}

/** A rule that deletes objects of a bucket by their age. */
export interface LifecycleRule {
  id: string;
  enabled: boolean;
  conditions?: { prefix?: string };
  deleteObjectsTransition?: { condition: { type: string; maxAge?: number } };
}

/** Reads what exists of a deployment. */
export async function findDeployment(
  cloudflare: Cloudflare,
  account: string,
  configuration: Configuration,
  options: Pick<Options, 'jurisdiction'>,
): Promise<Found> {
  const root = `/accounts/${account}`;
  const names = queueNames(configuration);
  const worker = await findWorker(cloudflare, `${root}/workers`, configuration.name);
  const queueQuery = new URLSearchParams(names.map((name): [string, string] => ['name', name]));
  const [queues, subdomain] = await Promise.all([
    cloudflare.list<FoundQueue>(`${root}/queues?${queueQuery}`),
    cloudflare.find<{ subdomain: string }>(`${root}/workers/subdomain`),
  ]);
  const buckets = new Map<string, LifecycleRule[] | null>();
  for (const { bucket_name: name } of configuration.r2_buckets ?? []) {
    const jurisdiction = findJurisdiction(worker, options);
    buckets.set(name, await findBucket(cloudflare, `${root}/r2/buckets/${name}`, jurisdiction));
  }
  const ownQueues = queues.filter(({ queue_name }) => names.includes(queue_name));
  return {
    worker,
    queues: new Map(ownQueues.map((queue) => [queue.queue_name, queue])),
    buckets,
    subdomain: subdomain?.subdomain ?? null,
  };
}

/** Where the data of a deployment must stay: as it is deployed, or else as it is asked for. */
export function findJurisdiction(
  worker: FoundWorker | null,
  { jurisdiction }: Pick<Options, 'jurisdiction'>,
) {
  const bucket = worker?.bindings.find(({ type }) => type === 'r2_bucket');
  return bucket ? (bucket.jurisdiction ?? null) : jurisdiction;
}

async function findWorker(
  cloudflare: Cloudflare,
  root: string,
  name: string,
): Promise<FoundWorker | null> {
  const script = `${root}/scripts/${name}`;
  const settings = await cloudflare.find<Pick<FoundWorker, 'bindings'>>(`${script}/settings`);
  if (!settings) return null;
  const [versions, crons, address, domains] = await Promise.all([
    findVersions(cloudflare, script),
    cloudflare.find<{ schedules: { cron: string }[] }>(`${script}/schedules`),
    cloudflare.find<{ enabled: boolean }>(`${script}/subdomain`),
    cloudflare.list<{ hostname: string }>(`${root}/domains?service=${name}`),
  ]);
  return {
    bindings: settings.bindings,
    versions,
    crons: (crons?.schedules ?? []).map(({ cron }) => cron),
    servesWorkersDev: address?.enabled ?? false,
    domains: domains.map(({ hostname }) => hostname),
  };
}

/** The versions of the newest deployment: a rollback or a gradual one included. */
async function findVersions(cloudflare: Cloudflare, script: string): Promise<DeployedVersion[]> {
  const list = await cloudflare.find<{
    deployments: { created_on: string; versions: { version_id: string }[] }[];
  }>(`${script}/deployments`);
  const newest = list?.deployments[0];
  if (!newest) return [];
  const since = Date.parse(newest.created_on);
  return Promise.all(
    newest.versions.map(async ({ version_id }) => {
      const version = await cloudflare.find<{ annotations?: Record<string, string> }>(
        `${script}/versions/${version_id}`,
      );
      const tag = version?.annotations?.['workers/tag'] ?? '';
      return { tag, newestMigration: newestMigrationOf(tag), since };
    }),
  );
}

/**
 * The number of the newest migration of a version with this tag; null for the tag of somebody else.
 */
function newestMigrationOf(tag: string): number | null {
  const [, digits] = /^(\d{4})-[0-9a-f]{12}$/.exec(tag) ?? [];
  return digits === undefined ? null : Number(digits);
}

async function findBucket(cloudflare: Cloudflare, path: string, jurisdiction: string | null) {
  const headers: Record<string, string> = jurisdiction
    ? { 'cf-r2-jurisdiction': jurisdiction }
    : {};
  const bucket = await cloudflare.find(path, headers).catch((error) => {
    throw error instanceof CloudflareError && error.codes.includes(NO_R2)
      ? new UserError(R2_IS_OFF)
      : error;
  });
  if (!bucket) return null;
  return (
    (await cloudflare.find<{ rules: LifecycleRule[] }>(`${path}/lifecycle`, headers))?.rules ?? []
  );
}
