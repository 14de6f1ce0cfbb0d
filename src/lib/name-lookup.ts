import { logFailure } from './log';
import { isPublicAddress } from './network';
import { SECOND } from './time';

/** DNS over HTTPS, in JSON. */
const RESOLVER = 'https://cloudflare-dns.com/dns-query';
const TIMEOUT = 5 * SECOND;
/** The numbers of the types of records that hold addresses (RFC 1035, RFC 3596). */
const RECORD_TYPES = { A: 1, AAAA: 28 } as const;
/** Response codes (RFC 1035 section 4.1.1). */
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;

const LOOKUP_FAILED = 'The host name could not be looked up.';

/** The part of the runtime that a look-up needs. */
interface Network {
  fetch(url: string, options: RequestInit): Promise<Response>;
  timeout(milliseconds: number): AbortSignal;
}

interface DnsAnswer {
  Status: number;
  Answer?: { type: number; data: string }[];
}

/**
 * Returns why requests to a host are refused, or null if all its addresses are public. A failed
 * lookup is a reason too. The request that follows resolves the name again, and a Worker
 * cannot see which address it gets.
 *
 * Some name servers deny that the name exists when it only has no address of the type in question
 * (RFC 4074 section 4.2): then the addresses of the other type decide. Any other error may hide an
 * address, and fails the lookup.
 */
export async function findNameFault(network: Network, host: string): Promise<string | null> {
  try {
    const answers = await Promise.all([lookUp(network, host, 'A'), lookUp(network, host, 'AAAA')]);
    if (answers.some(({ Status }) => Status !== NO_ERROR && Status !== NO_SUCH_NAME))
      return LOOKUP_FAILED;
    if (answers.every(({ Status }) => Status === NO_SUCH_NAME))
      return 'The host name does not exist.';
    const addresses = answers.flatMap(({ Answer = [] }) =>
      Answer.filter(isAddress).map(({ data }) => data),
    );
    if (addresses.length === 0) return 'The host name has no address.';
    if (!addresses.every(isPublicAddress))
      return 'The host name has an address that is not public.';
    return null;
  } catch (error) {
    logFailure('name_lookup_failed', error);
    return LOOKUP_FAILED;
  }
}

function isAddress({ type }: { type: number }): boolean {
  return type === RECORD_TYPES.A || type === RECORD_TYPES.AAAA;
}

async function lookUp(
  network: Network,
  host: string,
  type: keyof typeof RECORD_TYPES,
): Promise<DnsAnswer> {
  const response = await network.fetch(
    `${RESOLVER}?name=${encodeURIComponent(host)}&type=${type}`,
    {
      headers: { Accept: 'application/dns-json' },
      redirect: 'manual',
      signal: network.timeout(TIMEOUT),
    },
  );
  if (!response.ok) throw new Error(`the resolver answered ${response.status}`);
  return response.json();
}
