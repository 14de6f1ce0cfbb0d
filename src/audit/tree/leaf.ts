import canonicalize from 'canonicalize';
import { toHex } from '../../lib/bytes';
import { leafInput } from '../../lib/merkle';
import type { AuditEntry } from '../entry';

/**
 * Returns the bytes whose hash is an entry's leaf: a zero byte, then the entry as the API shows it,
 * with its salt in hexadecimal as one more member `salt`, as canonical JSON (RFC 8785).
 */
export function entryLeafInput(entry: AuditEntry, salt: Uint8Array): Uint8Array {
  const text = canonicalize({ ...entry, salt: toHex(salt) }) as string;
  return leafInput(new TextEncoder().encode(text));
}

/**
 * The same for an entry that was deleted before it was sealed, which the service itself never does.
 */
export const MISSING_LEAF_INPUT = leafInput(new Uint8Array());
