import { applyD1Migrations, env } from 'cloudflare:test';

await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
await applyD1Migrations(env.DB_01, env.TEST_MIGRATIONS);
await applyD1Migrations(env.DB_02, env.TEST_MIGRATIONS);
