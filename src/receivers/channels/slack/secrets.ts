import type { Config, Runtime } from '../../../env';
import { hashCredential } from '../../../identity/credentials';
import { makeCredential } from '../../../lib/credential';
import type { Keyring } from '../../../lib/secrets';
import { type Id, idBytes } from '../../../lib/typeid';
import type { ReceiverRow } from '../../receiver';

/** The secrets of a channel for Slack. */
export interface SlackSecrets {
  botToken: string;
  signingSecret: string;
  /**
   * The secret in the address at which Slack calls the service. It names the shard, as a credential
   * does.
   */
  inboundSecret: string;
}

/** The secrets as they are encrypted, in JSON. */
interface StoredSecrets {
  botToken: string;
  signingSecret: string;
  inbound: string;
}

/** Makes the secret of a new address for Slack. */
export function makeInboundSecret(runtime: Runtime, shard: string): string {
  return makeCredential('inbound', shard, runtime.random);
}

/**
 * Encrypts the secrets of a channel, and hashes that of its address. Returns the columns of its
 * row.
 */
export async function sealSecrets(
  { keyring, runtime }: { keyring: Keyring; runtime: Runtime },
  channel: Id<'chan' | 'webhook'>,
  secrets: SlackSecrets,
): Promise<{ secret: Uint8Array; inboundHash: Uint8Array }> {
  const { botToken, signingSecret, inboundSecret } = secrets;
  const stored: StoredSecrets = { botToken, signingSecret, inbound: inboundSecret };
  const text = JSON.stringify(stored);
  const [inboundHash] = await hashCredential(keyring, inboundSecret);
  return {
    secret: await keyring.encrypt('channel-secrets', idBytes(channel), runtime.random, text),
    inboundHash,
  };
}

/**
 * Decrypts the secrets of a channel for Slack; null if it is for e-mail, or if its root secret is
 * gone.
 */
export async function openSecrets(
  keyring: Keyring,
  { id, kind, secret }: Pick<ReceiverRow, 'id' | 'kind' | 'secret'>,
): Promise<SlackSecrets | null> {
  if (kind !== 'slack') return null;
  const text = await keyring.decrypt('channel-secrets', idBytes(id), secret);
  if (text === null) return null;
  const { botToken, signingSecret, inbound }: StoredSecrets = JSON.parse(text);
  return { botToken, signingSecret, inboundSecret: inbound };
}

/** The address at which Slack calls the service. */
export function inboundUrlOf(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { inboundSecret }: SlackSecrets,
): string {
  return `${publicUrl}/v1/inbound/${inboundSecret}/slack`;
}
