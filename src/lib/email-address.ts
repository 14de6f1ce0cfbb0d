import { lowerAscii } from './text';

/** A dot-atom (RFC 5322 section 3.2.3) before the `@`, and what may become a host name after it. */
export const EMAIL_ADDRESS =
  /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@[^\s@/\\:?#[\]<>%]+$/;

/** An address in SMTP has at most so many characters (RFC 5321 section 4.5.3.1.3). */
export const MAX_EMAIL_LENGTH = 254;

const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/i;

/**
 * An e-mail address with a host name of A-labels, as mail servers take it: `ada@müller.de` becomes
 * `ada@xn--mller-kva.de`. Null for a text that is no address. Quoted parts and comments, which few
 * systems accept, make a text none.
 */
export function normalizeEmailAddress(text: string): string | null {
  if (!EMAIL_ADDRESS.test(text)) return null;
  const [local = '', domain = ''] = text.split('@');
  const host = toHostName(domain);
  if (host === null) return null;
  const address = `${local}@${host}`;
  return address.length <= MAX_EMAIL_LENGTH ? address : null;
}

/**
 * The host name of a domain: as it is written, if it has only A-labels. Null if it is none, or an
 * IP address.
 */
function toHostName(domain: string): string | null {
  // The parser of URLs turns U-labels into A-labels (UTS #46), and refuses invalid ones.
  const host = URL.parse(`http://${domain}`)?.hostname;
  if (host === undefined) return null;
  const labels = host.split('.');
  const isPublic =
    labels.length > 1 &&
    labels.every((label) => LABEL.test(label)) &&
    !/^\d+$/.test(labels.at(-1) ?? '');
  if (!isPublic) return null;
  return lowerAscii(domain) === host ? domain : host;
}

/**
 * Whether two texts are the same e-mail address, in upper or lower case, with A-labels or U-labels.
 */
export function isSameEmailAddress(a: string, b: string): boolean {
  return emailAddressKey(a) === emailAddressKey(b);
}

/** The one text for all ways to write an e-mail address. */
export function emailAddressKey(address: string): string {
  return lowerAscii(normalizeEmailAddress(address) ?? address);
}
