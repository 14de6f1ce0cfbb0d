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
import type { Incoming } from '../context';
import { type Claims, verifyJwt } from './jwt';
import { fetchKeys } from './provider';
import { claimKeyRefresh, saveKeyRefresh } from './provider-keys';

/** Keys are asked for anew after this time: one that the provider took back is trusted no longer than that. */
const FRESH = 10 * MINUTE;
/** While the provider does not answer, its last keys serve this long. */
const USABLE = HOUR;
/** It is asked at most this often, whoever wants what: the tokens of strangers are no hammer. */
const PAUSE = 30 * SECOND;
/** Pauses before each look at what somebody else is answered, in milliseconds. */
const LOOKS = [250, 500, 1_000];

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
  c: Incoming,
  directory: Database,
  token: string,
  kept: ProviderKeys | undefined,
): Promise<Claims | null> {
  const { config, runtime } = c.var;
  const { oidc } = config;
  if (!oidc) return null;
  const now = runtime.now();
  const usable = usableKeys(kept, now);
  if (kept && usable && now - kept.fetchedAt < FRESH) {
    const claims = await verifyJwt(token, usable, oidc, now);
    if (claims !== 'unknown key') return claims;
  }
  const mayAsk = !kept || kept.askedAt <= now - PAUSE;
  const isFirst = mayAsk && (await claim(directory, oidc, now));
  const renewed = isFirst ? await renew(runtime, directory, oidc, now) : null;
  // Others go on with the kept ones while these serve, else with what the first is answered.
  const mayAwait = !isFirst && !usable && (mayAsk || kept.isAsked);
  const keys = renewed ?? usable ?? (mayAwait ? await awaitKeys(runtime, directory, oidc) : null);
  if (!keys) throw unavailable();
  const claims = await verifyJwt(token, keys, oidc, now);
  return claims === 'unknown key' ? null : claims;
}

/** Keys that are not too old to be trusted; null where there are none. */
function usableKeys(kept: ProviderKeys | undefined, now: number): JSONWebKeySet | null {
  return kept && now - kept.fetchedAt < USABLE ? kept.keys : null;
}

async function claim(directory: Database, { issuer }: OidcConfig, now: number): Promise<boolean> {
  const [[claimed]] = await change(directory, (write) => [claimKeyRefresh(write, issuer, now, PAUSE)]);
  return claimed !== undefined;
}

/** Asks for the keys and keeps them; null when the provider does not answer. */
async function renew(runtime: Runtime, directory: Database, oidc: OidcConfig, now: number) {
  const keys = await fetchKeys(runtime, oidc).catch((error: unknown) => {
    logFailure('oidc_provider_failed', error);
    return null;
  });
  await change(directory, (write) => [saveKeyRefresh(write, oidc.issuer, now, keys)]);
  return keys;
}

/** The keys that somebody else is asking for at this moment; null when none come, or not soon. */
async function awaitKeys(runtime: Runtime, directory: Database, { issuer }: OidcConfig): Promise<JSONWebKeySet | null> {
  for (const pause of LOOKS) {
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
