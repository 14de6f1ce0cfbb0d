import { eq } from 'drizzle-orm';
import type { JSONWebKeySet } from 'jose';
import type { Batch, Database, Reader } from '../../db/database';
import { providerKeys } from '../../db/schema';
import type { OidcConfig, Runtime } from '../../env';
import { unavailable } from '../../errors';
import { SERVICE } from '../../ledger/authority';
import { type InternalWriter, Ledger } from '../../ledger/ledger';
import { logFailure } from '../../lib/log';
import { HOUR, MINUTE, SECOND } from '../../lib/time';
import type { RequestContext } from '../context';
import { type Claims, verifyJwt } from './jwt';
import { fetchKeys } from './provider';
import { claimKeyRefresh, saveKeyRefresh } from './provider-keys';

/** Keys are asked for anew after this time: one that the provider took back is trusted no longer than that. */
const REFRESH_AFTER = 10 * MINUTE;
/** While the provider does not answer, its last keys serve this long. */
const USABLE_FOR = HOUR;
/** It is asked at most this often, whoever wants what: the tokens of strangers are no hammer. */
const MIN_REFRESH_INTERVAL = 30 * SECOND;
/** Pauses before each look at what somebody else is answered, in milliseconds. */
const POLL_DELAYS = [250, 500, 1_000];

/** The keys of the provider as they were last fetched. */
export type ProviderKeys = typeof providerKeys.$inferSelect;

/** Finds what is kept of the provider's keys. */
export function findProviderKeys(reader: Reader, issuer: string) {
  return reader.select().from(providerKeys).where(eq(providerKeys.issuer, issuer));
}

/**
 * Verifies a JWT by the provider's keys: those that are kept or, where these are old or do not know it, new ones, which
 * are then kept.
 * @returns its claims; null for one that is not valid
 * @throws Problem `unavailable` when the keys that it takes cannot be had
 */
export async function verifyByProvider(
  c: RequestContext,
  directory: Database,
  token: string,
  kept: ProviderKeys | undefined,
): Promise<Claims | null> {
  const { config, runtime } = c.var;
  const { oidc } = config;
  if (!oidc) return null;
  const now = runtime.now();
  const usable = usableKeys(kept, now);
  if (kept && usable && now - kept.fetchedAt < REFRESH_AFTER) {
    const claims = await verifyJwt(token, usable, oidc, now);
    if (claims !== 'unknown key') return claims;
  }
  const mayAsk = !kept || kept.askedAt <= now - MIN_REFRESH_INTERVAL;
  const isFirst = mayAsk && (await claimRefresh(directory, oidc, now));
  const renewed = isFirst ? await refreshKeys(runtime, directory, oidc, now) : null;
  // Others go on with the kept ones while these serve, else with what the first is answered.
  const mayAwait = !isFirst && !usable && (mayAsk || kept.isAsked);
  const keys = renewed ?? usable ?? (mayAwait ? await waitForKeys(runtime, directory, oidc) : null);
  if (!keys) throw unavailable();
  const claims = await verifyJwt(token, keys, oidc, now);
  return claims === 'unknown key' ? null : claims;
}

/** Keys that are not too old to be trusted; null where there are none. */
function usableKeys(kept: ProviderKeys | undefined, now: number): JSONWebKeySet | null {
  return kept && now - kept.fetchedAt < USABLE_FOR ? kept.keys : null;
}

async function claimRefresh(directory: Database, { issuer }: OidcConfig, now: number): Promise<boolean> {
  const [[claimed]] = await change(directory, (write) => [claimKeyRefresh(write, issuer, now, MIN_REFRESH_INTERVAL)]);
  return claimed !== undefined;
}

/** Asks for the keys and keeps them; null when the provider does not answer. */
async function refreshKeys(runtime: Runtime, directory: Database, oidc: OidcConfig, now: number) {
  const keys = await fetchKeys(runtime, oidc).catch((error: unknown) => {
    logFailure('oidc_provider_failed', error);
    return null;
  });
  await change(directory, (write) => [saveKeyRefresh(write, oidc.issuer, now, keys)]);
  return keys;
}

/** The keys that somebody else is asking for at this moment; null when none come, or not soon. */
async function waitForKeys(
  runtime: Runtime,
  directory: Database,
  { issuer }: OidcConfig,
): Promise<JSONWebKeySet | null> {
  for (const pause of POLL_DELAYS) {
    await runtime.sleep(pause);
    const [[kept]] = await directory.load([findProviderKeys(directory, issuer)]);
    const keys = usableKeys(kept, runtime.now());
    if (keys || !kept?.isAsked) return keys;
  }
  return null;
}

function change<const C extends Batch>(directory: Database, changes: (write: InternalWriter) => C) {
  return new Ledger(directory, SERVICE).write({ changes });
}
