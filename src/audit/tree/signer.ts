import { type Env, readConfig } from '../../env';
import { concatBytes, equalBytes, toHex } from '../../lib/bytes';
import { hashBytes } from '../../lib/merkle';
import type { Keyring } from '../../lib/secrets';
import { deriveLogKeys, type SigningKey, type SigningKeys } from '../../lib/signing-key';
import type { Id } from '../../lib/typeid';

const ED25519 = 1;
const KEY_ID_LENGTH = 4;
/**
 * A text, then its signature line: the name, and in base64 the key's id and 64 bytes of signature.
 */
const SIGNATURE = /^([\s\S]*\n)\n— (\S+) ([A-Za-z0-9+/]{91}=)\n$/;

/**
 * Signs texts about a deployment's logs as notes (https://c2sp.org/signed-note), and verifies such
 * notes.
 */
export class LogSigner {
  private constructor(
    private readonly keys: SigningKeys,
    private readonly host: string,
  ) {}

  /**
   * Derives the keys from the root secrets. The key of the newest one signs; all keys verify.
   * @param publicUrl the origin of the service
   */
  static async open(keyring: Keyring, publicUrl: string): Promise<LogSigner> {
    return new LogSigner(await deriveLogKeys(keyring), new URL(publicUrl).host);
  }

  /** The name of an account's log, which checkpoints call its origin. */
  originOf(account: Id<'user'>): string {
    return `${this.host}/${account}`;
  }

  /**
   * Returns a note: the text with a signature line. The same text gives the same note as long as
   * the key is the same.
   * @param name the name of the log, from {@link originOf}
   * @param text ends with a newline
   */
  async sign(name: string, text: string): Promise<string> {
    const [key] = this.keys;
    const signature = await crypto.subtle.sign('Ed25519', key.sign, new TextEncoder().encode(text));
    const signed = concatBytes(await keyId(name, key), new Uint8Array(signature)).toBase64();
    return `${text}\n— ${name} ${signed}\n`;
  }

  /** The key that signs notes with a name, as a verifier key (signed-note, "Verifier keys"). */
  async verifierKey(name: string): Promise<string> {
    const [key] = this.keys;
    const encoded = new Uint8Array([ED25519, ...publicBytes(key)]).toBase64();
    return `${name}+${toHex(await keyId(name, key))}+${encoded}`;
  }

  /**
   * Whether a note has exactly one signature, made by one of the keys for the name on the signature
   * line.
   */
  async hasSigned(note: string): Promise<boolean> {
    const [, text, name, encoded] = SIGNATURE.exec(note) ?? [];
    if (text === undefined || name === undefined || encoded === undefined) return false;
    const signed = Uint8Array.fromBase64(encoded);
    for (const key of this.keys) {
      if (!equalBytes(signed.slice(0, KEY_ID_LENGTH), await keyId(name, key))) continue;
      if (await isSignature(key, signed.slice(KEY_ID_LENGTH), text)) return true;
    }
    return false;
  }
}

async function isSignature(key: SigningKey, signature: Uint8Array, text: string): Promise<boolean> {
  const bytes = publicBytes(key);
  const publicKey = await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']);
  return crypto.subtle.verify('Ed25519', publicKey, signature, new TextEncoder().encode(text));
}

/** The id of a key for a name (signed-note, "Signatures"). */
async function keyId(name: string, key: SigningKey): Promise<Uint8Array> {
  const bytes = new Uint8Array([ED25519, ...publicBytes(key)]);
  const hash = await hashBytes(concatBytes(new TextEncoder().encode(`${name}\n`), bytes));
  return hash.slice(0, KEY_ID_LENGTH);
}

function publicBytes({ publicJwk }: SigningKey): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(publicJwk.x, { alphabet: 'base64url' });
}

/**
 * Opens the deployment's signer, for work outside of requests.
 * @throws Error if the settings are incomplete
 */
export async function openSigner(env: Env): Promise<LogSigner> {
  const settings = readConfig(env);
  if ('faults' in settings) throw new Error(settings.faults.join('; '));
  return LogSigner.open(settings.config.keyring, settings.config.publicUrl);
}
