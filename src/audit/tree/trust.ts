import type { Reader } from '../../db/database';
import { equalBytes } from '../../lib/bytes';
import { hashRanges, type ReadTile, TreeFrontier } from '../../lib/tiles';
import { formatTime, MINUTE } from '../../lib/time';
import { type Id, timeOfId } from '../../lib/typeid';
import { isSameTree, parseHead, type SignedHead, signHead } from './checkpoint';
import type { LogSigner } from './signer';
import { findNewestHead, headKey, LogInconsistent, readHead } from './storage';

// Threat model: an attacker can write to the database, but has neither the signing key nor R2. A
// row of `trees` is therefore never trusted: its head is read from the signed note, and must be
// consistent with the newest head in R2.
// - The stored head is the note in the row of `trees`, written each time that entries are sealed.
//   It is not trusted yet.
// - The trusted head is the stored head after `readTrustedHead`: note, row and log agree, and the
//   service signed the note.
// - The published head is the newest one in R2, written every hour and never replaced. The trusted
//   head has to be consistent with it.

/** The bucket with the published heads and the tiles, and the signer of heads. */
export interface TrustContext {
  bucket: R2Bucket;
  signer: LogSigner;
}

/** The services that reading a tree needs. */
export interface ReadingContext extends TrustContext {
  reader: Reader;
}

/** A tree as its row in the database describes it. */
interface StoredTree {
  size: number;
  root: Uint8Array | null;
  /** The partial tiles; null for a tree without a row. */
  frontier: Uint8Array | null;
  note: string | null;
  /** The sequence of the log's newest entry, even if it is erased. */
  end: number;
}

/** How far the clock of another Worker may be ahead, in milliseconds. */
export const CLOCK_SKEW = MINUTE;

/**
 * Returns the signed head and the frontier of a stored tree, after checking that its note, row and
 * log agree and that the service signed the head.
 * @param now milliseconds since the epoch
 * @throws LogInconsistent
 */
export async function readTrustedHead(
  context: TrustContext,
  account: Id<'user'>,
  tree: StoredTree,
  now: number,
): Promise<{ head: SignedHead; frontier: TreeFrontier }> {
  const { size, end } = tree;
  const frontier = parseFrontier(tree);
  const root = await frontier.root();
  const hasRoot = tree.root && equalBytes(tree.root, root);
  const isEmpty = !tree.root && size === 0;
  if (!hasRoot && !isEmpty)
    throw new LogInconsistent(`the frontier of ${size} leaves does not lead to the root`);
  const head = await findSignedHead(context, { account, size, root }, tree.note);
  requirePast(head, now);
  if (end < size) throw new LogInconsistent(`the log ends at ${end}, but was sealed up to ${size}`);
  return { head, frontier };
}

function parseFrontier({ size, frontier }: StoredTree): TreeFrontier {
  try {
    return TreeFrontier.parse(size, frontier ?? new Uint8Array());
  } catch (error) {
    throw new LogInconsistent('the frontier is not that of a tree of this size', { cause: error });
  }
}

/**
 * Returns the stored head if a known key signed its note. Otherwise returns the published head of
 * that size, or signs the head of an empty tree, which is always the same.
 * @throws LogInconsistent if the head was never signed
 */
async function findSignedHead(
  { bucket, signer }: TrustContext,
  tree: Pick<SignedHead, 'account' | 'size' | 'root'>,
  note: string | null,
): Promise<SignedHead> {
  const { account, size } = tree;
  if (note !== null) {
    const head = parseHead(account, note);
    if (!head || !isSameTree(head, tree))
      throw new LogInconsistent(`the note is not of the log with ${size} leaves`);
    if (await signer.hasSigned(note)) return head;
  }
  if (size === 0) return signHead(signer, { ...tree, sealedAt: timeOfId(account) });
  const published = await readHead(bucket, account, headKey(account, size));
  if (!published || !isSameTree(published, tree))
    throw new LogInconsistent(`the head of ${size} leaves was never signed`);
  return resignIfKeyRetired(signer, published);
}

/** Returns a published head, signed again by the newest key if its own key is no longer known. */
export async function resignIfKeyRetired(
  signer: LogSigner,
  published: SignedHead,
): Promise<SignedHead> {
  if (await signer.hasSigned(published.note)) return published;
  return signHead(signer, published);
}

function requirePast({ size, sealedAt }: SignedHead, now: number): void {
  if (sealedAt <= now + CLOCK_SKEW) return;
  throw new LogInconsistent(
    `the head of ${size} leaves was signed for a time in the future: ${formatTime(sealedAt)}`,
  );
}

/**
 * Returns the newest published head of a log; null if none was ever published.
 * @param publishedSize the size that it has at least, according to the database; 0 if none is known
 * @param now milliseconds since the epoch
 * @throws LogInconsistent if it is gone, or from the future
 */
export async function findPublishedHead(
  { bucket }: Pick<TrustContext, 'bucket'>,
  account: Id<'user'>,
  publishedSize: number,
  now: number,
): Promise<SignedHead | null> {
  const published = await findNewestHead(bucket, account, publishedSize);
  if (published) requirePast(published, now);
  if (published || publishedSize === 0) return published;
  throw new LogInconsistent(`the published head of ${publishedSize} leaves is gone`);
}

/**
 * Checks that a tree begins with the tree of a published head, which must not be larger.
 * @param read reads the tiles of the larger tree
 * @throws LogInconsistent
 */
export async function requireConsistency(published: SignedHead, read: ReadTile): Promise<void> {
  const [root] = await hashRanges([{ start: 0, end: published.size }], read);
  if (isSameTree(published, { size: published.size, root: root as Uint8Array })) return;
  throw new LogInconsistent(`the log up to ${published.size} is not the one that was signed`);
}

/**
 * Returns the last head that the service is known to have signed for an inconsistent log: the
 * stored one, if it is larger than the newest published one and a known key signed it, else the
 * published one; null if there is neither.
 */
export async function findLastSigned(
  { bucket, signer }: TrustContext,
  account: Id<'user'>,
  note: string | null,
): Promise<SignedHead | null> {
  const published = await findNewestHead(bucket, account, 0);
  const stored = parseHead(account, note ?? '');
  if (stored && (published?.size ?? -1) < stored.size && (await signer.hasSigned(stored.note)))
    return stored;
  return published && resignIfKeyRetired(signer, published);
}
