import { applyD1Migrations, env } from 'cloudflare:test';

// Whoever imports this has further shards: most tests do with one.
for (const database of [env.DB_01, env.DB_02]) await applyD1Migrations(database, env.TEST_MIGRATIONS);

/** The databases of the shards, by their names. */
export const DATABASES: Record<string, D1Database> = { '00': env.DB, '01': env.DB_01, '02': env.DB_02 };
