import { and, eq, sql } from 'drizzle-orm';
import type { Statement } from '../db/database';
import { providerKeys } from '../db/schema';
import type { RecordWriter } from './ledger';

type ProviderRow = typeof providerKeys.$inferSelect;

/** Takes the right to ask an identity provider for its keys: of several that want to at once one gets it, and a row. */
export function claimProvider(write: RecordWriter, { issuer, askedAt }: ProviderRow, now: number) {
  return write
    .update(providerKeys)
    .set({ askedAt: now })
    .where(and(eq(providerKeys.issuer, issuer), eq(providerKeys.askedAt, askedAt)))
    .returning({ issuer: providerKeys.issuer });
}

/** Notes that an identity provider was asked in vain. What it answered before stays. */
export function noteProviderFailure(write: RecordWriter, issuer: string, now: number): Statement {
  return write
    .insert(providerKeys)
    .values({ issuer, keys: null, fetchedAt: 0, askedAt: now })
    .onConflictDoUpdate({
      target: providerKeys.issuer,
      set: { askedAt: sql`max(excluded.asked_at, ${providerKeys.askedAt})` },
    });
}

/** Keeps what an identity provider answered when it was last asked for its keys. */
export function keepProviderKeys(write: RecordWriter, row: ProviderRow): Statement {
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
