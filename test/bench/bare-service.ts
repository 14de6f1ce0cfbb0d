import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { findRuntimes, freePort, runWrangler, wranglerScript } from '../support/local/service.ts';

/** A service whose runtime takes requests itself, without the proxy of `wrangler dev`. */
export interface BareService {
  origin: string;
  /** The process of the runtime. */
  runtime: string;
  stop(): Promise<void>;
}

/** The part of Miniflare that runs a Worker. */
interface Miniflare {
  Miniflare: new (options: object) => { ready: Promise<URL>; dispose(): Promise<void> };
  convertV4MiniflareOptions(options: object): object;
}

const { Miniflare, convertV4MiniflareOptions }: Miniflare =
  createRequire(wranglerScript)('miniflare');

/**
 * Builds a Worker as it is deployed, and starts it on a free loopback port with the database of
 * `state`. It discards the log, and consumes no queue.
 * @param entry a worker to run instead of the service's own, as a path from the project's root
 * @param inspectorPort where to listen for a profiler
 */
export async function startBareService(
  state: string,
  { entry, inspectorPort }: { entry?: string; inspectorPort?: number } = {},
): Promise<BareService> {
  const folder = join(state, 'bundle');
  mkdirSync(folder, { recursive: true });
  await runWrangler(state, 'deploy', ...(entry ? [entry] : []), '--dry-run', '--outdir', folder);
  const file = join(folder, basename(entry ?? 'index.ts').replace('.ts', '.js'));
  const { unstable_getMiniflareWorkerOptions: readOptions } = await import('wrangler');
  const { workerOptions } = readOptions(join(import.meta.dirname, '../../wrangler.toml'));
  const port = await freePort();
  const before = findRuntimes(process.pid);
  const bare = new Miniflare(
    convertV4MiniflareOptions({
      ...{ host: '127.0.0.1', port: 0, resourcePersistencePath: join(state, 'v3') },
      handleStructuredLogs: () => undefined,
      ...(inspectorPort !== undefined && { inspectorPort }),
      workers: [
        {
          name: 'bare',
          compatibilityDate: workerOptions.compatibilityDate,
          compatibilityFlags: workerOptions.compatibilityFlags,
          d1Databases: workerOptions.d1Databases,
          r2Buckets: workerOptions.r2Buckets,
          queueProducers: workerOptions.queueProducers,
          ratelimits: workerOptions.ratelimits,
          bindings: readVariables(state),
          rootPath: folder,
          modulesRoot: folder,
          modules: [{ type: 'ESModule', path: file }],
          unsafeDirectSockets: [{ host: '127.0.0.1', port }],
        },
      ],
    }),
  );
  await bare.ready;
  const [runtime = ''] = findRuntimes(process.pid).filter((pid) => !before.includes(pid));
  return { origin: `http://127.0.0.1:${port}`, runtime, stop: () => bare.dispose() };
}

function readVariables(state: string): Record<string, string> {
  const lines = readFileSync(join(state, 'variables.env'), 'utf8').trim().split('\n');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', value = ''] = line.split(/=(.*)/);
      return [name, JSON.parse(value) as string];
    }),
  );
}
