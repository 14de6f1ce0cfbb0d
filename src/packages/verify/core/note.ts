import {
  concatBytes,
  decodeBase64,
  decodeBase64Url,
  isEqual,
  sha256,
  toBase64Url,
  toHex,
  utf8,
} from './bytes.ts';
import { canonicalJson, isJsonObject, type Json } from './json.ts';
import { importEd25519 } from './signature.ts';

/** A signed note (https://c2sp.org/signed-note): a text and its signatures. */
export interface Note {
  /** The signed text, which includes its last newline. */
  text: string;
  signatures: NoteSignature[];
}

interface NoteSignature {
  name: string;
  keyId: Uint8Array;
  signature: Uint8Array;
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
  bytes: Uint8Array;
}

/**
 * Parses a verifier key, `<name>+<key id>+<base64 of type and key>`.
 * @throws SyntaxError if it is malformed, or not an Ed25519 key
 */
export async function parseVerifierKey(text: string): Promise<VerifierKey> {
  const [, name = '', id, key = ''] = VERIFIER_KEY.exec(text) ?? [];
  const bytes = decodeBase64(key);
  if (bytes?.length !== 33 || bytes[0] !== ED25519)
    throw new SyntaxError('is not an Ed25519 verifier key');
  if (toHex(await keyIdOf(name, bytes.subarray(1))) !== id)
    throw new SyntaxError('has a wrong key id');
  return { label: `${name}+${id}`, name, bytes: bytes.subarray(1) };
}

/**
 * Finds the key that signed a note with a name. Ignores signatures of other keys, as the
 * specification requires.
 * @returns null if none of the keys signed it
 * @throws SyntaxError if a signature names one of the keys, but that key did not make it
 * @throws UnsupportedAlgorithm
 */
export async function findSigner(
  note: Note,
  name: string,
  keys: VerifierKey[],
): Promise<VerifierKey | null> {
  const named = await findNamedKeys(note, name, keys);
  for (const { key, signature } of named) {
    if (!(await hasSignedNote(key, note, signature)))
      throw new SyntaxError(`has a signature that the key ${key.label} did not make`);
  }
  return named[0]?.key ?? null;
}

/** The keys that the signatures of a note with a name claim to be made by, without a check. */
export async function findNamedKeys(
  { signatures }: Note,
  name: string,
  keys: VerifierKey[],
): Promise<{ key: VerifierKey; signature: NoteSignature }[]> {
  const usable = keys.filter((key) => (key.name ?? name) === name);
  const ids = await Promise.all(usable.map(({ bytes }) => keyIdOf(name, bytes)));
  return signatures
    .filter((signature) => signature.name === name)
    .flatMap((signature) => {
      const key = usable[ids.findIndex((id) => isEqual(id, signature.keyId))];
      return key ? [{ key, signature }] : [];
    });
}

/** Whether a key made a signature of a note. */
export async function hasSignedNote(
  { bytes }: VerifierKey,
  { text }: Note,
  { signature }: NoteSignature,
): Promise<boolean> {
  const key = await importEd25519(toBase64Url(bytes));
  return await key.hasSigned(utf8(text), signature);
}

async function keyIdOf(name: string, key: Uint8Array): Promise<Uint8Array> {
  return (await sha256(concatBytes(utf8(`${name}\n`), [ED25519], key))).subarray(0, 4);
}

/**
 * The keys of a JWK set that sign logs. Their kid is `log-` followed by their thumbprint (RFC
 * 7638).
 */
export async function readLogKeys(set: Json): Promise<VerifierKey[]> {
  const keys = isJsonObject(set) && Array.isArray(set.keys) ? set.keys.filter(isJsonObject) : [];
  const found: VerifierKey[] = [];
  for (const { kty, crv, x, kid } of keys) {
    if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') continue;
    const thumbprint = toBase64Url(await sha256(utf8(canonicalJson({ crv, kty, x }))));
    const bytes = decodeBase64Url(x);
    if (kid === `log-${thumbprint}` && bytes?.length === 32)
      found.push({ label: kid, name: null, bytes });
  }
  return found;
}
