import type { Config } from '../env';
import { Problem } from '../errors';
import type { Context } from '../http/context';
import { concatBytes } from '../lib/bytes';
import { type Id, idBytes } from '../lib/typeid';
import type { ConnectionRow } from './connection';

/** The owner to which a secret is bound: encrypted for one, it can be read for no other. */
interface SecretOwner {
  account: Id<'user'>;
  connection: Id<'conn'>;
  /** The secret is sent only to the origin of this URL, even if somebody changes the row. */
  baseUrl: string;
}

/** Encrypts the secret of a connection; null if it has none. */
export async function encryptSecret(
  { config, runtime }: Pick<Context, 'config' | 'runtime'>,
  owner: SecretOwner,
  secret: string | null,
): Promise<Uint8Array | null> {
  if (secret === null) return null;
  return config.keyring.encrypt('connection-secret', ownerBytes(owner), runtime.random, secret);
}

/**
 * Decrypts the secret of a connection; null if it has none.
 * @throws Problem `connection_failed` if it cannot be read, because its root secret is gone or the
 *   row was changed by somebody else than the service
 */
export async function openSecret(
  { keyring }: Config,
  account: Id<'user'>,
  { id, baseUrl, secret }: Pick<ConnectionRow, 'id' | 'baseUrl' | 'secret'>,
): Promise<string | null> {
  if (!secret) return null;
  const owner = ownerBytes({ account, connection: id, baseUrl });
  const opened = await keyring.decrypt('connection-secret', owner, secret);
  if (opened !== null) return opened;
  throw new Problem(
    'connection_failed',
    'The credential of the connection cannot be read. Nothing was sent. Set the secret again.',
  );
}

function ownerBytes({ account, connection, baseUrl }: SecretOwner): Uint8Array {
  const origin = new TextEncoder().encode(new URL(baseUrl).origin);
  return concatBytes(idBytes(account), idBytes(connection), origin);
}
