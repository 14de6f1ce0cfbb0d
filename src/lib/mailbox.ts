import { normalizeEmailAddress } from './email-address';

/** A mail address with the name of whom it belongs to. */
export interface Mailbox {
  /** Null if there is only an address. */
  name: string | null;
  address: string;
}

/** A name in which nothing needs to be quoted, or a quoted one. */
const NAME = /^([^\p{Cc}"()<>[\]:;@\\,]+|"[^\p{Cc}"<>\\]+")$/u;

/**
 * Reads `name@example.com` or `Name <name@example.com>`, the usual forms of RFC 5322 section 3.4;
 * null for other texts.
 */
export function parseMailbox(text: string): Mailbox | null {
  const [, named, inBrackets] = /^([^<>]*\S)\s*<([^<>]*)>$/.exec(text) ?? [];
  const address = normalizeEmailAddress(inBrackets ?? text);
  if (address === null) return null;
  if (named === undefined) return { name: null, address };
  if (!NAME.test(named)) return null;
  return { name: named.replaceAll('"', '').trim(), address };
}
