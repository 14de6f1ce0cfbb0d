import { eq } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { accounts, trees } from '../../db/schema';
import { unavailable } from '../../errors';
import type { Context, UserPrincipal } from '../../http/context';
import { logFailure } from '../../lib/log';
import { hashBytes } from '../../lib/merkle';
import { type ReadTile, TreeEdge } from '../../lib/tiles';
import type { Id } from '../../lib/typeid';
import { type Checkpoint, type Head, signCheckpoint } from './checkpoint';
import { refuseHeld, type SealingContext, sealSlice } from './sealing';
import { LogSigner } from './signer';
import { isVouchedFor, tileReader } from './storage';

/** The columns of a {@link TreeRow}. */
const treeColumns = {
  size: trees.size,
  root: trees.root,
  sealedAt: trees.sealedAt,
  edge: trees.edge,
  note: trees.note,
  heldUntil: trees.heldUntil,
  createdAt: accounts.createdAt,
};

/** Finds the tree of an account, as far as it is sealed. */
export function selectTree(reader: Reader, account: number) {
  return reader
    .select(treeColumns)
    .from(accounts)
    .leftJoin(trees, eq(trees.account, accounts.number))
    .where(eq(accounts.number, account));
}

export type TreeRow = Awaited<ReturnType<typeof selectTree>>[number];

/** An account's tree as it was read. */
export interface Tree {
  head: Head;
  /** The tiles that are not full, as {@link TreeEdge} reads them. */
  edge: Uint8Array;
  read: ReadTile;
  /** The head as it was signed when it was sealed. */
  note: string | null;
}

/** Makes a tree of its row; one of which nothing was ever sealed is empty since the account was made. */
export async function openTree(bucket: R2Bucket, account: Id<'user'>, row: TreeRow | undefined): Promise<Tree> {
  const size = row?.size ?? 0;
  const root = row?.root ?? (await hashBytes(new Uint8Array()));
  const sealedAt = row?.sealedAt ?? row?.createdAt ?? 0;
  const edge = row?.edge ?? new Uint8Array();
  const read = tileReader(bucket, account, TreeEdge.parse(size, edge));
  return { head: { account, size, root, sealedAt }, edge, read, note: row?.note ?? null };
}

/** How far sealing goes at a time, in slices: what makes files has a lease on its work. */
const SLICES = 8;

/**
 * Seals an account's log, some slices of it, and gives its tree.
 * @returns null where there is more to seal; a tree that does not go as far as the log is one that must not be sealed
 * @throws Error where it could not be sealed this time
 */
export async function sealedTree(
  sealing: SealingContext,
  number: number,
  id: Id<'user'>,
  now: () => number,
): Promise<Tree | null> {
  for (let slice = 1; await sealSlice(sealing, number, now()); slice++) if (slice === SLICES) return null;
  const [[row]] = await sealing.reader.load([selectTree(sealing.reader, number)]);
  // Whoever began to hold it meanwhile has undone what was sealed.
  refuseHeld(row?.heldUntil ?? 0, now());
  return openTree(sealing.bucket, id, row);
}

/**
 * The signed head of a tree, by the newest key.
 * @returns null for one that nobody vouches for: what stands in the database is signed by sealing alone
 */
export async function signHead(
  signed: { bucket: R2Bucket; signer: LogSigner },
  { head, note }: Tree,
): Promise<Checkpoint | null> {
  const checkpoint = await signCheckpoint(signed.signer, head);
  if (head.size === 0 || note === checkpoint.note) return checkpoint;
  return (await isVouchedFor(signed, head, note)) ? checkpoint : null;
}

/**
 * The signed head of a tree, for a request.
 * @throws Problem `unavailable`
 */
export async function presentHead({ config }: Context<UserPrincipal>, tree: Tree): Promise<Checkpoint> {
  const { keyring, publicUrl, files: bucket } = config;
  const checkpoint = await signHead({ bucket, signer: await LogSigner.open(keyring, publicUrl) }, tree);
  if (checkpoint) return checkpoint;
  logFailure('tree_refused', 'the head in the database is not one that was signed', { account: tree.head.account });
  throw unavailable();
}
