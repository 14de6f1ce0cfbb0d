import { createHash } from 'node:crypto';

// RFC 9162 literally: trees by the definition in section 2.1.1, proofs by the algorithms for
// verifiers.

const sha256 = (...parts: Uint8Array[]): Uint8Array => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
};

export const hashLeaf = (bytes: Uint8Array): Uint8Array => sha256(Uint8Array.of(0), bytes);
const hashNode = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  sha256(Uint8Array.of(1), left, right);

/** The root of a tree of these leaf hashes (section 2.1.1). */
export function rootOf(leaves: Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0] as Uint8Array;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return hashNode(rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

/**
 * The root that an inclusion proof yields (section 2.1.3.2); null if the proof has too many or too
 * few nodes.
 */
export function rootOfInclusion(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: Uint8Array[],
): Uint8Array | null {
  let [fn, sn, r] = [index, size - 1, leaf];
  if (index >= size) return null;
  for (const node of path) {
    if (sn === 0) return null;
    if (fn % 2 === 1 || fn === sn) {
      r = hashNode(node, r);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else {
      r = hashNode(r, node);
    }
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 ? r : null;
}

/** Whether a consistency proof proves that one root extends the other (section 2.1.4.2). */
export function isConsistent(
  [first, firstRoot]: [size: number, root: Uint8Array],
  [second, secondRoot]: [size: number, root: Uint8Array],
  path: Uint8Array[],
): boolean {
  const equal = (a: Uint8Array, b: Uint8Array) => a.toHex() === b.toHex();
  if (first === second) return path.length === 0 && equal(firstRoot, secondRoot);
  if (first === 0) return path.length === 0;
  const isPower = Number.isInteger(Math.log2(first));
  const [head, ...rest] = isPower ? [firstRoot, ...path] : path;
  if (!head || path.length === 0) return false;
  let [fn, sn] = [first - 1, second - 1];
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  let [fr, sr] = [head, head];
  for (const node of rest) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      fr = hashNode(node, fr);
      sr = hashNode(node, sr);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
    } else {
      sr = hashNode(sr, node);
    }
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && equal(fr, firstRoot) && equal(sr, secondRoot);
}
