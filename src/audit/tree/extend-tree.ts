import { eq } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { trees } from '../../db/schema';
import { saltOf } from '../../ledger/entry-id';
import { hashBytes } from '../../lib/merkle';
import type { ReadTile, Tile, TreeFrontier } from '../../lib/tiles';
import { logStart, presentEntry } from '../entry';
import type { SignedHead } from './checkpoint';
import { entryLeafInput, MISSING_LEAF_INPUT } from './leaf';
import { LogInconsistent, tileReader } from './storage';
import {
  findPublishedHead,
  type ReadingContext,
  readTrustedHead,
  requireConsistency,
} from './trust';
import { findUnsealedTrees, type UnsealedTree } from './unsealed-trees';

/** Maximum times that a tree is read: more than once only while other sealers extend it. */
const MAX_READINGS = 4;

/** A tree that was extended in memory. */
export interface ExtendedTree {
  /** The tree as it was read last, and its head before the extension. */
  tree: UnsealedTree;
  before: SignedHead;
  /** The newest head in R2; null if there is none. */
  published: SignedHead | null;
  /** The partial tiles after the extension. */
  frontier: TreeFrontier;
  /** The tiles that became full. */
  tiles: Tile[];
  /** Reads any tile after the extension. */
  read: ReadTile;
}

/**
 * Extends a tree in memory by unsealed entries, and checks that the result is consistent with the
 * newest head in R2. Reads the tree again if that head is of a longer tree: another sealer read the
 * log later, or sealed more of it.
 * @param chooseSize returns the size to extend it to, which is limited to the entries that were
 *   read
 * @throws LogInconsistent; Error if the tree is held or deleted meanwhile, or other sealers are
 *   faster each time
 */
export async function extendTree(
  context: ReadingContext,
  tree: UnsealedTree,
  now: number,
  chooseSize: (tree: UnsealedTree, published: SignedHead | null) => number,
  reading = 1,
): Promise<ExtendedTree> {
  const { accountId } = tree;
  const { head: before, frontier } = await readTrustedHead(context, accountId, tree, now);
  const published = await findPublishedHead(context, accountId, tree.publishedSize, now);
  const size = Math.max(before.size, Math.min(tree.reach, chooseSize(tree, published)));
  if (published && published.size > size) {
    if (reading === MAX_READINGS)
      throw new Error(`R2 has a head of ${published.size} leaves already`);
    return extendTree(
      context,
      await readAgain(context.reader, tree, published),
      now,
      chooseSize,
      reading + 1,
    );
  }
  const tiles = await frontier.append(await hashEntries(tree, size));
  const read = tileReader(context.bucket, accountId, frontier, tiles);
  if (published) await requireConsistency(published, read);
  return { tree, before, published, frontier, tiles, read };
}

/**
 * Reads a tree again after a head of a longer tree was found in R2. Entries are written before a
 * head that covers them: a log that is read after such a head, and is shorter, is not the log that
 * was signed.
 */
async function readAgain(
  reader: Reader,
  tree: UnsealedTree,
  published: SignedHead,
): Promise<UnsealedTree> {
  const [fresh] = await findUnsealedTrees(reader, eq(trees.account, tree.account));
  // The restoration of a log holds the tree while it moves heads away: see `restoration/hold.ts`.
  if (fresh?.heldUntil !== tree.heldUntil)
    throw new Error('the tree was held or deleted meanwhile');
  if (fresh.reach >= published.size) return fresh;
  throw new LogInconsistent(
    `a tree of ${fresh.reach} leaves is shorter than one that was signed: ${published.size}`,
  );
}

/** Returns the leaf hashes of the unsealed entries up to a sequence. */
function hashEntries(
  { account, accountId, size, entries }: UnsealedTree,
  last: number,
): Promise<Uint8Array[]> {
  const log = { number: account, id: accountId };
  const leaves = Array.from({ length: last - size }, (_, i) => {
    const row = entries.get(logStart(log) + size + 1 + i);
    if (!row) return hashBytes(MISSING_LEAF_INPUT);
    const { agentId } = row;
    if (!agentId) throw new Error(`the agent of the entry at ${row.pos} is unknown`);
    return hashBytes(entryLeafInput(presentEntry(log, { ...row, agentId }), saltOf(row)));
  });
  return Promise.all(leaves);
}
