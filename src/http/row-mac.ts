import canonicalize from 'canonicalize';
import { equalBytes } from '../lib/bytes';
import type { Json } from '../lib/json';
import { logFailure } from '../lib/log';
import type { KeyLabel, Keyring } from '../lib/secrets';

/**
 * What a row says, in words that do not change when the row moves to another shard: ids instead of
 * numbers.
 */
export interface RowContent {
  /** The table, in the log. */
  table: 'passkeys' | 'permissions' | 'votes';
  label: Extract<KeyLabel, 'passkey-mac' | 'request-mac' | 'vote-mac'>;
  fields: { [name: string]: Json };
}

/**
 * Computes the MAC of a row (HMAC-SHA-256 over canonical JSON, RFC 8785), with the key from the
 * newest root secret.
 */
export async function rowMac(keyring: Keyring, { label, fields }: RowContent): Promise<Uint8Array> {
  const [newest] = await keyring.mac(label, canonicalize(fields) as string);
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
  const macs = await keyring.mac(label, canonicalize(fields) as string);
  if (mac && macs.some((known) => equalBytes(known, mac))) return true;
  logFailure('row_not_genuine', 'the MAC of a stored row is missing or wrong', {
    table,
    id: String(fields.id),
  });
  return false;
}
