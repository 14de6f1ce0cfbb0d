import { createHash, hash } from 'node:crypto';
import { isPowerOfTwo } from './core/merkle.ts';

// An export has millions of leaves, so these hashes are Node's, which need no promise.

const NODE = Buffer.of(1);

/** The root of the empty tree (RFC 9162 section 2.1.1). */
const EMPTY_ROOT = createHash('sha256').digest();

/** The leaf hash of a sequence without an entry: the hash of the input 0x00. */
export const EMPTY_LEAF_HASH = sha256(Buffer.of(0));

export function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer');
}

/** The hash of an inner node (RFC 9162 section 2.1.1). */
function hashNode(left: Buffer, right: Buffer): Buffer {
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
