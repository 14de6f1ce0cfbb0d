import { and, eq, lte } from 'drizzle-orm';
import type { JSONWebKeySet } from 'jose';
import type { Database, Reader } from '../../db/database';
import { providerKeys } from '../../db/schema';
import type { OidcConfig, Runtime } from '../../env';
import { unavailable } from '../../errors';
import type { RequestContext } from '../../http/context';
import { SERVICE_AUTHORITY } from '../../ledger/authority';
import { Ledger } from '../../ledger/ledger';
import { logFailure } from '../../lib/log';
import { HOUR, MINUTE, SECOND } from '../../lib/time';
import { type Claims, verifyJwt } from './jwt';
import { fetchKeys } from './provider';

/**
 * Age from which the keys are fetched again. While the provider answers, a withdrawn key is not
 * trusted for longer.
 */
const REFRESH_AFTER = 10 * MINUTE;
/** Age up to which keys are used while the provider does not answer. */
const USABLE_FOR = HOUR;
/** Minimum time between two requests to the provider, so that forged tokens cannot flood it. */
const MIN_REFRESH_INTERVAL = 30 * SECOND;
/**
 * Delays between the reads of a request that waits for keys which another one fetches, in
 * milliseconds.
 */
const POLL_DELAYS = [250, 500, 1_000];

/** The stored keys of an identity provider, and the last claim to fetch new ones. */
type ProviderKeys = typeof providerKeys.$inferSelect;

/** Finds the stored keys of an identity provider. */
export function findProviderKeys(reader: Reader, issuer: string) {
  return reader.select().from(providerKeys).where(eq(providerKeys.issuer, issuer));
}

/**
 * Verifies a JWT with the identity provider's keys. Fetches and stores new keys if the stored ones
 * are old or lack the key of the JWT.
 * @param audience the value that its `aud` must have
 * @returns its claims; null if it is not valid
 * @throws Problem `unavailable` if there are no usable keys, neither stored nor fetched
 */
export async function verifyIdentityToken(
  c: RequestContext,
  directory: Database,
  token: string,
  audience: string,
  stored: ProviderKeys | undefined,
): Promise<Claims | null> {
  const { config, runtime } = c.var;
  const { oidc } = config;
  if (!oidc) return null;
  const expected = { issuer: oidc.issuer, audience };
  const now = runtime.now();
  const usable = usableKeys(stored, now);
  if (stored && usable && now - stored.fetchedAt < REFRESH_AFTER) {
    const claims = await verifyJwt(token, usable, expected, now);
    if (claims !== 'unknown key') return claims;
  }
  const isDue = !stored || stored.claimedAt <= now - MIN_REFRESH_INTERVAL;
  const hasClaim = isDue && (await claimRefresh(directory, oidc, now));
  const refreshed = hasClaim ? await refreshKeys(runtime, directory, oidc, now) : null;
  // Other requests use the stored keys, or wait for the one that fetches new ones.
  const mayWait = !hasClaim && !usable && (isDue || stored.isClaimed);
  const keys =
    refreshed ?? usable ?? (mayWait ? await waitForKeys(runtime, directory, oidc) : null);
  if (!keys) throw unavailable();
  const claims = await verifyJwt(token, keys, expected, now);
  return claims === 'unknown key' ? null : claims;
}

/** The stored keys; null if there are none, or if they are too old. */
function usableKeys(stored: ProviderKeys | undefined, now: number): JSONWebKeySet | null {
  return stored && now - stored.fetchedAt < USABLE_FOR ? stored.keys : null;
}

/**
 * Claims the right to fetch the keys, so that one of several concurrent requests does.
 * @returns whether the claim succeeded
 */
async function claimRefresh(
  directory: Database,
  { issuer }: OidcConfig,
  now: number,
): Promise<boolean> {
  const claim = { claimedAt: now, isClaimed: true };
  const [claimed] = await new Ledger(directory, SERVICE_AUTHORITY).write({
    changes: (write) => [
      write
        .insert(providerKeys)
        .values({ issuer, keys: null, fetchedAt: 0, ...claim })
        .onConflictDoUpdate({
          target: providerKeys.issuer,
          set: claim,
          setWhere: lte(providerKeys.claimedAt, now - MIN_REFRESH_INTERVAL),
        })
        .returning({ issuer: providerKeys.issuer }),
    ],
  });
  return claimed.length > 0;
}

/**
 * Fetches the keys under a claim made at `claimedAt`, stores them and ends the claim. Writes
 * nothing if there is a newer claim.
 * @returns null if the provider does not answer: the stored keys stay
 */
async function refreshKeys(
  runtime: Runtime,
  directory: Database,
  oidc: OidcConfig,
  claimedAt: number,
) {
  const keys = await fetchKeys(runtime, oidc).catch((error: unknown) => {
    logFailure('oidc_provider_failed', error);
    return null;
  });
  const isOwnClaim = and(
    eq(providerKeys.issuer, oidc.issuer),
    eq(providerKeys.claimedAt, claimedAt),
  );
  const refreshed = { isClaimed: false, ...(keys && { keys, fetchedAt: claimedAt }) };
  await new Ledger(directory, SERVICE_AUTHORITY).write({
    changes: (write) => [write.update(providerKeys).set(refreshed).where(isOwnClaim)],
  });
  return keys;
}

/** Waits for the keys that a concurrent request fetches; null if they do not come in time. */
async function waitForKeys(
  runtime: Runtime,
  directory: Database,
  { issuer }: OidcConfig,
): Promise<JSONWebKeySet | null> {
  for (const pause of POLL_DELAYS) {
    await runtime.sleep(pause);
    const [[stored]] = await directory.load([findProviderKeys(directory, issuer)]);
    const keys = usableKeys(stored, runtime.now());
    if (keys || !stored?.isClaimed) return keys;
  }
  return null;
}
