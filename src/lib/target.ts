/**
 * Top-level names that are not public: special-use domains (IANA, RFC 6761), and those common in
 * private networks.
 */
const SPECIAL_NAMES = [
  ...[
    'alt',
    'arpa',
    'corp',
    'example',
    'home',
    'internal',
    'intranet',
    'invalid',
    'lan',
    'local',
    'localdomain',
  ],
  ...['localhost', 'onion', 'private', 'test'],
];

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const MAX_NAME_LENGTH = 253;

/**
 * Says why a URL must not be called, such as `must begin with https://`; null if it may be. The
 * host is checked as the URL parser normalizes it (percent-encoding, wide digits, octal,
 * hexadecimal and shortened addresses). It is not looked up.
 * @param allowInsecure whether `http` and loopback hosts are allowed
 */
export function findTargetFault(text: string, allowInsecure: boolean): string | null {
  const url = URL.parse(text);
  // The parser ignores some of these characters, so the text could look like a different URL.
  if (!url || /[\s\p{Cc}\p{Cf}\\]/u.test(text)) return 'must be an absolute URL';
  if (url.protocol !== 'https:' && !(allowInsecure && url.protocol === 'http:'))
    return 'must begin with https://';
  if (url.username || url.password || /^[^/]*\/\/[^/?#]*@/.test(text))
    return 'must not hold credentials';
  if (url.port === '0') return 'must not name the port 0';
  const host = url.hostname.replace(/\.$/, '');
  if (allowInsecure && isLoopback(host)) return null;
  if (host.startsWith('[') || /^[\d.]+$/.test(host)) return 'must name a host, not an IP address';
  const labels = host.split('.');
  if (host.length > MAX_NAME_LENGTH || !labels.every((label) => LABEL.test(label)))
    return 'must name a public host';
  if (labels.length < 2 || SPECIAL_NAMES.includes(labels.at(-1) ?? ''))
    return 'must name a public host';
  return null;
}

/** Whether a host, as normalized by the URL parser, is this machine. */
export function isLoopback(host: string): boolean {
  return /(^|\.)localhost\.?$/.test(host) || /^127(\.\d+){3}$/.test(host) || host === '[::1]';
}
