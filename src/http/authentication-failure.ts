import { Problem } from '../errors';
import type { RequestContext } from './context';
import { limitAddress } from './rate-limit';

/**
 * Refuses a request that fails authentication.
 * @throws Problem `unauthorized`, or `rate_limited` after too many failures from the same network
 */
export async function failAuthentication(
  c: RequestContext,
  detail = 'The credential is malformed, unknown, expired or revoked. Send a valid one.',
): Promise<never> {
  await limitAddress(c);
  throw new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
