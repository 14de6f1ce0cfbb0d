import type { Config, Runtime } from '../env';
import { findNameFault } from '../lib/name-lookup';
import { isLoopback } from '../lib/target';
import { MINUTE } from '../lib/time';
import { findBaseUrlFault } from './base-url';

/** How long a host that was found to be public is not looked up again, in milliseconds. */
const LOOKUP_LIFETIME = MINUTE;
const MAX_KNOWN_HOSTS = 1_000;

/**
 * Until when the hosts that this isolate has looked up need no other look-up. Two look-ups for each
 * call would take longer than the call.
 */
const knownHosts = new WeakMap<Runtime['fetch'], Map<string, number>>();

/**
 * Says in a sentence why nothing may be sent to a base URL now; null if calls may be. The host is
 * looked up, at most once a minute.
 */
export async function findCallFault(
  { runtime, config }: { runtime: Runtime; config: Config },
  baseUrl: string,
): Promise<string | null> {
  const fault = findBaseUrlFault(config, baseUrl);
  if (fault) return `The base URL ${fault}.`;
  const { hostname } = new URL(baseUrl);
  if (!config.delivery.looksUpNames || isLoopback(hostname)) return null;
  const known = knownHosts.get(runtime.fetch) ?? new Map<string, number>();
  knownHosts.set(runtime.fetch, known);
  const now = runtime.now();
  if ((known.get(hostname) ?? 0) > now) return null;
  const nameFault = await findNameFault(runtime, hostname);
  if (nameFault !== null) return nameFault;
  if (known.size >= MAX_KNOWN_HOSTS) known.clear();
  known.set(hostname, now + LOOKUP_LIFETIME);
  return null;
}
