import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-pool-workers';
import { configDefaults, defineConfig } from 'vitest/config';
import type { Depth } from './support/depth';

const root = `${import.meta.dirname}/..`;

/**
 * Each is one module to every file's process, instead of the hundreds that take it longest to load.
 * Named are all the paths by which a package is imported: by another one a second copy of it would
 * come in.
 */
const BUNDLED = [
  '@cfworker/json-schema',
  '@hono/zod-validator',
  '@modelcontextprotocol/server',
  '@simplewebauthn/server',
  'canonicalize',
  'drizzle-orm',
  'drizzle-orm/d1',
  'drizzle-orm/sqlite-core',
  'fast-check',
  'hono',
  'hono/cookie',
  'hono/factory',
  'hono/http-exception',
  'hono/method-not-allowed',
  'hono/route',
  'hono/router/trie-router',
  'hyparquet',
  'hyparquet-writer',
  'jose',
  'typeid-js',
  'zod',
  'zod-openapi',
];

/** How thorough a run is, by its `--mode`: see test/support/depth.ts. */
const DEPTHS: Record<string, Depth> = { test: 'shallow', deep: 'deep', faults: 'exhaustive' };

const MEMORY_DISK = '/dev/shm';

/** In milliseconds: generous, so that a busy machine fails no test. */
const LIMITS = { testTimeout: 300_000, hookTimeout: 300_000 };

// Where memory serves as a disk, the databases of the tests are there: they wait for no disk, which
// saves a fifth of the time.
if (!process.env.TMPDIR && isUsable(MEMORY_DISK)) process.env.TMPDIR = MEMORY_DISK;

export default defineConfig(({ mode }) => {
  const depth = DEPTHS[mode];
  if (!depth) throw new Error(`There is no mode ${mode}: use ${Object.keys(DEPTHS).join(', ')}.`);
  // Files that start servers or programs.
  const exclude = [
    ...configDefaults.exclude,
    ...(depth === 'shallow' ? ['test/**/*.deep.test.ts'] : []),
  ];
  return {
    root,
    test: {
      globalSetup: ['test/support/identity-provider.ts'],
      silent: 'passed-only',
      // A third file has its turn on two cores while one waits for a server that it started.
      maxWorkers: Math.ceil(availableParallelism() * (depth === 'shallow' ? 1 : 1.5)),
      projects: [
        {
          root,
          plugins: [workerd()],
          test: {
            name: 'workerd',
            include: ['test/**/*.test.ts'],
            exclude: [...exclude, 'test/node/**'],
            provide: { depth },
            setupFiles: ['test/support/setup.ts'],
            // To start a runtime and load all modules takes seconds: the files share one for each
            // core. The setup empties it.
            isolate: false,
            ...LIMITS,
            deps: { optimizer: { ssr: { enabled: true, include: BUNDLED } } },
          },
        },
        {
          root,
          test: {
            name: 'node',
            include: ['test/node/*.test.ts'],
            exclude,
            provide: { depth },
            ...LIMITS,
          },
        },
      ],
    },
  };
});

/** Whether a disk exists, has 4 GiB left, and lets programs run that tests write there. */
function isUsable(disk: string): boolean {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const options =
      mounts.map((line) => line.split(' ')).find(([, folder]) => folder === disk)?.[3] ?? 'noexec';
    const { bavail, bsize } = statfsSync(disk);
    return !options.split(',').includes('noexec') && bavail * bsize > 4 * 1024 ** 3;
  } catch {
    return false;
  }
}

function workerd() {
  // Wrangler does so by itself; the plugin looks for the files without making them.
  execFileSync(process.execPath, ['src/tools/build-assets.mjs'], { cwd: root });
  const migrations = readD1Migrations(`${root}/migrations`);
  // Called for every file.
  return cloudflareTest(async () => {
    return {
      main: './src/index.ts',
      wrangler: { configPath: './wrangler.toml' },
      miniflare: {
        d1Databases: ['DB', 'DB_01', 'DB_02'],
        bindings: {
          TEST_MIGRATIONS: await migrations,
          ADMIN_TOKEN: 'operator-token-of-the-tests',
          ROOT_SECRET: 'dGhpcnR5LXR3byBieXRlcyBvZiB0ZXN0IHNlY3JldCE=',
          PUBLIC_URL: 'https://countersign.test',
          EXPOSE_COST: 'on',
          RATE_LIMITS: 'off',
          WRANGLER: readFileSync(`${root}/wrangler.toml`, 'utf8'),
        },
        ratelimits: { LIMITER_OF_3: { namespace_id: '4199', simple: { limit: 3, period: 60 } } },
      },
    };
  });
}
