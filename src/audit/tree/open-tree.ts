import { eq, type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { accounts, trees } from '../../db/schema';
import type { AccountRef } from '../../http/context';
import { type ReadTile, readOnce } from '../../lib/tiles';
import type { SignedHead } from './checkpoint';
import { extendTree } from './extend-tree';
import { requireTreeNotHeld } from './restoration/hold';
import { type SealingContext, sealAccount } from './seal';
import { LogInconsistent, tileReader } from './storage';
import {
  findPublishedHead,
  type ReadingContext,
  readTrustedHead,
  requireConsistency,
  resignIfKeyRetired,
} from './trust';
import { findUnsealedTrees, lastSequence } from './unsealed-trees';

/** The columns of a tree that is left-joined to its account. A tree without a row is empty. */
export const treeColumns = {
  size: sql<number>`coalesce(${trees.size}, 0)`,
  root: trees.root,
  frontier: trees.frontier,
  note: trees.note,
  publishedSize: sql<number>`coalesce(${trees.publishedSize}, 0)`,
  heldUntil: sql<number>`coalesce(${trees.heldUntil}, 0)`,
  isWitnessed: accounts.isWitnessed,
  cosignedSize: sql<number>`coalesce(${trees.cosignedSize}, 0)`,
  end: lastSequence(accounts.number),
};

/** Selects an account's tree as one row; no row if the account is deleted. */
export function selectTree(reader: Reader, account: number | SQL<number>) {
  return reader
    .select(treeColumns)
    .from(accounts)
    .leftJoin(trees, eq(trees.account, accounts.number))
    .where(eq(accounts.number, account));
}

export type TreeRow = Awaited<ReturnType<typeof selectTree>>[number];

/** The Merkle tree over the sealed entries of an account's log. */
export interface Tree {
  head: SignedHead;
  /** The partial tiles, as `TreeFrontier.bytes` returns them. */
  frontier: Uint8Array;
  read: ReadTile;
}

/**
 * Opens an account's tree for reading, after checking it against its signed note and the newest
 * head in R2.
 * @param row the row of {@link selectTree}
 * @param now milliseconds since the epoch
 * @throws LogInconsistent; Error if the account is deleted, or the tree cannot be read this time
 */
export async function openTree(
  context: ReadingContext,
  { number, id }: Pick<AccountRef, 'number' | 'id'>,
  row: TreeRow | undefined,
  now: number,
): Promise<Tree> {
  if (!row) throw new Error('the account is gone');
  const { head, frontier } = await readTrustedHead(context, id, row, now);
  const published = await findPublishedHead(context, id, row.publishedSize, now);
  if (published && published.size > head.size) return openPublishedTree(context, number, now);
  const read = readOnce(tileReader(context.bucket, id, frontier));
  if (published) await requireConsistency(published, read);
  return { head, frontier: frontier.bytes(), read };
}

/**
 * Opens a tree whose newest head is in R2 but not yet in the database: its sealer is still running,
 * or crashed. Hashes the entries in between, and takes a few more round trips to the database.
 * @throws as {@link extendTree}
 */
async function openPublishedTree(
  context: ReadingContext,
  account: number,
  now: number,
): Promise<Tree> {
  const [tree] = await findUnsealedTrees(context.reader, eq(trees.account, account));
  if (!tree) throw new LogInconsistent('the row of the tree is gone');
  const extended = await extendTree(context, tree, now, (_, published) => published?.size ?? 0);
  const { before, published, frontier, read } = extended;
  const isNewer = published && published.size > before.size;
  const head = isNewer ? await resignIfKeyRetired(context.signer, published) : before;
  return { head, frontier: frontier.bytes(), read };
}

/** Maximum slices that one call seals: the file job that waits for it has to renew its lease. */
const MAX_SLICES = 8;

/**
 * Seals an account's log, at least up to one entry, and opens its tree.
 * @param snapshot the sequence of that entry; the tree may contain later ones
 * @returns `later` if more is to be sealed than one call does; `inconsistent` if the log
 *   contradicts its signed heads
 * @throws Error if it cannot be sealed this time, as while a restoration holds the tree
 */
export async function openSealedTree(
  sealing: SealingContext,
  { number, id }: Pick<AccountRef, 'number' | 'id'>,
  snapshot: number,
  now: () => number,
): Promise<Tree | 'later' | 'inconsistent'> {
  const { reader } = sealing;
  try {
    for (let slice = 1; slice <= MAX_SLICES; slice++) {
      if (await sealAccount(sealing, number, now())) continue;
      const [[row]] = await reader.load([selectTree(reader, number)]);
      // A restoration that began meanwhile discards what was sealed: it moves those objects away.
      if (row) requireTreeNotHeld(row, now());
      const tree = await openTree(sealing, { number, id }, row, now());
      if (tree.head.size >= snapshot) return tree;
      // Inconsistent: the tree has no row, or the log ends before the snapshot. Otherwise another
      // sealer sealed less.
      if (!row?.frontier || row.end < snapshot) return 'inconsistent';
    }
    return 'later';
  } catch (error) {
    if (error instanceof LogInconsistent) return 'inconsistent';
    throw error;
  }
}
