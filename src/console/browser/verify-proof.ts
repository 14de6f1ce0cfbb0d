import {
  concatBytes,
  decodeBase64,
  decodeHash,
  sha256,
  toBase64,
  toHex,
} from '../../packages/verify/core/bytes.ts';
import { checkpointFacts, readNote } from '../../packages/verify/core/checkpoint.ts';
import { Fault } from '../../packages/verify/core/findings.ts';
import type { JsonObject } from '../../packages/verify/core/json.ts';
import { leafInput, rootOfPath } from '../../packages/verify/core/merkle.ts';
import {
  findNamedKeys,
  hasSignedNote,
  parseNote,
  readLogKeys,
} from '../../packages/verify/core/note.ts';
import { findDifferences } from './verify-difference';
import type { Finding } from './verify-finding';

/** The answer of `GET /v1/audit/:id/proof`. */
export interface Proof {
  sequence: number;
  leaf_hash: string;
  /** In base64. */
  leaf_input: string;
  tree_size: number;
  root_hash: string;
  inclusion_path: string[];
  checkpoint: StatedCheckpoint;
}

interface StatedCheckpoint {
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
  const leaf = toHex(await sha256(leafInput(shown, typeof salt === 'string' ? salt : '')));
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
  const changed = findDifferences(shown, sealed);
  const names = changed.map(({ path }) => path).join(', ');
  const text =
    leaf === proof.leaf_hash
      ? 'The service answered with another entry than the one on this page.'
      : `Its hash is not the one in the proof${names === '' ? '' : `: ${names} differs from what was sealed`}.`;
  const sealedValues = changed.map(({ path, one, other }): [string, string] => [
    path,
    `${one}; sealed as ${other}`,
  ]);
  return failed(text, [...sealedValues, ...evidence]);
}

function failed(text: string, evidence: Finding['evidence'] = []): Finding {
  return { state: 'failed', text, evidence };
}

function readSealed(leafInput: string): JsonObject {
  const bytes = decodeBase64(leafInput);
  try {
    if (bytes)
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(1)));
  } catch {
    // Neither UTF-8 nor JSON: nothing of it equals the entry.
  }
  return {};
}

/**
 * Hashes from the leaf to the root (RFC 9162 section 2.1.3.2), and compares it with the root of the
 * checkpoint.
 */
export async function checkPath(proof: Proof): Promise<Finding> {
  const { tree_size: size, root_hash } = proof.checkpoint;
  const root =
    (await findRoot(proof)) ??
    'none: a hash of the proof is malformed, or its path has the wrong length';
  const evidence: Finding['evidence'] = [
    ['Computed root', root],
    ['Root of the checkpoint', root_hash],
  ];
  if (root === root_hash) {
    const text = `Its leaf leads through ${proof.inclusion_path.length} hashes to the root over all ${size.toLocaleString()} entries.`;
    return { state: 'passed', text, evidence };
  }
  return failed('Its leaf does not lead to the root of the checkpoint.', evidence);
}

async function findRoot(proof: Proof): Promise<string | null> {
  const leaf = decodeHash(proof.leaf_hash);
  const path = proof.inclusion_path.flatMap((hash) => decodeHash(hash) ?? []);
  if (!leaf || path.length < proof.inclusion_path.length) return null;
  const root = await rootOfPath(proof.sequence - 1, proof.checkpoint.tree_size, leaf, path);
  return root && toHex(root);
}

/**
 * Checks that a published key of the service signed the checkpoint, and that it says what the proof
 * says.
 * @throws UnsupportedAlgorithm
 */
export async function checkCheckpoint(
  stated: StatedCheckpoint,
  account: string,
  keys: JsonObject[],
): Promise<Finding> {
  const { note, ...facts } = stated;
  const signed = readSigned(note);
  if (!signed) return failed('The checkpoint is not a signed note.', [['Note', note]]);
  const { origin } = signed;
  const noted = { origin, ...checkpointFacts(signed) };
  const [difference] = findDifferences(facts, noted);
  if (difference) {
    return failed(`The checkpoint’s ${difference.path} differs from the signed one.`, [
      ['In the checkpoint', difference.one],
      ['Signed', difference.other],
    ]);
  }
  const parsed = parseNote(note);
  const ofLog = parsed.signatures.find(({ name }) => name === origin);
  if (!ofLog || !origin.endsWith(`/${account}`))
    return failed('The checkpoint belongs to another log.', [['Log', origin]]);

  const named = await findNamedKeys(parsed, origin, await readLogKeys({ keys }));
  if (named.length === 0) {
    return failed('The key that signed it is not among the published keys.', [
      ['Signature', toBase64(concatBytes(ofLog.keyId, ofLog.signature))],
    ]);
  }
  const evidence: Finding['evidence'] = [
    ['Key', named.map(({ key }) => key.label).join(', ')],
    ['Root', noted.root_hash],
    ['Signed', noted.timestamp],
  ];
  for (const { key, signature } of named) {
    if (!(await hasSignedNote(key, parsed, signature)))
      return failed('The signature was not made with the published key.', evidence);
  }
  return {
    state: 'passed',
    text: 'The signature was made with the key that the service publishes.',
    evidence,
  };
}

/** The checkpoint that a note states; null if it is not one. */
function readSigned(note: string) {
  try {
    return readNote(note, 'The checkpoint');
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}
