import { concatBytes } from './bytes';

// Merkle trees as in RFC 9162 section 2.1, with SHA-256. Leaves are counted from 0; a node covers a
// range of them. A node is complete if it covers 2^level leaves from a multiple of 2^level on. It
// never changes when the tree grows.

/** A SHA-256 hash: 32 bytes. */
export type Hash = Uint8Array;

/** The leaves from `start` (included) to `end` (excluded). */
export interface LeafRange {
  start: number;
  end: number;
}

/** Returns the hash of the complete node that covers 2^level leaves from `index` × 2^level on. */
type CompleteNodes = (level: number, index: number) => Promise<Hash>;

export const HASH_LENGTH = 32;
const LEAF_PREFIX = new Uint8Array([0]);
const NODE_PREFIX = new Uint8Array([1]);

/** The input of a leaf hash: a zero byte and the bytes of the leaf (section 2.1.1). */
export function leafInput(bytes: Uint8Array): Uint8Array {
  return concatBytes(LEAF_PREFIX, bytes);
}

export async function hashBytes(bytes: Uint8Array): Promise<Hash> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}

/** The hash of a node with two children (section 2.1.1). */
function hashChildren(left: Hash, right: Hash): Promise<Hash> {
  return hashBytes(concatBytes(NODE_PREFIX, left, right));
}

/**
 * The hash of the complete node above 2^n neighbouring complete nodes of one level, given by their
 * hashes.
 */
export async function hashComplete(hashes: readonly Hash[]): Promise<Hash> {
  let level = hashes;
  while (level.length > 1) {
    const pairs = Array.from(
      { length: level.length / 2 },
      (_, i) => [level[2 * i], level[2 * i + 1]] as [Hash, Hash],
    );
    level = await Promise.all(pairs.map(([left, right]) => hashChildren(left, right)));
  }
  return level[0] as Hash;
}

/**
 * The hash of the tree over a range of leaves (section 2.1.1). The range must start at a multiple
 * of the smallest power of two that is at least its length.
 */
export async function hashRange(range: LeafRange, nodes: CompleteNodes): Promise<Hash> {
  // The smallest nodes come last, and are joined first.
  const hashes = await Promise.all(
    completeNodes(range).map(([level, index]) => nodes(level, index)),
  );
  let root = hashes.pop();
  for (const hash of hashes.reverse()) root = await hashChildren(hash, root as Hash);
  return root ?? hashBytes(new Uint8Array());
}

/**
 * The complete nodes that {@link hashRange} needs, from left to right, as level and index within
 * the level.
 */
function completeNodes({ start, end }: LeafRange): [level: number, index: number][] {
  const nodes: [number, number][] = [];
  for (let at = start; at < end; ) {
    const level = Math.floor(Math.log2(end - at));
    nodes.push([level, at / 2 ** level]);
    at += 2 ** level;
  }
  return nodes;
}

/** Divides any range of leaves into those of the fewest complete nodes, from left to right. */
export function coverLeaves({ start, end }: LeafRange): LeafRange[] {
  const spans: LeafRange[] = [];
  for (let at = start; at < end; ) {
    let count = 1;
    while (at % (2 * count) === 0 && at + 2 * count <= end) count *= 2;
    spans.push({ start: at, end: at + count });
    at += count;
  }
  return spans;
}

/**
 * The nodes of the inclusion proof of a leaf in a tree of `size` leaves, from the leaf upwards
 * (section 2.1.3.1).
 */
export function inclusionPath(leaf: number, size: number): LeafRange[] {
  return descend(leaf, size, ({ start, end }) => end - start <= 1).siblings;
}

/**
 * The root that follows from the inclusion proof of a leaf (section 2.1.3.2).
 * @param hash the hash of the leaf
 * @param path the result of {@link inclusionPath}
 * @param hashes the hashes of these nodes
 */
export async function rootOfInclusion(
  leaf: number,
  hash: Hash,
  path: readonly LeafRange[],
  hashes: readonly Hash[],
): Promise<Hash> {
  let root = hash;
  for (const [i, { start }] of path.entries()) {
    const sibling = hashes[i] as Hash;
    root = await (start > leaf ? hashChildren(root, sibling) : hashChildren(sibling, root));
  }
  return root;
}

/**
 * The nodes of the consistency proof between two sizes of a tree, from the leaves upwards (section
 * 2.1.4.1); none if `from` is 0 or equals `to`.
 */
export function consistencyPath(from: number, to: number): LeafRange[] {
  if (from === 0 || from === to) return [];
  const { node, siblings } = descend(from - 1, to, ({ end }) => end === from);
  // The verifier knows the root of the older tree, so the proof omits the node that equals it.
  return node.start > 0 ? [node, ...siblings] : siblings;
}

/**
 * Goes from the root towards a leaf, down to the first node that is wanted. The siblings are listed
 * upwards.
 */
function descend(leaf: number, size: number, isWanted: (node: LeafRange) => boolean) {
  const siblings: LeafRange[] = [];
  let node: LeafRange = { start: 0, end: size };
  while (!isWanted(node)) {
    const middle = node.start + splitPoint(node.end - node.start);
    const left = { start: node.start, end: middle };
    const right = { start: middle, end: node.end };
    siblings.unshift(leaf < middle ? right : left);
    node = leaf < middle ? left : right;
  }
  return { node, siblings };
}

/** The largest power of two below a count of at least two. */
function splitPoint(count: number): number {
  return 2 ** Math.floor(Math.log2(count - 1));
}
