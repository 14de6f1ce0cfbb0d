import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-pool-workers';
import { defineConfig } from 'vitest/config';

const root = `${import.meta.dirname}/..`;

/**
 * Each is one module to every file's process, instead of the hundreds that take it longest to load. Named are all the
 * paths by which a package is imported: by another one a second copy of it would come in.
 */
const BUNDLED = [
  '@cfworker/json-schema',
  '@hono/zod-validator',
  'canonicalize',
  'drizzle-orm',
  'drizzle-orm/d1',
  'drizzle-orm/sqlite-core',
  'fast-check',
  'hono',
  'hono/factory',
  'hono/http-exception',
  'hono/method-not-allowed',
  'hono/route',
  'jose',
  'typeid-js',
  'zod',
  'zod-openapi',
];

export default defineConfig(({ mode }) => ({
  root,
  test: {
    globalSetup: ['test/support/identity-provider.ts'],
    silent: 'passed-only',
    // Of two cores the default is to use one. A third file has its turn while one of them waits, for real time to pass.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    projects: [
      {
        root,
        plugins: [workerd(mode)],
        test: {
          name: 'workerd',
          include: ['test/**/*.test.ts'],
          exclude: ['test/node/**'],
          setupFiles: ['test/support/setup.ts'],
          testTimeout: 30_000,
          deps: { optimizer: { ssr: { enabled: true, include: BUNDLED } } },
        },
      },
      // What needs programs of this machine.
      { root, test: { name: 'node', include: ['test/node/*.test.ts'], testTimeout: 60_000, hookTimeout: 120_000 } },
    ],
  },
}));

/** @param mode `faults` lets every call of every job fail in turn, and not a sample of them */
function workerd(mode: string) {
  // Wrangler does so by itself; the plugin looks for the files without making them.
  execFileSync(process.execPath, ['src/dev/build-assets.mjs'], { cwd: root });
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
          FAULTS: mode === 'faults' ? 'all' : '',
          WRANGLER: readFileSync(`${root}/wrangler.toml`, 'utf8'),
        },
        ratelimits: { LIMITER_OF_3: { namespace_id: '4199', simple: { limit: 3, period: 60 } } },
      },
    };
  });
}
