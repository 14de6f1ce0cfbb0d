/** Names that lead to nobody on the public internet: special uses (IANA, RFC 6761), and what private networks use. */
const SPECIAL_NAMES = [
  ...['alt', 'arpa', 'corp', 'example', 'home', 'internal', 'intranet', 'invalid', 'lan', 'local', 'localdomain'],
  ...['localhost', 'onion', 'private', 'test'],
];

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const MAX_NAME_LENGTH = 253;

/**
 * What is wrong with an address that something is to be sent to; null when nothing is. The URL parser has brought every
 * spelling of a host (percent-encoding, wide digits, octal, hexadecimal and shortened addresses) into one form by then.
 * @param allowInsecure whether it may be `http`, and on this machine
 */
export function findTargetFault(text: string, allowInsecure: boolean): string | null {
  const url = URL.parse(text);
  // The parser skips some of these characters, so that the text could look like another address than it is.
  if (!url || /[\s\p{Cc}\p{Cf}\\]/u.test(text)) return 'must be an absolute URL';
  if (url.protocol !== 'https:' && !(allowInsecure && url.protocol === 'http:')) return 'must begin with https://';
  if (url.username || url.password || /^[^/]*\/\/[^/?#]*@/.test(text)) return 'must not hold credentials';
  if (url.port === '0') return 'must not name the port 0';
  const host = url.hostname.replace(/\.$/, '');
  if (allowInsecure && isLoopback(host)) return null;
  if (host.startsWith('[') || /^[\d.]+$/.test(host)) return 'must name a host, not an IP address';
  const labels = host.split('.');
  if (host.length > MAX_NAME_LENGTH || !labels.every((label) => LABEL.test(label))) return 'must name a public host';
  if (labels.length < 2 || SPECIAL_NAMES.includes(labels.at(-1) ?? '')) return 'must name a public host';
  return null;
}

/** Whether a host, as the URL parser writes it, is this machine. */
export function isLoopback(host: string): boolean {
  return /(^|\.)localhost\.?$/.test(host) || /^127(\.\d+){3}$/.test(host) || host === '[::1]';
}
