import type { D1Migration } from '@cloudflare/vitest-pool-workers';

declare global {
  namespace Cloudflare {
    interface Env {
      ASSETS: Fetcher;
      DB: D1Database;
      DB_01: D1Database;
      DB_02: D1Database;
      FILES: R2Bucket;
      ADMIN_TOKEN: string;
      ROOT_SECRET: string;
      PUBLIC_URL: string;
      EXPOSE_COST: string;
      RATE_LIMITS: string;
      ACCOUNT_LIMITER: RateLimit;
      LIMITER_OF_3: RateLimit;
      /** The text of `wrangler.toml`. */
      WRANGLER: string;
      TEST_MIGRATIONS: D1Migration[];
    }
  }
}
