import { Problem } from '../errors';
import { sha256, toHex } from '../lib/bytes';
import { logFailure } from '../lib/log';
import { networkOf } from '../lib/network';
import type { Principal, RequestContext } from './context';

/** What the bindings in `wrangler.toml` allow: so many requests in a window of so many seconds. */
export const RATE_LIMITS = {
  credential: { quota: 2_000, window: 10 },
  account: { quota: 10_000, window: 10 },
  address: { quota: 1_000, window: 60 },
} as const;

/**
 * Counts a request by its credential, of which the platform sees the hash alone, before the database is asked.
 * @throws Problem `rate_limited`
 */
export async function limitCredential(c: RequestContext, credential: string): Promise<void> {
  await count(c, 'credential', toHex(await sha256(credential)));
}

/**
 * Counts a request by the person whom a verified token of an identity provider names: whoever brings a new token each
 * time may do no more than others.
 * @param identity the hash that the directory knows them by
 * @throws Problem `rate_limited`
 */
export async function limitIdentity(c: RequestContext, identity: Uint8Array): Promise<void> {
  await count(c, 'credential', `identity ${toHex(identity)}`);
}

/**
 * Counts a request against its account, so that more credentials do not raise its limit. People also have a share of
 * their own: when the agents have used up the account's, its people can still stop them.
 * @throws Problem `rate_limited`
 */
export async function limitAccount(c: RequestContext, { kind, account }: Principal): Promise<void> {
  const keys = kind === 'user' ? [account.id, `${account.id} people`] : [account.id];
  const limiter = c.var.config.limiters?.account;
  if (!limiter) return;
  const within = await Promise.all(keys.map((key) => isWithin(limiter, key)));
  if (!within.includes(true)) throw rateLimited('account');
}

/**
 * Counts a request that failed authentication by the network that it came from. Whether a well-formed credential is
 * unknown is the database's to say, so that such a request has cost one read by then: the platform counts and tells in
 * one step, and nobody who does authenticate is to be counted.
 * @throws Problem `rate_limited`
 */
export async function limitAddress(c: RequestContext): Promise<void> {
  await count(c, 'address', networkOf(c.var.origin.ipAddress));
}

async function count(c: RequestContext, kind: 'credential' | 'address', key: string): Promise<void> {
  const limiter = c.var.config.limiters?.[kind];
  if (limiter && !(await isWithin(limiter, key))) throw rateLimited(kind);
}

function rateLimited(kind: keyof typeof RATE_LIMITS): Problem {
  const { quota, window } = RATE_LIMITS[kind];
  // The binding does not say when the window ends: at the latest after its length.
  return new Problem('rate_limited', `Slow down, and go on after ${window} seconds at the latest.`, {
    headers: {
      'Retry-After': `${window}`,
      'RateLimit-Policy': `"${kind}";q=${quota};w=${window}`,
      RateLimit: `"${kind}";r=0;t=${window}`,
    },
  });
}

/** A limiter that fails limits nobody: it guards the service's health, not its secrets. */
async function isWithin(limiter: RateLimit, key: string): Promise<boolean> {
  try {
    return (await limiter.limit({ key })).success;
  } catch (error) {
    logFailure('rate_limiter_failed', error);
    return true;
  }
}
