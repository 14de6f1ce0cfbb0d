import { and, eq, isNotNull, lte } from 'drizzle-orm';
import { trees } from '../../db/schema';
import type { Ledger } from '../../ledger/ledger';
import { logFailure } from '../../lib/log';
import { HOUR, MINUTE } from '../../lib/time';
import { type SignedHead, signHead } from './checkpoint';
import { type ExtendedTree, extendTree } from './extend-tree';
import { isTreeNotHeld, requireTreeNotHeld } from './restoration/hold';
import { LogInconsistent, putHead, putTile } from './storage';
import {
  postponeTrees,
  recordTreeGrowth,
  type TreeGrowth,
  type TreePostponement,
} from './tree-records';
import { type ReadingContext, resignIfKeyRetired } from './trust';
import { findUnsealedTrees, TREE_LIMIT, type UnsealedTree } from './unsealed-trees';

/** Milliseconds until the next try, after a tree could not be sealed. */
const RETRY_DELAY = MINUTE;
/** Milliseconds until the next try, after a log was found inconsistent. */
const INCONSISTENT_RETRY_DELAY = HOUR;
/** Milliseconds from the time of a published head to the publication of the next one. */
const PUBLICATION_INTERVAL = HOUR;

/** The services that sealing a tree needs. */
export interface SealingContext extends ReadingContext {
  ledger: Ledger;
}

/**
 * Seals unsealed entries of the logs that are due: hashes them into the Merkle tree, stores the
 * tiles that become full in R2, signs the heads, and publishes a head in R2 every hour. At most 64
 * logs and 16,384 entries at a time.
 *
 * Sealers may run at the same time and crash at any point. The tiles that they store depend only on
 * the log, a published head is never replaced, and the tree's row changes last.
 * @returns whether there may be more to seal
 */
export async function sealTrees(context: SealingContext, now: number): Promise<boolean> {
  const isDue = and(isNotNull(trees.dueAt), lte(trees.dueAt, now), isTreeNotHeld(now));
  const due = await findUnsealedTrees(context.reader, isDue);
  const growths: TreeGrowth[] = [];
  const postponements: TreePostponement[] = [];
  await Promise.all(
    due.map(async (tree) => {
      try {
        growths.push(await sealTree(context, tree, now));
      } catch (error) {
        postponements.push(postpone(tree, error, now));
      }
    }),
  );
  if (growths.length > 0) await recordTreeGrowth(context.ledger, growths, now);
  if (postponements.length > 0) await postponeTrees(context.ledger, postponements);
  return due.length === TREE_LIMIT || due.some(({ reach, end }) => reach < end);
}

/**
 * Seals unsealed entries of one account's log, 2,048 at most.
 * @returns whether there is more to seal
 * @throws LogInconsistent; Error if it cannot be sealed this time, as while a restoration holds the
 *   tree
 */
export async function sealAccount(
  context: SealingContext,
  account: number,
  now: number,
): Promise<boolean> {
  const [tree] = await findUnsealedTrees(context.reader, eq(trees.account, account));
  if (!tree || tree.end === tree.size) return false;
  requireTreeNotHeld(tree, now);
  try {
    const growth = await sealTree(context, tree, now);
    await recordTreeGrowth(context.ledger, [growth], now);
    return growth.head.size < tree.end;
  } catch (error) {
    if (error instanceof LogInconsistent)
      await postponeTrees(context.ledger, [postpone(tree, error, now)]);
    throw error;
  }
}

/**
 * Seals the entries that were read of one log, except for the tree's row, which the caller updates.
 * @throws LogInconsistent; Error if it cannot be sealed this time
 */
async function sealTree(
  context: SealingContext,
  unsealed: UnsealedTree,
  now: number,
): Promise<TreeGrowth> {
  const extended = await extendTree(context, unsealed, now, ({ reach }) => reach);
  const { tree: from, frontier, tiles } = extended;
  await Promise.all(tiles.map((tile) => putTile(context.bucket, from.accountId, tile)));
  const { head, publishAt } = await publishHead(context, extended, now);
  return { from, head, frontier: frontier.bytes(), publishAt };
}

/**
 * Signs the head of a tree, unless it is signed already, and puts it into R2 if the newest head
 * there is an hour old, or none is there. That head's time is read from R2: an attacker who can
 * write to the database must not decide which heads are published.
 * @returns the head, and when to publish it: null if it is in R2, or the log is empty
 */
async function publishHead(
  { bucket, signer }: SealingContext,
  { tree, before, published, frontier }: ExtendedTree,
  now: number,
): Promise<{ head: SignedHead; publishAt: number | null }> {
  const { size } = frontier;
  if (published?.size === size)
    return { head: await resignIfKeyRetired(signer, published), publishAt: null };
  let head = before;
  if (size !== before.size) {
    const sealedAt = Math.max(now, before.sealedAt, published?.sealedAt ?? now);
    const root = await frontier.root();
    head = await signHead(signer, { account: tree.accountId, size, root, sealedAt });
  }
  if (size === 0) return { head, publishAt: null };
  const publishAt = (published?.sealedAt ?? 0) + PUBLICATION_INTERVAL;
  if (now < publishAt) return { head, publishAt };
  return { head: await putHead(bucket, head), publishAt: null };
}

/** Logs why a tree could not be sealed, and returns when to try again. */
function postpone(from: UnsealedTree, error: unknown, now: number): TreePostponement {
  const { accountId: account } = from;
  if (error instanceof LogInconsistent) {
    logFailure('tree_refused', error, { account });
    return { from, until: now + INCONSISTENT_RETRY_DELAY };
  }
  logFailure('tree_not_sealed', error, { account });
  return { from, until: now + RETRY_DELAY };
}
