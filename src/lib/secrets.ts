import { concatBytes } from './bytes';

/**
 * The purpose of a derived key. Keys of different purposes are independent: one that leaks reveals
 * nothing about the others.
 */
export type KeyLabel =
  | 'credential-hash'
  | 'cursor'
  | 'token-signing'
  | 'log-signing'
  | 'stored-answer'
  | 'webhook-secret'
  | 'channel-secrets'
  | 'connection-secret'
  | 'slack-link'
  | 'push-subscription'
  | 'push-vapid'
  | 'email-confirmation'
  | 'send-count'
  | 'download-address'
  | 'csrf'
  | 'form-sender'
  | 'webauthn-challenge'
  | 'oidc-flow'
  | 'pairing-code'
  | 'passkey-mac'
  | 'request-mac'
  | 'series-mac'
  | 'vote-mac';

const SECRET_LENGTH = 32;
const AES = 'AES-GCM';
const NONCE_LENGTH = 12;

type RandomBytes = (bytes: number) => Uint8Array;

/** The keyrings of this isolate, by the text from which they were read. */
const keyrings = new Map<string, Keyring | null>();

/**
 * The root secrets of the deployment, newest first. All other keys are derived from them. New
 * signatures and encrypted texts use the newest; older ones still verify and decrypt.
 */
export class Keyring {
  /** Keys for MACs, which are derived once: that takes longer than a MAC. */
  private readonly macKeys = new Map<KeyLabel, CryptoKey[]>();

  private constructor(private readonly roots: readonly Uint8Array[]) {}

  /**
   * Reads `ROOT_SECRET`: one or more comma-separated secrets, newest first, each 32 bytes in
   * base64.
   * @returns null if any of them is malformed; the same keyring for the same text
   */
  static parse(text: string): Keyring | null {
    const known = keyrings.get(text);
    if (known !== undefined) return known;
    const read = Keyring.read(text);
    keyrings.set(text, read);
    return read;
  }

  private static read(text: string): Keyring | null {
    try {
      const roots = text.split(',').map((part) => Uint8Array.fromBase64(part.trim()));
      return roots.every(({ length }) => length === SECRET_LENGTH) ? new Keyring(roots) : null;
    } catch {
      return null;
    }
  }

  /**
   * Derives a key of 32 bytes from each root secret, newest first (HKDF-SHA-256, RFC 5869, with the
   * label as `info`).
   * @param salt makes different keys for the same label
   */
  async derive(
    label: KeyLabel,
    salt: Uint8Array = new Uint8Array(),
  ): Promise<Uint8Array<ArrayBuffer>[]> {
    return Promise.all(
      this.roots.map(async (root) => {
        const key = await crypto.subtle.importKey('raw', root, 'HKDF', false, ['deriveBits']);
        const info = new TextEncoder().encode(`countersign/${label}`);
        const parameters = { name: 'HKDF', hash: 'SHA-256', salt, info };
        return new Uint8Array(await crypto.subtle.deriveBits(parameters, key, 256));
      }),
    );
  }

  /** HMAC-SHA-256 of a text under the label's key of each root secret, newest first. */
  async mac(label: KeyLabel, text: string): Promise<[Uint8Array, ...Uint8Array[]]> {
    const keys = this.macKeys.get(label) ?? (await this.makeMacKeys(label));
    const macs = keys.map(
      async (key) =>
        new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text))),
    );
    return (await Promise.all(macs)) as [Uint8Array, ...Uint8Array[]];
  }

  private async makeMacKeys(label: KeyLabel): Promise<CryptoKey[]> {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    const derived = await this.derive(label);
    const keys = await Promise.all(
      derived.map((bytes) => crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign'])),
    );
    this.macKeys.set(label, keys);
    return keys;
  }

  /**
   * Encrypts a text with a key from the newest root secret (AES-256-GCM, NIST SP 800-38D).
   * @param id identifies the owner of the text, which can be decrypted with the same label and id
   *   only
   */
  async encrypt(
    label: KeyLabel,
    id: Uint8Array,
    random: RandomBytes,
    text: string,
  ): Promise<Uint8Array> {
    const nonce = Uint8Array.from(random(NONCE_LENGTH));
    const [key] = await this.encryptionKeys(label, id);
    const data = await crypto.subtle.encrypt(
      { name: AES, iv: nonce },
      key,
      new TextEncoder().encode(text),
    );
    return concatBytes(nonce, new Uint8Array(data));
  }

  /**
   * Decrypts the result of {@link encrypt} with the keys from all root secrets; null if none fits.
   */
  async decrypt(label: KeyLabel, id: Uint8Array, encrypted: Uint8Array): Promise<string | null> {
    const nonce = Uint8Array.from(encrypted.subarray(0, NONCE_LENGTH));
    const data = Uint8Array.from(encrypted.subarray(NONCE_LENGTH));
    for (const key of await this.encryptionKeys(label, id)) {
      try {
        return new TextDecoder().decode(
          await crypto.subtle.decrypt({ name: AES, iv: nonce }, key, data),
        );
      } catch {
        // The text was encrypted with a key from another root secret, or is damaged.
      }
    }
    return null;
  }

  private async encryptionKeys(
    label: KeyLabel,
    id: Uint8Array,
  ): Promise<[CryptoKey, ...CryptoKey[]]> {
    const keys = await this.derive(label, id);
    const imported = keys.map((bytes) =>
      crypto.subtle.importKey('raw', bytes, AES, false, ['encrypt', 'decrypt']),
    );
    return (await Promise.all(imported)) as [CryptoKey, ...CryptoKey[]];
  }
}
