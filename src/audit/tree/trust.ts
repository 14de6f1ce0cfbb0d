import { equalBytes } from '../../lib/bytes';
import { hashRanges, type ReadTile, TreeFrontier } from '../../lib/tiles';
import { formatTime, MINUTE } from '../../lib/time';
import { type Id, timeOfId } from '../../lib/typeid';
import { isSameTree, parseHead, type SignedHead, signHead } from './checkpoint';
import type { LogSigner } from './signer';
import { checkpointKey, findCheckpoint, LogRefused, readCheckpoint } from './storage';

// Threat model: an attacker can write to the database, but has neither the signing key nor R2. A row of `trees` is therefore
// never trusted: its head is read from the signed note, and must be consistent with the newest head in R2.

/** Where signed heads are kept, and what signs them. */
export interface TrustContext {
  bucket: R2Bucket;
  signer: LogSigner;
}

/** What the database has of a tree. */
export interface StoredTree {
  size: number;
  root: Uint8Array | null;
  edge: Uint8Array | null;
  note: string | null;
  /** The size of the newest head that R2 should keep; 0 where there is none. */
  publishedSize: number;
  /** The last sequence of the log. */
  end: number;
}

/** How far a time that another Worker wrote may be ahead of the clock, in milliseconds. */
export const CLOCK_SKEW = MINUTE;

/**
 * Returns the signed head of a stored tree, after checking that note, row and log agree.
 * @param now milliseconds since the epoch
 * @throws LogRefused
 */
export async function readTrustedHead(
  context: TrustContext,
  account: Id<'user'>,
  tree: StoredTree,
  now: number,
): Promise<{ head: SignedHead; edge: TreeFrontier }> {
  const { size, end } = tree;
  const edge = parseEdge(tree);
  const root = await edge.root();
  if (tree.root ? !equalBytes(tree.root, root) : size > 0) {
    throw new LogRefused(`the edge of ${size} leaves is not that of the root`);
  }
  const head = await findSigned(context, { account, size, root }, tree.note);
  refuseFuture(head, now);
  if (end < size) throw new LogRefused(`the log ends at ${end}, and was sealed up to ${size}`);
  return { head, edge };
}

function parseEdge({ size, edge }: StoredTree): TreeFrontier {
  try {
    return TreeFrontier.parse(size, edge ?? new Uint8Array());
  } catch (error) {
    throw new LogRefused('the edge is not that of a tree of this size', { cause: error });
  }
}

/**
 * Returns the stored note if a known key signed it. Otherwise the head is signed again, but only if R2 has it or the log is
 * empty: the head of an empty log is always the same.
 * @throws LogRefused
 */
async function findSigned(
  { bucket, signer }: TrustContext,
  tree: Pick<SignedHead, 'account' | 'size' | 'root'>,
  note: string | null,
): Promise<SignedHead> {
  const { account, size } = tree;
  if (note !== null) {
    const head = parseHead(account, note);
    if (!head || !isSameTree(head, tree)) throw new LogRefused(`the note is not of the log with ${size} leaves`);
    if (await signer.hasSigned(note)) return head;
  }
  if (size === 0) return signHead(signer, { ...tree, sealedAt: timeOfId(account) });
  const kept = await readCheckpoint(bucket, account, checkpointKey(account, size));
  if (!kept || !isSameTree(kept, tree)) throw new LogRefused(`nobody signed the head of ${size} leaves`);
  return resignIfKeyRetired(signer, kept);
}

/** A head that R2 keeps, signed by the newest key where its own is known no longer. */
export async function resignIfKeyRetired(signer: LogSigner, kept: SignedHead): Promise<SignedHead> {
  return (await signer.hasSigned(kept.note)) ? kept : signHead(signer, kept);
}

function refuseFuture({ size, sealedAt }: SignedHead, now: number): void {
  if (sealedAt <= now + CLOCK_SKEW) return;
  throw new LogRefused(`the head of ${size} leaves was signed for a time that has not come: ${formatTime(sealedAt)}`);
}

/**
 * Returns the newest head of a log in R2; null if none was ever put there.
 * @param now milliseconds since the epoch
 * @throws LogRefused
 */
export async function findPublishedHead(
  { bucket }: Pick<TrustContext, 'bucket'>,
  account: Id<'user'>,
  publishedSize: number,
  now: number,
): Promise<SignedHead | null> {
  const kept = await findCheckpoint(bucket, account, publishedSize);
  if (kept) refuseFuture(kept, now);
  if (kept || publishedSize === 0) return kept;
  throw new LogRefused(`the head of ${publishedSize} leaves that was kept is gone`);
}

/**
 * Makes sure that a tree goes on from a head that R2 keeps, which is not larger than the tree.
 * @throws LogRefused
 */
export async function requireConsistency(kept: SignedHead, read: ReadTile): Promise<void> {
  const [root] = await hashRanges([{ start: 0, end: kept.size }], read);
  if (isSameTree(kept, { size: kept.size, root: root as Uint8Array })) return;
  throw new LogRefused(`the log up to ${kept.size} is another than the one that was signed`);
}

/** The last head that was signed of a log that is refused, as far as that is known; null where none is known. */
export async function findLastSigned(
  { bucket, signer }: TrustContext,
  account: Id<'user'>,
  note: string | null,
): Promise<SignedHead | null> {
  const kept = await findCheckpoint(bucket, account, 0);
  const stored = note === null ? null : parseHead(account, note);
  if (stored && (kept?.size ?? -1) < stored.size && (await signer.hasSigned(stored.note))) return stored;
  return kept && resignIfKeyRetired(signer, kept);
}
