import { concatBytes } from './bytes';

/** The use of a derived key. Each gives an independent key, so that a leak of one tells nothing of another. */
export type KeyLabel =
  | 'credential-hash'
  | 'cursor'
  | 'token-signing'
  | 'log-signing'
  | 'stored-answer'
  | 'webhook-secret'
  | 'download-address';

const SECRET_LENGTH = 32;
const AES = 'AES-GCM';
const NONCE_LENGTH = 12;

/** Gives so many random bytes. */
type RandomBytes = (bytes: number) => Uint8Array;

/**
 * The deployment's root secrets, newest first, from which every other key is derived: the newest signs, all verify.
 */
export class Keyring {
  private constructor(private readonly roots: readonly Uint8Array[]) {}

  /**
   * Reads `ROOT_SECRET`: base64 of 32 bytes, or several of these, comma-separated, newest first.
   * @returns null when any of them is malformed
   */
  static parse(text: string): Keyring | null {
    const roots: Uint8Array[] = [];
    for (const part of text.split(',')) {
      const root = decodeBase64(part.trim());
      if (root?.length !== SECRET_LENGTH) return null;
      roots.push(root);
    }
    return new Keyring(roots);
  }

  /**
   * 32 bytes for each root secret, newest first (HKDF-SHA-256, RFC 5869, with the label as `info`).
   * @param salt gives keys of their own to things of one kind
   */
  async derive(label: KeyLabel, salt: Uint8Array = new Uint8Array()): Promise<Uint8Array<ArrayBuffer>[]> {
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
    const keys = await this.derive(label);
    const macs = keys.map(async (bytes) => {
      const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
      return new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text)));
    });
    return (await Promise.all(macs)) as [Uint8Array, ...Uint8Array[]];
  }

  /**
   * Encrypts a text under the newest root secret (AES-256-GCM, NIST SP 800-38D).
   * @param id what is encrypted: a text of another id cannot be passed off as this one's
   */
  async encrypt(label: KeyLabel, id: Uint8Array, random: RandomBytes, text: string): Promise<Uint8Array> {
    const nonce = Uint8Array.from(random(NONCE_LENGTH));
    const [key] = await this.encryptionKeys(label, id);
    const data = await crypto.subtle.encrypt({ name: AES, iv: nonce }, key, new TextEncoder().encode(text));
    return concatBytes(nonce, new Uint8Array(data));
  }

  /** Reads what {@link encrypt} wrote under any of the root secrets; null for everything else. */
  async decrypt(label: KeyLabel, id: Uint8Array, encrypted: Uint8Array): Promise<string | null> {
    const nonce = Uint8Array.from(encrypted.subarray(0, NONCE_LENGTH));
    const data = Uint8Array.from(encrypted.subarray(NONCE_LENGTH));
    for (const key of await this.encryptionKeys(label, id)) {
      try {
        return new TextDecoder().decode(await crypto.subtle.decrypt({ name: AES, iv: nonce }, key, data));
      } catch {
        // Encrypted under another root secret, or damaged.
      }
    }
    return null;
  }

  private async encryptionKeys(label: KeyLabel, id: Uint8Array): Promise<[CryptoKey, ...CryptoKey[]]> {
    const keys = await this.derive(label, id);
    const imported = keys.map((bytes) => crypto.subtle.importKey('raw', bytes, AES, false, ['encrypt', 'decrypt']));
    return (await Promise.all(imported)) as [CryptoKey, ...CryptoKey[]];
  }
}

function decodeBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
