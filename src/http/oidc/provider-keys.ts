import { and, eq, lte } from 'drizzle-orm';
import { providerKeys } from '../../db/schema';
import type { InternalWriter } from '../../ledger/ledger';

type ProviderRow = typeof providerKeys.$inferSelect;

/**
 * Claims the right to fetch the keys of an identity provider. Returns a row if the claim succeeds; one of several
 * concurrent claims does.
 * @param pause minimum time since the last claim, in milliseconds
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
 * Stores the keys that were fetched under a claim, and ends the claim. Without keys, the stored ones stay. Does nothing
 * if there is a newer claim.
 * @param askedAt the time of the claim
 * @param keys null if the provider did not answer
 */
export function saveKeyRefresh(write: InternalWriter, issuer: string, askedAt: number, keys: ProviderRow['keys']) {
  return write
    .update(providerKeys)
    .set({ isAsked: false, ...(keys && { keys, fetchedAt: askedAt }) })
    .where(and(eq(providerKeys.issuer, issuer), eq(providerKeys.askedAt, askedAt)));
}
