/** The use of a derived key. Each gives an independent key, so that a leak of one tells nothing of another. */
export type KeyLabel = 'credential-hash' | 'operator-token' | 'cursor' | 'token-signing';

const SECRET_LENGTH = 32;

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
   */
  async derive(label: KeyLabel): Promise<Uint8Array[]> {
    return Promise.all(
      this.roots.map(async (root) => {
        const key = await crypto.subtle.importKey('raw', root, 'HKDF', false, ['deriveBits']);
        const info = new TextEncoder().encode(`countersign/${label}`);
        const parameters = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info };
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
}

function decodeBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
