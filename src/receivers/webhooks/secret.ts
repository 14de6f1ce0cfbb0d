import type { Runtime } from '../../env';
import type { Keyring } from '../../lib/secrets';
import { SECOND } from '../../lib/time';
import { type Id, idBytes } from '../../lib/typeid';
import type { ReceiverRow } from '../receiver';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/**
 * Makes a new signing secret in the format of the Standard Webhooks specification, and its
 * encrypted form.
 */
export async function makeSecret(
  runtime: Runtime,
  keyring: Keyring,
  webhook: Id<'webhook'>,
): Promise<{ secret: string; encrypted: Uint8Array }> {
  const secret = PREFIX + runtime.random(SECRET_BYTES).toBase64();
  return {
    secret,
    encrypted: await keyring.encrypt('webhook-secret', idBytes(webhook), runtime.random, secret),
  };
}

/**
 * Reads the keys that sign a webhook's messages: its secret and, until it expires, the one before
 * the last rotation. An old secret that cannot be decrypted is left out.
 * @returns null if the current secret cannot be decrypted, because its root secret is gone
 */
export async function readSigningKeys(
  keyring: Keyring,
  { id, secret, oldSecret, oldSecretExpiresAt }: ReceiverRow,
  now: number,
): Promise<CryptoKey[] | null> {
  const current = await readKey(keyring, id, secret);
  if (!current) return null;
  const old =
    oldSecret && (oldSecretExpiresAt ?? 0) > now ? await readKey(keyring, id, oldSecret) : null;
  return old ? [current, old] : [current];
}

async function readKey(
  keyring: Keyring,
  webhook: Id<'webhook'>,
  encrypted: Uint8Array,
): Promise<CryptoKey | null> {
  const secret = await keyring.decrypt('webhook-secret', idBytes(webhook), encrypted);
  if (secret === null) return null;
  const bytes = Uint8Array.fromBase64(secret.slice(PREFIX.length));
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

/**
 * Signs a message with each of the keys, and returns the headers that carry the signatures.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export async function signMessage(
  keys: readonly CryptoKey[],
  id: string,
  now: number,
  body: string,
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(now / SECOND));
  const content = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signatures: string[] = [];
  for (const key of keys) {
    signatures.push(
      `v1,${new Uint8Array(await crypto.subtle.sign('HMAC', key, content)).toBase64()}`,
    );
  }
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
