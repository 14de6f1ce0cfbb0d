import { decodeHash, isEqual, sha256, toHex } from './core/bytes.ts';
import { type Checkpoint, newReport, readCheckpoint } from './core/checkpoint.ts';
import { CannotCheck, entryFault, Fault, type Report } from './core/findings.ts';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from './core/json.ts';
import { verifyInclusion } from './core/merkle.ts';
import { readSealedEntry } from './core/sealed-entry.ts';
import type { VoteChecker } from './vote-checker.ts';

/** Whether a JSON value is the proof of a single entry, `GET /v1/audit/:id/proof`. */
export function isEntryProof(value: Json): value is JsonObject {
  return isJsonObject(value) && 'inclusion_path' in value;
}

/**
 * Checks that a proof of a single entry is right, and proves this entry. Does not check the
 * checkpoint's signature.
 * @param entry the answer of `GET /v1/audit/:id`
 * @param votes receives the entry
 * @throws Fault if the proof is malformed, or is not of the tree of its checkpoint. Every other
 *   fault is in the report.
 * @throws CannotCheck if `entry` is not an audit entry
 */
export async function checkEntryProof(
  proof: JsonObject,
  entry: Json,
  votes: VoteChecker,
): Promise<{ report: Report; checkpoint: Checkpoint }> {
  if (!isJsonObject(entry))
    throw new CannotCheck('The proof is for a single entry, but the file is not an entry');
  const { sequence, tree_size, root_hash } = proof;
  const checkpoint = readCheckpoint(proof.checkpoint ?? null, "The proof's checkpoint");
  const { origin, size, root } = checkpoint;
  const [leaf, path] = [readHash(proof.leaf_hash), readHashes(proof.inclusion_path)];
  const sealed = readSealedEntry(proof.leaf_input);
  if (typeof sequence !== 'number' || !sealed) {
    throw new Fault('proof', 'The proof is malformed: its sequence or leaf_input is invalid');
  }
  if (tree_size !== size || root_hash !== toHex(root)) {
    throw new Fault('proof', 'The proof belongs to another tree than its checkpoint', {
      evidence: { tree_size: String(tree_size), tree_size_of_checkpoint: size },
    });
  }
  const id = typeof entry.id === 'string' ? entry.id : undefined;
  const faults: Fault[] = [];
  const expect = (right: boolean, kind: 'changed' | 'swapped', how: string) => {
    if (!right && faults.length === 0) faults.push(entryFault(kind, how, { sequence, id }));
  };
  expect(isSameEntry(entry, sealed.entry), 'changed', 'differs from the entry that was sealed');
  expect(entry.sequence === sequence, 'swapped', 'has another sequence than the proof');
  expect(
    origin.endsWith(`/${entry.user_id}`),
    'swapped',
    'belongs to another account than the log',
  );
  expect(
    isEqual(await sha256(sealed.input), leaf),
    'changed',
    'does not have the leaf hash of the proof',
  );
  expect(
    await verifyInclusion(sequence - 1, size, leaf, path, root),
    'changed',
    'does not lead to the root of the checkpoint',
  );
  await votes.take({ sequence, id: id ?? '', entry });
  const report: Report = {
    ...newReport(checkpoint),
    proven: [`Entry ${sequence} (${id}) is in the log, unchanged since it was sealed.`],
    limits: ['The proof of one entry says nothing about other entries.'],
    faults,
  };
  return { report, checkpoint };
}

function isSameEntry(entry: JsonObject, sealed: JsonObject): boolean {
  try {
    return canonicalJson(entry) === canonicalJson(sealed);
  } catch {
    return false;
  }
}

/**
 * Reads a path of hashes in hexadecimal.
 * @throws Fault
 */
export function readHashes(value: Json | undefined): Uint8Array[] {
  if (!Array.isArray(value)) throw new Fault('proof', 'A proof has no path of hashes');
  return value.map(readHash);
}

function readHash(value: Json | undefined): Uint8Array {
  const hash = typeof value === 'string' ? decodeHash(value) : null;
  if (hash) return hash;
  throw new Fault('proof', `A proof has an invalid hash: ${JSON.stringify(value)}`);
}
