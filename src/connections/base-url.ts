import type { Config } from '../env';
import { invalidRequest } from '../errors';
import { findTargetFault, isLoopback } from '../lib/target';

/**
 * Refuses a base URL to which nothing may be sent.
 * @throws Problem `invalid_request`
 */
export function requireBaseUrl(config: Config, baseUrl: string): void {
  const fault = findBaseUrlFault(config, baseUrl);
  if (fault) throw invalidRequest([{ path: 'body.base_url', message: fault }]);
}

/** Says why nothing may be sent to a base URL; null if its host may be looked up and called. */
export function findBaseUrlFault({ publicUrl, delivery }: Config, baseUrl: string): string | null {
  const fault = findTargetFault(baseUrl, delivery.allowInsecure);
  if (fault) return fault;
  const url = new URL(baseUrl);
  if (isSameHost(url, new URL(publicUrl))) return 'must not be this service itself';
  // An empty query or fragment has no property of its own.
  if (/[?#]/.test(baseUrl)) return 'must have neither a query nor a fragment';
  if (url.pathname.includes('//')) return 'must not have an empty segment in its path';
  return null;
}

/** Whether two URLs lead to the same host. On this machine ports tell services apart. */
function isSameHost(one: URL, other: URL): boolean {
  if (isLoopback(one.hostname) && isLoopback(other.hostname)) return one.port === other.port;
  return nameOf(one) === nameOf(other);
}

function nameOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}
