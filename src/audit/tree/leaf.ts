import canonicalize from 'canonicalize';
import { toHex } from '../../lib/bytes';
import { leafInput } from '../../lib/merkle';
import type { AuditEntry } from '../entry';

/**
 * What is hashed of an entry: its JSON as the API shows it, with its salt in hexadecimal as one more member `salt`, in the
 * canonical form of RFC 8785, after a zero byte.
 */
export function entryLeafInput(entry: AuditEntry, salt: Uint8Array): Uint8Array {
  const text = canonicalize({ ...entry, salt: toHex(salt) }) as string;
  return leafInput(new TextEncoder().encode(text));
}

/** What is hashed where an entry was gone before it could be sealed, which the service itself never causes. */
export const MISSING_LEAF_INPUT = leafInput(new Uint8Array());
