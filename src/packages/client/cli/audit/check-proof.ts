import { decodeBase64, decodeHash, sha256, toBase64, toHex } from '../../../verify/core/bytes.ts';
import { verifyInclusion } from '../../../verify/core/merkle.ts';
import { findNamedKeys, hasSignedNote, parseNote, readLogKeys } from '../../../verify/core/note.ts';
import type { AuditEntry, Checkpoint, InclusionProof, KeySet } from '../../api.ts';
import { canonicalJson, isEqualJson } from '../../canonical-json.ts';
import type { JsonObject } from '../../json.ts';

/** Something in a proof is wrong. The message says what. */
export class ProofFault extends Error {}

/**
 * Checks that a proof shows an entry in the log: sealed bytes, hash, path, root, and the signature
 * of the checkpoint.
 * @param id the id that was asked for
 * @throws ProofFault
 */
export async function checkProof(
  id: string,
  entry: AuditEntry,
  proof: InclusionProof,
  keys: KeySet,
): Promise<void> {
  const { checkpoint } = proof;
  const input = decodeBase64(proof.leaf_input);
  if (!input) throw new ProofFault('leaf_input is not base64');
  require(entry.id === id, 'the service shows another entry');
  require(isSealed(entry, input), 'the entry differs from the one that was sealed');
  require(entry.sequence === proof.sequence, 'the proof is for another place in the log');
  const isOfTree =
    proof.tree_size === checkpoint.tree_size && proof.root_hash === checkpoint.root_hash;
  require(isOfTree, 'the proof is for another tree than its checkpoint');
  const leaf = await sha256(input);
  require(toHex(leaf) === proof.leaf_hash, 'the hash of the sealed entry is wrong');
  const path = proof.inclusion_path.map(requireHash);
  const root = requireHash(checkpoint.root_hash);
  const isIncluded = await verifyInclusion(
    proof.sequence - 1,
    checkpoint.tree_size,
    leaf,
    path,
    root,
  );
  require(isIncluded, 'the entry does not lead to the root of the log');
  require(checkpoint.origin.endsWith(`/${entry.user_id}`), 'the checkpoint is of another log');
  await checkSignature(checkpoint, root, keys);
}

/** Whether the sealed bytes are a zero byte and the entry with its salt, as canonical JSON. */
function isSealed(entry: AuditEntry, input: Uint8Array): boolean {
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

/**
 * Checks the note of a checkpoint: its text states the checkpoint, and a key of the log signed it
 * (C2SP signed-note).
 */
async function checkSignature(
  { origin, tree_size, timestamp, note: text }: Checkpoint,
  root: Uint8Array,
  { keys }: KeySet,
): Promise<void> {
  const stated = `${origin}\n${tree_size}\n${toBase64(root)}\ntime ${timestamp}\n`;
  const note = parseNote(text);
  require(note.text === stated, 'the checkpoint differs from the note that was signed');
  const named = await findNamedKeys(note, origin, await readLogKeys({ keys }));
  const signed = await Promise.all(
    named.map(({ key, signature }) => hasSignedNote(key, note, signature)),
  );
  require(signed.includes(true), 'none of the keys of the log signed the checkpoint');
}

function requireHash(text: string): Uint8Array {
  const hash = decodeHash(text);
  if (!hash) throw new ProofFault('a hash of the proof is malformed');
  return hash;
}

function require(isRight: boolean, fault: string): void {
  if (!isRight) throw new ProofFault(fault);
}
