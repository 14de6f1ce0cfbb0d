import { sql } from 'drizzle-orm';
import type { Database, Statement } from '../db/database';
import { providerKeys } from '../db/schema';

/** Keeps what an identity provider answered when it was last asked for its keys. */
export function keepProviderKeys({ build }: Database, row: typeof providerKeys.$inferInsert): Statement {
  return build
    .insert(providerKeys)
    .values(row)
    .onConflictDoUpdate({
      target: providerKeys.issuer,
      set: { keys: sql`excluded.keys`, fetchedAt: sql`excluded.fetched_at`, askedAt: sql`excluded.asked_at` },
      // Whoever asked later knows better.
      setWhere: sql`excluded.asked_at >= ${providerKeys.askedAt}`,
    });
}
