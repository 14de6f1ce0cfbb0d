import { eq } from 'drizzle-orm';
import type { JSONWebKeySet } from 'jose';
import type { Batch, Database, Reader } from '../../db/database';
import { providerKeys } from '../../db/schema';
import { unavailable } from '../../errors';
import { claimProvider, keepProviderKeys, noteProviderFailure } from '../../ledger/identity';
import { Ledger, type RecordWriter } from '../../ledger/ledger';
import { logFailure } from '../../lib/log';
import { HOUR, MINUTE, SECOND } from '../../lib/time';
import type { Incoming } from '../context';
import { type Claims, verifyJwt } from './jwt';
import { fetchKeys } from './provider';

/** Keys are asked for anew after this time: one that the provider took back is trusted no longer than that. */
const FRESH = 10 * MINUTE;
/** While the provider does not answer, its last keys serve this long. */
const USABLE = HOUR;
/** A key that is not known is asked for at most this often: the tokens of strangers are no hammer. */
const PAUSE = 30 * SECOND;

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
  if (!config.oidc) return null;
  const now = runtime.now();
  const age = now - (kept?.fetchedAt ?? Number.NEGATIVE_INFINITY);
  const usable = kept?.keys && age < USABLE ? kept.keys : null;
  if (usable && age < FRESH) {
    const claims = await verifyJwt(token, usable, config.oidc, now);
    if (claims !== 'unknown key') return claims;
  }
  const mayAsk = !kept || kept.askedAt <= now - PAUSE;
  // While the kept ones serve, one request asks, and the others go on with these.
  const isFirst = mayAsk && (!usable || !kept || (await claim(directory, kept, now)));
  const keys = (isFirst && (await renew(c, directory))) || usable;
  if (!keys) throw unavailable();
  const claims = await verifyJwt(token, keys, config.oidc, now);
  return claims === 'unknown key' ? null : claims;
}

async function claim(directory: Database, kept: ProviderKeys, now: number): Promise<boolean> {
  const [[claimed]] = await change(directory, (write) => [claimProvider(write, kept, now)]);
  return claimed !== undefined;
}

/** Asks for the keys and keeps them; null when the provider does not answer. */
async function renew(c: Incoming, directory: Database): Promise<JSONWebKeySet | null> {
  const { config, runtime } = c.var;
  if (!config.oidc) return null;
  const { issuer } = config.oidc;
  const now = runtime.now();
  try {
    const keys = await fetchKeys(runtime, config.oidc);
    await change(directory, (write) => [keepProviderKeys(write, { issuer, keys, fetchedAt: now, askedAt: now })]);
    return keys;
  } catch (error) {
    logFailure('oidc_provider_failed', error);
    await change(directory, (write) => [noteProviderFailure(write, issuer, now)]);
    return null;
  }
}

function change<const C extends Batch>(directory: Database, changes: (write: RecordWriter) => C) {
  return new Ledger(directory).change({ note: null, changes, answer: null });
}
