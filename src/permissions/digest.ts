import canonicalize from 'canonicalize';
import { sha256 } from '../lib/bytes';

/**
 * Matches a digest as {@link digestOf} returns it. base64url uses only four bits of the last
 * character of 32 bytes, so other last characters would decode to the same bytes.
 */
export const DIGEST = /^sha-256:[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

export const DIGEST_LENGTH = 'sha-256:'.length + 43;

/**
 * Returns `sha-256:` and the SHA-256 of a JSON value in base64url. The digest is of the value's
 * canonical form (RFC 8785), so it does not depend on the order of names or on white space.
 */
export async function digestOf(value: unknown): Promise<string> {
  const hash = await sha256(canonicalize(value) as string);
  return `sha-256:${hash.toBase64({ alphabet: 'base64url', omitPadding: true })}`;
}
