import { createHash, hash } from 'node:crypto';

const NODE = Buffer.of(1);

/** The root of the empty tree (RFC 9162 section 2.1.1). */
export const EMPTY_ROOT = createHash('sha256').digest();

/** The leaf hash of a sequence without an entry: the hash of the input 0x00. */
export const EMPTY_LEAF_HASH = sha256(Buffer.of(0));

export function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer');
}

/** The hash of an inner node (RFC 9162 section 2.1.1). */
export function hashNode(left: Buffer, right: Buffer): Buffer {
  return sha256(Buffer.concat([NODE, left, right]));
}

/**
 * A Merkle tree that grows at its right end. Holds only its frontier: the hashes of its largest
 * complete subtrees, from left to right.
 */
export class TreeFrontier {
  size = 0;
  private readonly subtrees: { size: number; hash: Buffer }[] = [];

  /** Whether a complete subtree of this many leaves can be appended next. */
  canAppend(size: number): boolean {
    return size >= 1 && isPowerOfTwo(size) && this.size % size === 0;
  }

  /** @param size the leaves of the subtree, which {@link canAppend} accepts */
  append(size: number, subtree: Buffer): void {
    this.size += size;
    let [grown, hash] = [size, subtree];
    for (let left = this.subtrees.at(-1); left?.size === grown; left = this.subtrees.at(-1)) {
      this.subtrees.pop();
      grown *= 2;
      hash = hashNode(left.hash, hash);
    }
    this.subtrees.push({ size: grown, hash });
  }

  /** The root of the tree with the leaves so far (RFC 9162 section 2.1.1). */
  root(): Buffer {
    const hashes = this.subtrees.map(({ hash }) => hash);
    return hashes.length === 0
      ? EMPTY_ROOT
      : hashes.reduceRight((right, left) => hashNode(left, right));
  }

  copy(): TreeFrontier {
    const copy = new TreeFrontier();
    copy.size = this.size;
    copy.subtrees.push(...this.subtrees);
    return copy;
  }
}

/**
 * Verifies the inclusion proof of a leaf (RFC 9162 section 2.1.3.2).
 * @param index the index of the leaf, from 0
 */
export function verifyInclusion(
  index: number,
  size: number,
  leaf: Buffer,
  path: Buffer[],
  root: Buffer,
): boolean {
  if (index < 0 || index >= size) return false;
  let [fn, sn, r] = [index, size - 1, leaf];
  for (const p of path) {
    if (sn === 0) return false;
    if (isOdd(fn) || fn === sn) {
      r = hashNode(p, r);
      while (!isOdd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      r = hashNode(r, p);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && r.equals(root);
}

/** The number of leaves of a tree, and its root. */
export interface TreeHead {
  size: number;
  root: Buffer;
}

/**
 * Verifies the consistency proof between two trees: the second is an extension of the first (RFC
 * 9162 section 2.1.4.2).
 */
export function verifyConsistency(first: TreeHead, second: TreeHead, path: Buffer[]): boolean {
  if (first.size > second.size) return false;
  if (first.size === second.size) return path.length === 0 && first.root.equals(second.root);
  if (first.size === 0) return path.length === 0 && first.root.equals(EMPTY_ROOT);
  const [start, ...rest] = isPowerOfTwo(first.size) ? [first.root, ...path] : path;
  if (path.length === 0 || !start) return false;
  let [fn, sn] = [first.size - 1, second.size - 1];
  while (isOdd(fn)) [fn, sn] = [half(fn), half(sn)];
  let [fr, sr] = [start, start];
  for (const c of rest) {
    if (sn === 0) return false;
    if (isOdd(fn) || fn === sn) {
      [fr, sr] = [hashNode(c, fr), hashNode(c, sr)];
      while (!isOdd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      sr = hashNode(sr, c);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && fr.equals(first.root) && sr.equals(second.root);
}

// Sizes can exceed the 32 bits of bitwise operators.
function isOdd(number: number): boolean {
  return number % 2 === 1;
}

function half(number: number): number {
  return Math.floor(number / 2);
}

function isPowerOfTwo(number: number): boolean {
  let odd = number;
  while (odd > 1 && !isOdd(odd)) odd = half(odd);
  return odd === 1;
}
