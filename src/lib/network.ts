/**
 * The network that one subscriber has: an IPv4 address itself, the first 64 bits of an IPv6 address (RFC 6177 section
 * 2). Any other text stands for itself.
 */
export function networkOf(address: string): string {
  const host = URL.parse(`http://[${address}]/`)?.hostname;
  if (!host) return address;
  // The URL parser spells IPv6 in one way (RFC 5952), with one `::` at most.
  const [head = '', tail] = host.slice(1, -1).split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const after = tail?.split(':').filter((group) => group !== '') ?? [];
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length;
  return [...groups, ...Array(missing).fill('0'), ...after].slice(0, 4).join(':');
}
