import { concatBytes, isEqual, sha256, utf8 } from './bytes.ts';
import { canonicalJson, type JsonObject } from './json.ts';

/**
 * The bytes that are hashed to the leaf of an entry (RFC 9162 section 2.1.1): 0x00 and the
 * canonical JSON of the entry with its salt.
 * @param salt 32 hexadecimal characters
 * @throws TypeError if the entry has no canonical JSON
 */
export function leafInput(entry: JsonObject, salt: string): Uint8Array {
  return utf8(`\0${canonicalJson({ ...entry, salt })}`);
}

/** The hash of an inner node (RFC 9162 section 2.1.1). */
function hashNode(left: Uint8Array, right: Uint8Array): Promise<Uint8Array> {
  return sha256(concatBytes([1], left, right));
}

/**
 * The root to which the inclusion proof of a leaf leads (RFC 9162 section 2.1.3.2); null if the
 * tree has no such leaf, or the path has another length than it must.
 * @param index the index of the leaf, from 0
 */
export async function rootOfPath(
  index: number,
  size: number,
  leaf: Uint8Array,
  path: Uint8Array[],
): Promise<Uint8Array | null> {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return null;
  let [fn, sn, r] = [index, size - 1, leaf];
  for (const p of path) {
    if (sn === 0) return null;
    if (isOdd(fn) || fn === sn) {
      r = await hashNode(p, r);
      while (!isOdd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      r = await hashNode(r, p);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 ? r : null;
}

/** Verifies the inclusion proof of a leaf, as {@link rootOfPath}. */
export async function verifyInclusion(
  index: number,
  size: number,
  leaf: Uint8Array,
  path: Uint8Array[],
  root: Uint8Array,
): Promise<boolean> {
  const found = await rootOfPath(index, size, leaf, path);
  return found !== null && isEqual(found, root);
}

/** The number of leaves of a tree, and its root. */
export interface TreeHead {
  size: number;
  root: Uint8Array;
}

/**
 * Verifies the consistency proof between two trees: the second is an extension of the first (RFC
 * 9162 section 2.1.4.2).
 */
export async function verifyConsistency(
  first: TreeHead,
  second: TreeHead,
  path: Uint8Array[],
): Promise<boolean> {
  if (first.size > second.size) return false;
  if (first.size === second.size) return path.length === 0 && isEqual(first.root, second.root);
  if (first.size === 0)
    return path.length === 0 && isEqual(first.root, await sha256(new Uint8Array()));
  const [start, ...rest] = isPowerOfTwo(first.size) ? [first.root, ...path] : path;
  if (path.length === 0 || !start) return false;
  let [fn, sn] = [first.size - 1, second.size - 1];
  while (isOdd(fn)) [fn, sn] = [half(fn), half(sn)];
  let [fr, sr] = [start, start];
  for (const c of rest) {
    if (sn === 0) return false;
    if (isOdd(fn) || fn === sn) {
      [fr, sr] = [await hashNode(c, fr), await hashNode(c, sr)];
      while (!isOdd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      sr = await hashNode(sr, c);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && isEqual(fr, first.root) && isEqual(sr, second.root);
}

// Sizes can exceed the 32 bits of bitwise operators.
function isOdd(number: number): boolean {
  return number % 2 === 1;
}

function half(number: number): number {
  return Math.floor(number / 2);
}

export function isPowerOfTwo(number: number): boolean {
  let odd = number;
  while (odd > 1 && !isOdd(odd)) odd = half(odd);
  return odd === 1;
}
