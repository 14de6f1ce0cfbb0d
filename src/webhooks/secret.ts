import type { Runtime } from '../env';
import type { Keyring } from '../lib/secrets';
import { type Id, idBytes } from '../lib/typeid';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new signing secret, as the Standard Webhooks specification writes it, and its stored form. */
export async function makeSecret(
  runtime: Runtime,
  keyring: Keyring,
  webhook: Id<'webhook'>,
): Promise<{ secret: string; encrypted: Uint8Array }> {
  const secret = PREFIX + runtime.random(SECRET_BYTES).toBase64();
  return { secret, encrypted: await keyring.encrypt('webhook-secret', idBytes(webhook), runtime.random, secret) };
}

/** The bytes of a stored secret; null when the root secret that encrypted it is gone. */
export async function readSecret(
  keyring: Keyring,
  webhook: Id<'webhook'>,
  encrypted: Uint8Array,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const secret = await keyring.decrypt('webhook-secret', idBytes(webhook), encrypted);
  return secret === null ? null : Uint8Array.fromBase64(secret.slice(PREFIX.length));
}
