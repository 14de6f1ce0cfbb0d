import type { Database } from '../db/database';
import { openShard } from '../db/shards';
import type { Env } from '../env';
import type { Principal, RequestContext } from '../http/context';
import type { CredentialReference } from '../ledger/authority';
import { toHex } from '../lib/bytes';
import { hashCredential } from './credentials';

/** Who had a credential when it was last found in the database. */
interface RememberedCaller {
  principal: Principal;
  reference: CredentialReference;
  /**
   * When the last use of the credential has to be recorded again, in milliseconds since the epoch:
   * see `nextRecordAt`. From then on this is ignored.
   */
  until: number;
}

const MAX_CALLERS = 1_000;

/**
 * The callers whom this isolate has authenticated by an agent key or a user token, by the hash of
 * the credential; for each environment, because tests have several.
 *
 * They may be out of date: the credential may have ended, the account may be stopped or have moved.
 * Use them only for writes that check the credential and the account in their transaction.
 */
const remembered = new WeakMap<Env, Map<string, RememberedCaller>>();

/**
 * Remembers an authenticated caller for {@link recallCaller}.
 * @param hash the hash of the credential with the newest root secret
 */
export function rememberCaller(
  { env }: RequestContext,
  hash: Uint8Array,
  caller: RememberedCaller,
): void {
  const callers = remembered.get(env) ?? new Map<string, RememberedCaller>();
  remembered.set(env, callers);
  if (callers.size >= MAX_CALLERS) callers.clear();
  callers.set(toHex(hash), caller);
}

/** Forgets who had a credential, by the same hash. */
export function forgetCaller({ env }: RequestContext, hash: Uint8Array): void {
  remembered.get(env)?.delete(toHex(hash));
}

/**
 * Returns who had a credential when this isolate last authenticated it, less than a minute ago, and
 * the database of their account; null if it does not remember. Takes no round trip.
 */
export async function recallCaller(
  c: RequestContext,
  credential: string,
): Promise<(RememberedCaller & { database: Database }) | null> {
  const [hash] = await hashCredential(c.var.config.keyring, credential);
  const caller = remembered.get(c.env)?.get(toHex(hash));
  if (!caller || caller.until <= c.var.runtime.now()) return null;
  const database = openShard(c.env, caller.principal.shard, c.var.cost);
  return database && { ...caller, database };
}
