/**
 * The network that one subscriber has: an IPv4 address itself, also where IPv6 carries it, and the first 64 bits of an
 * IPv6 address, which name a network (RFC 4291 section 2.5.4). Any other text stands for itself.
 */
export function networkOf(address: string): string {
  const host = URL.parse(`http://[${address}]/`)?.hostname;
  if (!host) return address;
  // The URL parser spells IPv6 in one way (RFC 5952), with one `::` at most.
  const [head = '', tail] = host.slice(1, -1).split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const after = tail?.split(':').filter((group) => group !== '') ?? [];
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length;
  const all = [...groups, ...Array<string>(missing).fill('0'), ...after];
  const isMapped = all.slice(0, 6).join(':') === '0:0:0:0:0:ffff';
  return isMapped ? all.slice(6).map(twoNumbers).join('.') : all.slice(0, 4).join(':');
}

function twoNumbers(group: string): string {
  const value = Number.parseInt(group, 16);
  return `${value >> 8}.${value & 255}`;
}
