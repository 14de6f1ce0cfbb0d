import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { sha256 } from './merkle.ts';

/** A signed note (https://c2sp.org/signed-note): a text and its signatures. */
export interface Note {
  /** The signed text, which includes its last newline. */
  text: string;
  signatures: { name: string; keyId: Buffer; signature: Buffer }[];
}

const SIGNATURE_LINE = /^— ([^\s+]+) (\S+)$/u;
const VERIFIER_KEY = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u;
const ED25519 = 1;

/**
 * Parses a signed note.
 * @throws SyntaxError if it is malformed
 */
export function parseNote(note: string): Note {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n'))
    throw new SyntaxError('has no signature after an empty line');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the specification forbids them.
  if (/[\0-\x09\x0b-\x1f]/.test(note) || !note.isWellFormed())
    throw new SyntaxError('has control characters');
  const lines = note.slice(end + 2, -1).split('\n');
  const signatures = lines.map((line) => {
    const [, name = '', blob = ''] = SIGNATURE_LINE.exec(line) ?? [];
    const bytes = decodeBase64(blob);
    if (!bytes || bytes.length < 5) throw new SyntaxError('has a malformed signature line');
    return { name, keyId: bytes.subarray(0, 4), signature: bytes.subarray(4) };
  });
  return { text: note.slice(0, end + 1), signatures };
}

/** A public key that verifies signed notes. */
export interface VerifierKey {
  /** The name of the key in reports. */
  label: string;
  /** The only log name that the key may sign; null if it may sign any. */
  name: string | null;
  bytes: Buffer;
}

/**
 * Parses a verifier key, `<name>+<key id>+<base64 of type and key>`.
 * @throws SyntaxError if it is malformed, or not an Ed25519 key
 */
export function parseVerifierKey(text: string): VerifierKey {
  const [, name = '', id, key = ''] = VERIFIER_KEY.exec(text) ?? [];
  const bytes = decodeBase64(key);
  if (bytes?.length !== 33 || bytes[0] !== ED25519)
    throw new SyntaxError('is not an Ed25519 verifier key');
  if (keyIdOf(name, bytes.subarray(1)).toString('hex') !== id)
    throw new SyntaxError('has a wrong key id');
  return { label: `${name}+${id}`, name, bytes: bytes.subarray(1) };
}

/**
 * Finds the key that signed a note with a name. Ignores signatures of other keys, as the
 * specification requires.
 * @returns null if none of the keys signed it
 * @throws SyntaxError if a signature names one of the keys, but that key did not make it
 */
export function findSigner(
  { text, signatures }: Note,
  name: string,
  keys: VerifierKey[],
): VerifierKey | null {
  let signer: VerifierKey | null = null;
  for (const signature of signatures.filter((signature) => signature.name === name)) {
    const key = keys.find(
      (key) => (key.name ?? name) === name && keyIdOf(name, key.bytes).equals(signature.keyId),
    );
    if (!key) continue;
    if (!verify(null, Buffer.from(text), publicKey(key.bytes), signature.signature)) {
      throw new SyntaxError(`has a signature that the key ${key.label} did not make`);
    }
    signer ??= key;
  }
  return signer;
}

function keyIdOf(name: string, key: Buffer): Buffer {
  return sha256(Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), key])).subarray(0, 4);
}

function publicKey(bytes: Buffer): KeyObject {
  return createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
    format: 'jwk',
  });
}

/** Decodes canonical standard base64; null for any other text. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

/** Decodes canonical base64url without padding; null for any other text. */
export function decodeBase64Url(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : null;
}
