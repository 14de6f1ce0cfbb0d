import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { sha256 } from './merkle.ts';

/** A signed note (https://c2sp.org/signed-note): a text and who signed it. */
export interface Note {
  /** With its last newline: exactly what is signed. */
  text: string;
  signatures: { name: string; keyId: Buffer; signature: Buffer }[];
}

const SIGNATURE_LINE = /^— ([^\s+]+) (\S+)$/u;
const VERIFIER_KEY = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u;
const ED25519 = 1;

/**
 * Takes a signed note apart.
 * @throws SyntaxError where it is not one
 */
export function parseNote(note: string): Note {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) throw new SyntaxError('has no signature after an empty line');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the specification forbids them.
  if (/[\0-\x09\x0b-\x1f]/.test(note) || !note.isWellFormed()) throw new SyntaxError('has control characters');
  const lines = note.slice(end + 2, -1).split('\n');
  const signatures = lines.map((line) => {
    const [, name = '', blob = ''] = SIGNATURE_LINE.exec(line) ?? [];
    const bytes = decodeBase64(blob);
    if (!bytes || bytes.length < 5) throw new SyntaxError('has a line that is no signature');
    return { name, keyId: bytes.subarray(0, 4), signature: bytes.subarray(4) };
  });
  return { text: note.slice(0, end + 1), signatures };
}

/** A public key that notes are signed with. */
export interface VerifierKey {
  /** What people call it. */
  label: string;
  /** The only name it signs under; null where it signs under any. */
  name: string | null;
  bytes: Buffer;
}

/**
 * Reads a key in the form of signed notes: `<name>+<key id>+<base64 of type and key>`.
 * @throws SyntaxError where it is not one of Ed25519
 */
export function parseVerifierKey(text: string): VerifierKey {
  const [, name = '', id, key = ''] = VERIFIER_KEY.exec(text) ?? [];
  const bytes = decodeBase64(key);
  if (bytes?.length !== 33 || bytes[0] !== ED25519) throw new SyntaxError('is no Ed25519 key of a signed note');
  if (keyIdOf(name, bytes.subarray(1)).toString('hex') !== id)
    throw new SyntaxError('has a key id that is not its own');
  return { label: `${name}+${id}`, name, bytes: bytes.subarray(1) };
}

/**
 * Finds the key that signed a note under a name. Signatures by other keys are ignored, as the specification asks.
 * @returns null where none of the keys did
 * @throws SyntaxError where a signature claims to be by one of the keys and is not
 */
export function findSigner({ text, signatures }: Note, name: string, keys: VerifierKey[]): VerifierKey | null {
  let signer: VerifierKey | null = null;
  for (const signature of signatures.filter((signature) => signature.name === name)) {
    const key = keys.find((key) => (key.name ?? name) === name && keyIdOf(name, key.bytes).equals(signature.keyId));
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
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' });
}

/** Standard base64 in its only spelling; null for any other text. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}
