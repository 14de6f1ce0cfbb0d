import { Problem } from '../errors';
import { toHex } from '../lib/bytes';
import { networkOf } from '../lib/network';
import type { Incoming } from './context';

/** What the bindings in `wrangler.toml` allow: so many requests in a window of so many seconds. */
export const RATE_LIMITS = {
  credential: { quota: 2_000, window: 10 },
  address: { quota: 1_000, window: 60 },
} as const;

/**
 * Counts a request by its credential, before anything is asked of the database.
 * @param name stands for the credential, and tells nothing of it
 * @throws Problem `rate_limited`
 */
export async function limitCredential(c: Incoming, name: Uint8Array | 'operator'): Promise<void> {
  await count(c, 'credential', name === 'operator' ? name : toHex(name));
}

/**
 * Counts a request that failed authentication by the network that it came from.
 * @throws Problem `rate_limited`
 */
export async function limitAddress(c: Incoming): Promise<void> {
  await count(c, 'address', networkOf(c.var.origin.ipAddress));
}

async function count(c: Incoming, kind: keyof typeof RATE_LIMITS, key: string): Promise<void> {
  const limiter = c.var.config.limiters?.[kind];
  if (!limiter || (await limiter.limit({ key })).success) return;
  const { quota, window } = RATE_LIMITS[kind];
  // The binding does not say when the window ends: at the latest after its length.
  throw new Problem('rate_limited', `Slow down, and go on after ${window} seconds at the latest.`, {
    headers: {
      'Retry-After': `${window}`,
      'RateLimit-Policy': `"${kind}";q=${quota};w=${window}`,
      RateLimit: `"${kind}";r=0;t=${window}`,
    },
  });
}
