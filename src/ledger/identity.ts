import { sql } from 'drizzle-orm';
import type { Statement } from '../db/database';
import { providerKeys } from '../db/schema';
import type { RecordWriter } from './ledger';

/** Keeps what an identity provider answered when it was last asked for its keys. */
export function keepProviderKeys(write: RecordWriter, row: typeof providerKeys.$inferInsert): Statement {
  return write
    .insert(providerKeys)
    .values(row)
    .onConflictDoUpdate({
      target: providerKeys.issuer,
      set: { keys: sql`excluded.keys`, fetchedAt: sql`excluded.fetched_at`, askedAt: sql`excluded.asked_at` },
      // Whoever asked later knows better.
      setWhere: sql`excluded.asked_at >= ${providerKeys.askedAt}`,
    });
}
