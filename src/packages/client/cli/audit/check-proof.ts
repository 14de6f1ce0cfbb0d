import { createHash, createPublicKey, verify } from 'node:crypto';
import type { AuditEntry, Checkpoint, InclusionProof, KeySet } from '../../api.ts';
import { canonicalJson, isEqualJson } from '../../canonical-json.ts';
import type { JsonObject } from '../../json.ts';

type LogKey = KeySet['keys'][number];

/** Something in a proof is wrong. The message says what. */
export class ProofFault extends Error {}

/**
 * Checks that a proof shows an entry in the log: sealed bytes, hash, path, root, and the signature
 * of the checkpoint.
 * @param id the id that was asked for
 * @throws ProofFault
 */
export function checkProof(
  id: string,
  entry: AuditEntry,
  proof: InclusionProof,
  { keys }: KeySet,
): void {
  const { checkpoint } = proof;
  const input = decodeBase64(proof.leaf_input, 'leaf_input');
  require(entry.id === id, 'the service shows another entry');
  require(isSealed(entry, input), 'the entry differs from the one that was sealed');
  require(entry.sequence === proof.sequence, 'the proof is for another place in the log');
  const isOfTree =
    proof.tree_size === checkpoint.tree_size && proof.root_hash === checkpoint.root_hash;
  require(isOfTree, 'the proof is for another tree than its checkpoint');
  const leaf = sha256(input);
  require(leaf.toString('hex') === proof.leaf_hash, 'the hash of the sealed entry is wrong');
  const isIncluded = leadsToRoot({
    index: proof.sequence - 1,
    size: checkpoint.tree_size,
    leaf,
    path: proof.inclusion_path.map(decodeHash),
    root: decodeHash(checkpoint.root_hash),
  });
  require(isIncluded, 'the entry does not lead to the root of the log');
  require(checkpoint.origin.endsWith(`/${entry.user_id}`), 'the checkpoint is of another log');
  checkSignature(checkpoint, keys);
}

/** Whether the sealed bytes are a zero byte and the entry with its salt, as canonical JSON. */
function isSealed(entry: AuditEntry, input: Buffer): boolean {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    const text = decoder.decode(input.subarray(1));
    const { salt, ...sealed }: JsonObject = JSON.parse(text);
    const isCanonical = canonicalJson({ ...sealed, salt }) === text;
    return input[0] === 0 && isCanonical && typeof salt === 'string' && isEqualJson(sealed, entry);
  } catch {
    return false;
  }
}

interface Inclusion {
  index: number;
  size: number;
  leaf: Buffer;
  path: Buffer[];
  root: Buffer;
}

/**
 * Verifies an inclusion proof (RFC 9162 section 2.1.3.2). Sizes can exceed the 32 bits of bitwise
 * operators.
 */
function leadsToRoot({ index, size, leaf, path, root }: Inclusion): boolean {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return false;
  let place = index;
  let last = size - 1;
  let hash = leaf;
  const climb = () => {
    place = Math.floor(place / 2);
    last = Math.floor(last / 2);
  };
  for (const sibling of path) {
    if (last === 0) return false;
    if (place % 2 === 1 || place === last) {
      hash = hashNode(sibling, hash);
      while (place % 2 === 0 && place !== 0) climb();
    } else {
      hash = hashNode(hash, sibling);
    }
    climb();
  }
  return last === 0 && hash.equals(root);
}

/**
 * Checks the note of a checkpoint: its text states the checkpoint, and a key of the log signed it
 * (C2SP signed-note).
 */
function checkSignature(
  { origin, tree_size, root_hash, timestamp, note }: Checkpoint,
  keys: LogKey[],
): void {
  const root = Buffer.from(root_hash, 'hex').toString('base64');
  const text = `${origin}\n${tree_size}\n${root}\ntime ${timestamp}\n`;
  require(note.startsWith(`${text}\n`), 'the checkpoint differs from the note that was signed');
  const lines = note.slice(text.length + 1).split('\n');
  const isSigned = lines.some((line) => {
    const [, name, blob = ''] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== origin) return false;
    const signature = Buffer.from(blob, 'base64');
    return keys.some((key) => isSignedBy(key, origin, text, signature));
  });
  require(isSigned, 'none of the keys of the log signed the checkpoint');
}

/** @param signature the id of the key and the signature, as a note has them */
function isSignedBy(key: LogKey, origin: string, text: string, signature: Buffer): boolean {
  const { kty, crv, x, kid } = key;
  if (kty !== 'OKP' || crv !== 'Ed25519' || !kid.startsWith('log-')) return false;
  const name = Buffer.from(`${origin}\n\x01`);
  const keyId = sha256(Buffer.concat([name, Buffer.from(x, 'base64url')])).subarray(0, 4);
  if (!keyId.equals(signature.subarray(0, 4))) return false;
  const publicKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  return verify(null, Buffer.from(text), publicKey, signature.subarray(4));
}

function hashNode(left: Buffer, right: Buffer): Buffer {
  return sha256(Buffer.concat([Buffer.of(1), left, right]));
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function decodeBase64(text: string, name: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  require(bytes.toString('base64') === text, `${name} is not base64`);
  return bytes;
}

function decodeHash(text: string): Buffer {
  require(/^[0-9a-f]{64}$/.test(text), 'a hash of the proof is malformed');
  return Buffer.from(text, 'hex');
}

function require(isRight: boolean, fault: string): void {
  if (!isRight) throw new ProofFault(fault);
}
