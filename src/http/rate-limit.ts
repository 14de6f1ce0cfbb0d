import { Problem } from '../errors';
import { sha256, toHex } from '../lib/bytes';
import { logFailure } from '../lib/log';
import { networkOf } from '../lib/network';
import type { Principal, RequestContext } from './context';

/**
 * The limits that the bindings in `wrangler.toml` set: `quota` requests in a window of `window`
 * seconds. Persons and members have the limit of a credential.
 */
export const RATE_LIMITS = {
  credential: { quota: 2_000, window: 10 },
  account: { quota: 10_000, window: 10 },
  address: { quota: 1_000, window: 60 },
} as const;

/**
 * Counts a request against its credential. Call it before any database query. The platform sees
 * only a hash of the credential.
 * @throws Problem `rate_limited`
 */
export async function limitCredential(c: RequestContext, credential: string): Promise<void> {
  // Without limits the hash would be for nothing.
  if (!c.var.config.limiters) return;
  await count(c, 'credential', toHex(await sha256(credential)));
}

/**
 * Counts a request against the person whom a verified JWT names, so that a new JWT for each request
 * does not raise the limit.
 * @param identity the person's key in `identities`
 * @throws Problem `rate_limited`
 */
export async function limitIdentity(c: RequestContext, identity: Uint8Array): Promise<void> {
  await count(c, 'credential', `identity ${toHex(identity)}`);
}

/**
 * Counts a request against the member who sends it, so that more credentials do not raise the
 * limit. Does nothing for requests without a member.
 * @throws Problem `rate_limited`
 */
export async function limitMember(c: RequestContext, principal: Principal): Promise<void> {
  if (principal.kind === 'user' && principal.member)
    await count(c, 'credential', `member ${principal.member.id}`);
}

/**
 * Counts a request against its account, so that more credentials do not raise the limit. Requests
 * of users count against a second limit too, and pass if either allows them, so that people can
 * stop their agents after those have used up the first.
 * @throws Problem `rate_limited`
 */
export async function limitAccount(c: RequestContext, { kind, account }: Principal): Promise<void> {
  await count(c, 'account', account.id, ...(kind === 'user' ? [`${account.id} people`] : []));
}

/**
 * Counts a request that failed authentication against the network that it came from.
 *
 * Call it after the failure: the platform cannot check a limit without counting, and authenticated
 * requests must not count. So a well-formed unknown credential costs a database query first.
 * @throws Problem `rate_limited`
 */
export async function limitNetwork(c: RequestContext): Promise<void> {
  await count(c, 'address', networkOf(c.var.origin.ipAddress));
}

/** Counts a request against each of the keys. Refuses it if every key is over the limit. */
async function count(
  c: RequestContext,
  kind: keyof typeof RATE_LIMITS,
  ...keys: string[]
): Promise<void> {
  const limiter = c.var.config.limiters?.[kind];
  if (!limiter) return;
  const allowed = await Promise.all(keys.map((key) => isAllowed(limiter, key)));
  if (allowed.includes(true)) return;
  const { quota, window } = RATE_LIMITS[kind];
  // The binding does not say when the window ends; its length is the upper bound.
  throw new Problem(
    'rate_limited',
    `Too many requests. Send the request again after ${window} seconds.`,
    {
      headers: {
        'Retry-After': `${window}`,
        'RateLimit-Policy': `"${kind}";q=${quota};w=${window}`,
        RateLimit: `"${kind}";r=0;t=${window}`,
      },
    },
  );
}

/**
 * Whether the limiter allows one more request. If the limiter fails, the request is allowed: the
 * limits protect the service's availability, not its secrets.
 */
async function isAllowed(limiter: RateLimit, key: string): Promise<boolean> {
  try {
    return (await limiter.limit({ key })).success;
  } catch (error) {
    logFailure('rate_limiter_failed', error);
    return true;
  }
}
