import type { Config, Runtime } from '../env';
import { findNameFault } from '../lib/name-lookup';
import { findTargetFault, isLoopback } from '../lib/target';

/** Maximum length of the URL of a webhook or a device. */
export const MAX_URL_LENGTH = 2_048;

/** Why nothing may be sent to a URL, judged by the addresses of its host too; null if it may. */
export async function findUrlFault(
  { runtime, config }: { runtime: Runtime; config: Pick<Config, 'delivery'> },
  url: string,
): Promise<string | null> {
  const { allowInsecure, looksUpNames } = config.delivery;
  const fault = findTargetFault(url, allowInsecure);
  if (fault) return `The URL ${fault}.`;
  const { hostname } = new URL(url);
  if (!looksUpNames || isLoopback(hostname)) return null;
  return findNameFault(runtime, hostname);
}
