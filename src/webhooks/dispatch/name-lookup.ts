import type { Runtime } from '../../env';
import { logFailure } from '../../lib/log';
import { isPublicAddress } from '../../lib/network';
import { SECOND } from '../../lib/time';

/** DNS over HTTPS, answered as JSON. */
const RESOLVER = 'https://cloudflare-dns.com/dns-query';
const TIMEOUT = 5 * SECOND;
/** The records that hold addresses (RFC 1035, RFC 3596), by their numbers. */
const RECORDS = { A: 1, AAAA: 28 } as const;
const NO_SUCH_NAME = 3;

interface DnsAnswer {
  Status: number;
  Answer?: { type: number; data: string }[];
}

/**
 * Why nothing may be sent to a name, by the addresses that it has at this moment; null when all of them are public. What
 * the name resolves to when the request itself is made is beyond a Worker's sight.
 */
export async function findNameFault(runtime: Runtime, host: string): Promise<string | null> {
  try {
    const answers = await Promise.all([lookUp(runtime, host, 'A'), lookUp(runtime, host, 'AAAA')]);
    if (answers.some(({ Status }) => Status === NO_SUCH_NAME)) return 'The name of the host does not exist.';
    if (answers.some(({ Status }) => Status !== 0)) return UNKNOWN;
    const addresses = answers.flatMap(({ Answer = [] }) => Answer.filter(isAddress).map(({ data }) => data));
    if (addresses.length === 0) return 'The name of the host has no address.';
    return addresses.every(isPublicAddress) ? null : 'The name of the host leads to an address that is not public.';
  } catch (error) {
    logFailure('name_lookup_failed', error);
    return UNKNOWN;
  }
}

const UNKNOWN = 'The name of the host could not be looked up.';

function isAddress({ type }: { type: number }): boolean {
  return type === RECORDS.A || type === RECORDS.AAAA;
}

async function lookUp(runtime: Runtime, host: string, type: keyof typeof RECORDS): Promise<DnsAnswer> {
  const response = await runtime.fetch(`${RESOLVER}?name=${encodeURIComponent(host)}&type=${type}`, {
    headers: { Accept: 'application/dns-json' },
    redirect: 'manual',
    signal: runtime.timeout(TIMEOUT),
  });
  if (!response.ok) throw new Error(`the resolver answered ${response.status}`);
  return (await response.json()) as DnsAnswer;
}
