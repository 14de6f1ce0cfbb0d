import type { Keyring } from '../../lib/secrets';
import { SECOND } from '../../lib/time';
import { readSecret } from '../secret';
import type { WebhookRow } from '../webhook';

/** Signs what one webhook is sent: with its secret, and for a day with the one that was replaced. */
export class Signer {
  private constructor(private readonly keys: readonly CryptoKey[]) {}

  /**
   * Null when the secret cannot be read any more: the root secret that encrypted it is gone. One that was replaced and
   * cannot be read is left out.
   */
  static async open(
    keyring: Keyring,
    { id, secret, oldSecret, oldSecretExpiresAt }: WebhookRow,
    now: number,
  ): Promise<Signer | null> {
    const current = await readSecret(keyring, id, secret);
    if (!current) return null;
    const replaced = oldSecret && (oldSecretExpiresAt ?? 0) > now ? await readSecret(keyring, id, oldSecret) : null;
    const keys: CryptoKey[] = [];
    for (const bytes of replaced ? [current, replaced] : [current]) {
      keys.push(await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']));
    }
    return new Signer(keys);
  }

  /**
   * The headers that a message is sent with.
   * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
   */
  async sign(id: string, now: number, body: string): Promise<Record<string, string>> {
    const timestamp = String(Math.floor(now / SECOND));
    const content = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
    const signatures: string[] = [];
    for (const key of this.keys) {
      signatures.push(`v1,${new Uint8Array(await crypto.subtle.sign('HMAC', key, content)).toBase64()}`);
    }
    return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
  }
}
