import {
  type Bytes,
  fromBase64,
  fromBase64Url,
  fromHex,
  isEqual,
  isSignedBy,
  joinBytes,
  sha256,
  toBase64Url,
  toHex,
  utf8,
} from './verify-bytes';
import type { Finding } from './verify-finding';
import { canonicalJson, differences, type JsonObject } from './verify-json';

/** The answer of `GET /v1/audit/:id/proof`. */
export interface Proof {
  sequence: number;
  leaf_hash: string;
  /** In base64. */
  leaf_input: string;
  tree_size: number;
  root_hash: string;
  inclusion_path: string[];
  checkpoint: Checkpoint;
}

interface Checkpoint {
  origin: string;
  tree_size: number;
  root_hash: string;
  timestamp: string;
  note: string;
}

/**
 * Hashes the entry and compares the hash with the leaf of the proof: SHA-256 of a zero byte and the
 * canonical JSON of the entry with its salt, which only the sealed bytes have.
 */
export async function checkEntry(entry: object, proof: Proof, id: string): Promise<Finding> {
  const { salt, ...sealed } = readSealed(proof.leaf_input);
  const shown = entry as JsonObject;
  const leaf = toHex(
    await sha256(joinBytes([0], utf8(canonicalJson({ ...shown, salt: salt ?? '' })))),
  );
  const evidence: Finding['evidence'] = [
    ['Hash of the entry', leaf],
    ['Hash in the proof', proof.leaf_hash],
  ];
  if (leaf === proof.leaf_hash && shown.id === id && shown.sequence === proof.sequence) {
    return {
      state: 'passed',
      text: 'Its SHA-256 hash with its salt is the leaf of the proof.',
      evidence,
    };
  }
  const changed = differences(shown, sealed);
  const names = changed.map(({ path }) => path).join(', ');
  const text =
    leaf === proof.leaf_hash
      ? 'The answer is another entry than the one that this page shows.'
      : `Its hash is not the one in the proof${names === '' ? '' : `: ${names} differs from what was sealed`}.`;
  const sealedValues = changed.map(({ path, one, other }): [string, string] => [
    path,
    `${one}; sealed was ${other}`,
  ]);
  return failed(text, [...sealedValues, ...evidence]);
}

function failed(text: string, evidence: Finding['evidence'] = []): Finding {
  return { state: 'failed', text, evidence };
}

function readSealed(leafInput: string): JsonObject {
  try {
    return JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(fromBase64(leafInput).subarray(1)),
    );
  } catch {
    return {};
  }
}

/**
 * Hashes from the leaf to the root (RFC 9162 section 2.1.3.2), and compares it with the root of the
 * checkpoint.
 */
export async function checkPath({
  sequence,
  leaf_hash,
  inclusion_path,
  checkpoint,
}: Proof): Promise<Finding> {
  const { tree_size: size, root_hash } = checkpoint;
  let root = 'none: a hash of the proof is malformed, or the path has another length than it must';
  try {
    root = toHex(await rootOf(sequence - 1, size, fromHex(leaf_hash), inclusion_path.map(fromHex)));
  } catch {
    // The text above says so.
  }
  const evidence: Finding['evidence'] = [
    ['Root that follows', root],
    ['Root of the checkpoint', root_hash],
  ];
  if (root === root_hash) {
    const text = `Its leaf leads through ${inclusion_path.length} hashes to the root over all ${size} entries.`;
    return { state: 'passed', text, evidence };
  }
  return failed('Its leaf does not lead to the root of the checkpoint.', evidence);
}

async function rootOf(index: number, size: number, leaf: Bytes, path: Bytes[]): Promise<Bytes> {
  let [node, last, hash] = [index, size - 1, leaf];
  for (const sibling of path) {
    if (last === 0) throw new Error('the path is too long');
    if (node % 2 === 1 || node === last) {
      hash = await hashNode(sibling, hash);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      hash = await hashNode(hash, sibling);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  if (last !== 0) throw new Error('the path is too short');
  return hash;
}

function hashNode(left: Bytes, right: Bytes): Promise<Bytes> {
  return sha256(joinBytes([1], left, right));
}

/**
 * The text of a signed checkpoint: origin, size, root, time; then the signature with the key's id
 * in front of it.
 */
const NOTE = /^((\S+)\n(\d+)\n(\S+)\ntime (\S+)\n)\n— (\S+) (\S+)\n$/;
const ED25519 = 1;

/**
 * Checks that a published key of the service signed the checkpoint, and that it says what the proof
 * says.
 * @throws CannotCheck as {@link isSignedBy}
 */
export async function checkCheckpoint(
  checkpoint: Checkpoint,
  account: string,
  keys: JsonObject[],
): Promise<Finding> {
  const [, text = '', origin = '', size, root = '', time, name, encoded = ''] =
    NOTE.exec(checkpoint.note) ?? [];
  if (text === '')
    return failed('The checkpoint is not a signed note.', [['Note', checkpoint.note]]);
  const noted = {
    origin,
    tree_size: Number(size),
    root_hash: toHex(fromBase64(root)),
    timestamp: time ?? '',
  };
  const { note, ...stated } = checkpoint;
  const [difference] = differences({ ...stated }, noted);
  if (difference) {
    return failed(`The checkpoint’s ${difference.path} is not the signed one.`, [
      ['In the checkpoint', difference.one],
      ['Signed', difference.other],
    ]);
  }
  if (name !== origin || !origin.endsWith(`/${account}`))
    return failed('The checkpoint is of another log.', [['Log', origin]]);

  const blob = fromBase64(encoded);
  const key = await findKey(keys, origin, blob.subarray(0, 4));
  if (!key)
    return failed('The key that signed it is not among the published keys.', [
      ['Signature', encoded],
    ]);
  const evidence: Finding['evidence'] = [
    ['Key', key.kid],
    ['Root', noted.root_hash],
    ['Signed', noted.timestamp],
  ];
  const signed = {
    key: { kty: 'OKP', crv: 'Ed25519', x: key.x },
    signature: blob.slice(4),
    data: utf8(text),
  };
  if (!(await isSignedBy({ name: 'Ed25519' }, signed))) {
    return failed('The signature is not that of the published key.', evidence);
  }
  return {
    state: 'passed',
    text: 'The signature is that of the key which the service publishes.',
    evidence,
  };
}

async function findKey(keys: JsonObject[], origin: string, id: Bytes) {
  for (const { kid, x } of keys) {
    if (typeof kid !== 'string' || typeof x !== 'string' || !kid.startsWith('log-')) continue;
    const thumbprint = toBase64Url(
      await sha256(utf8(canonicalJson({ crv: 'Ed25519', kty: 'OKP', x }))),
    );
    const bytes = fromBase64Url(x);
    const hash = await sha256(joinBytes(utf8(`${origin}\n`), [ED25519], bytes));
    if (kid === `log-${thumbprint}` && isEqual(hash.subarray(0, 4), id)) return { kid, x };
  }
  return null;
}
