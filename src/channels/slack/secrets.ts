import type { Config, Runtime } from '../../env';
import { hashCredential } from '../../http/credentials';
import { makeCredential } from '../../lib/credential';
import type { Keyring } from '../../lib/secrets';
import { type Id, idBytes } from '../../lib/typeid';
import type { WebhookRow } from '../../webhooks/webhook';

/** The secrets of a channel for Slack. */
export interface SlackSecrets {
  botToken: string;
  signingSecret: string;
  /** The secret in the address at which Slack calls the service. It names the shard, as a credential does. */
  inbound: string;
}

/** Makes the secret of a new address for Slack. */
export function makeInboundSecret(runtime: Runtime, shard: string): string {
  return makeCredential('inbound', shard, runtime.random);
}

/** Encrypts the secrets of a channel, and hashes that of its address. Returns the columns of its row. */
export async function sealSecrets(
  { keyring, runtime }: { keyring: Keyring; runtime: Runtime },
  channel: Id<'chan' | 'webhook'>,
  secrets: SlackSecrets,
): Promise<{ secret: Uint8Array; inboundHash: Uint8Array }> {
  const text = JSON.stringify(secrets);
  const [inboundHash] = await hashCredential(keyring, secrets.inbound);
  return { secret: await keyring.encrypt('channel-secrets', idBytes(channel), runtime.random, text), inboundHash };
}

/** Decrypts the secrets of a channel for Slack; null if it is for e-mail, or if its root secret is gone. */
export async function openSecrets(
  keyring: Keyring,
  { id, kind, secret }: Pick<WebhookRow, 'id' | 'kind' | 'secret'>,
): Promise<SlackSecrets | null> {
  const text = kind === 'slack' ? await keyring.decrypt('channel-secrets', idBytes(id), secret) : null;
  return text === null ? null : (JSON.parse(text) as SlackSecrets);
}

/** The address at which Slack calls the service. */
export function inboundUrl({ publicUrl }: Pick<Config, 'publicUrl'>, { inbound }: SlackSecrets): string {
  return `${publicUrl}/v1/inbound/${inbound}/slack`;
}
