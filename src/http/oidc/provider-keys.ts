import { and, eq, lte } from 'drizzle-orm';
import { providerKeys } from '../../db/schema';
import type { InternalWriter } from '../../ledger/ledger';

type ProviderRow = typeof providerKeys.$inferSelect;

/**
 * Takes the right to ask an identity provider for its keys, which is there once in a while: of several that want to at
 * once one gets it, and a row.
 * @param pause how long nobody may ask again, in milliseconds
 */
export function claimKeyRefresh(write: InternalWriter, issuer: string, now: number, pause: number) {
  const asked = { askedAt: now, isAsked: true };
  return write
    .insert(providerKeys)
    .values({ issuer, keys: null, fetchedAt: 0, ...asked })
    .onConflictDoUpdate({
      target: providerKeys.issuer,
      set: asked,
      setWhere: lte(providerKeys.askedAt, now - pause),
    })
    .returning({ issuer: providerKeys.issuer });
}

/**
 * Keeps what an identity provider answered. What it answered before stays where it was asked in vain. Whoever asked later
 * knows better.
 * @param askedAt when it was asked
 */
export function saveKeyRefresh(write: InternalWriter, issuer: string, askedAt: number, keys: ProviderRow['keys']) {
  return write
    .update(providerKeys)
    .set({ isAsked: false, ...(keys && { keys, fetchedAt: askedAt }) })
    .where(and(eq(providerKeys.issuer, issuer), eq(providerKeys.askedAt, askedAt)));
}
