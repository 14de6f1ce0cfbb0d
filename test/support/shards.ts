import { env } from 'cloudflare:test';

/** The databases of the shards, by their names. Most tests use the first one only. */
export const DATABASES: Record<string, D1Database> = {
  '00': env.DB,
  '01': env.DB_01,
  '02': env.DB_02,
};
