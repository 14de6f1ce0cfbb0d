import canonicalize from 'canonicalize';
import { equalBytes } from './bytes';
import type { Json } from './json';
import { logFailure } from './log';
import type { KeyLabel, Keyring } from './secrets';

/**
 * The contents of a row in a form that does not change when the row moves to another shard: with
 * ids instead of numbers.
 */
export interface RowContent {
  /** The table, in the log. */
  table: 'passkeys' | 'permissions' | 'series' | 'votes';
  label: Extract<KeyLabel, 'passkey-mac' | 'request-mac' | 'series-mac' | 'vote-mac'>;
  fields: { [name: string]: Json };
}

/**
 * Computes the MAC of a row (HMAC-SHA-256 over canonical JSON, RFC 8785), with the key from the
 * newest root secret.
 */
export async function rowMac(keyring: Keyring, { label, fields }: RowContent): Promise<Uint8Array> {
  const [newest] = await keyring.mac(label, canonicalText(fields));
  return newest;
}

/**
 * Whether the service stored a row with this content: its MAC is one of a known root secret. Logs
 * it if not, because somebody then wrote to the database, or the root secret that made the MAC is
 * no longer given.
 */
export async function hasRowMac(
  keyring: Keyring,
  content: RowContent,
  mac: Uint8Array | null,
): Promise<boolean> {
  const { table, label, fields } = content;
  const macs = await keyring.mac(label, canonicalText(fields));
  if (mac && macs.some((known) => equalBytes(known, mac))) return true;
  logFailure('row_not_genuine', 'the MAC of a stored row is missing or wrong', {
    table,
    id: String(fields.id),
  });
  return false;
}

function canonicalText(fields: RowContent['fields']): string {
  const text = canonicalize(fields);
  if (text === undefined) throw new Error('a row has no canonical form');
  return text;
}
