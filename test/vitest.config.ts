import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-pool-workers';
import { defineConfig } from 'vitest/config';

const root = `${import.meta.dirname}/..`;

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
          include: ['test/*.test.ts', 'test/{faults,lib}/**/*.test.ts'],
          setupFiles: ['test/support/setup.ts'],
          testTimeout: 30_000,
        },
      },
      // What needs programs of this machine.
      { root, test: { name: 'node', include: ['test/node/*.test.ts'], testTimeout: 60_000, hookTimeout: 120_000 } },
    ],
  },
}));

/** @param mode `faults` lets every call of every job fail in turn, and not a sample of them */
function workerd(mode: string) {
  return cloudflareTest(async () => {
    // Wrangler does so by itself; the plugin looks for the files without making them.
    execFileSync(process.execPath, ['src/dev/build-assets.mjs'], { cwd: root });
    return {
      main: './src/index.ts',
      wrangler: { configPath: './wrangler.toml' },
      miniflare: {
        d1Databases: ['DB', 'DB_01', 'DB_02'],
        bindings: {
          TEST_MIGRATIONS: await readD1Migrations(`${root}/migrations`),
          ADMIN_TOKEN: 'operator-token-of-the-tests',
          ROOT_SECRET: 'dGhpcnR5LXR3byBieXRlcyBvZiB0ZXN0IHNlY3JldCE=',
          PUBLIC_URL: 'https://countersign.test',
          EXPOSE_COST: 'on',
          RATE_LIMITS: 'off',
          FAULTS: mode === 'faults' ? 'all' : '',
          WRANGLER: readFileSync(`${root}/wrangler.toml`, 'utf8'),
        },
        ratelimits: { LIMITER_OF_3: { namespace_id: '4103', simple: { limit: 3, period: 60 } } },
      },
    };
  });
}
