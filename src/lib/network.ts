/**
 * The network that one subscriber usually has: an IPv4 address (also of an IPv4-mapped IPv6
 * address), or the first 64 bits of an IPv6 address (RFC 4291 section 2.5.4). Any other text is
 * returned unchanged.
 */
export function networkOf(address: string): string {
  const groups = readGroups(address);
  if (!groups) return address;
  const isMapped = groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff';
  return isMapped ? groups.slice(6).map(twoNumbers).join('.') : groups.slice(0, 4).join(':');
}

/**
 * The eight groups of an IPv6 address, in hexadecimal without leading zeros; null for any other
 * text.
 */
function readGroups(address: string): string[] | null {
  const host = URL.parse(`http://[${address}]/`)?.hostname;
  if (!host) return null;
  // The URL parser normalizes IPv6 addresses (RFC 5952): there is at most one `::`.
  const [head = '', tail] = host.slice(1, -1).split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const after = tail?.split(':').filter((group) => group !== '') ?? [];
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length;
  return [...groups, ...Array<string>(missing).fill('0'), ...after];
}

/**
 * IPv4 ranges that are not public (IANA's registry of special-purpose addresses, RFC 6890): first
 * address and prefix bits.
 */
const SPECIAL_IPV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/**
 * Whether an IP address belongs to the public internet; false for any other text. For IPv6, only
 * the global unicast range `2000::/3` does, without `2001::/23` (Teredo, benchmarking and others),
 * 6to4 and documentation.
 */
export function isPublicAddress(address: string): boolean {
  const ipv4 = readIpv4(address);
  if (ipv4 !== null) {
    return !SPECIAL_IPV4.some(
      ([first, bits]) => (ipv4 ^ (readIpv4(first) ?? 0)) >>> (32 - bits) === 0,
    );
  }
  const groups = readGroups(address)?.map((group) => Number.parseInt(group, 16));
  if (!groups) return false;
  const [first = 0, second = 0] = groups;
  if (first >> 13 !== 1 || first === 0x2002) return false;
  const isSpecial = first === 0x2001 && (second < 0x200 || second === 0xdb8);
  return !isSpecial && !(first === 0x3fff && second < 0x1000);
}

function readIpv4(text: string): number | null {
  const numbers = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (!numbers || numbers.some((number) => number > 255)) return null;
  return numbers.reduce((value, number) => (value << 8) | number, 0) >>> 0;
}

function twoNumbers(group: string): string {
  const value = Number.parseInt(group, 16);
  return `${value >> 8}.${value & 255}`;
}
