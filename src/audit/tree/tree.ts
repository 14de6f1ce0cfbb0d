import { eq } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { accounts, trees } from '../../db/schema';
import type { Context, UserPrincipal } from '../../http/context';
import { hashBytes } from '../../lib/merkle';
import { type ReadTile, TreeEdge } from '../../lib/tiles';
import type { Id } from '../../lib/typeid';
import { type Checkpoint, CheckpointSigner, type Head } from './checkpoint';
import { type SealingContext, sealLog } from './sealing';
import { tileReader } from './storage';

/** The columns of a {@link TreeRow}. */
const treeColumns = {
  size: trees.size,
  root: trees.root,
  sealedAt: trees.sealedAt,
  edge: trees.edge,
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
}

/** Makes a tree of its row; one of which nothing was ever sealed is empty since the account was made. */
export async function openTree(bucket: R2Bucket, account: Id<'user'>, row: TreeRow | undefined): Promise<Tree> {
  const size = row?.size ?? 0;
  const root = row?.root ?? (await hashBytes(new Uint8Array()));
  const sealedAt = row?.sealedAt ?? row?.createdAt ?? 0;
  const edge = row?.edge ?? new Uint8Array();
  const read = tileReader(bucket, account, TreeEdge.parse(size, edge));
  return { head: { account, size, root, sealedAt }, edge, read };
}

/** Seals an account's log as far as it goes, and gives its tree. */
export async function sealedTree(sealing: SealingContext, number: number, id: Id<'user'>, now: number): Promise<Tree> {
  await sealLog(sealing, number, now);
  const [[row]] = await sealing.reader.load([selectTree(sealing.reader, number)]);
  return openTree(sealing.bucket, id, row);
}

/** The signed head of a tree. */
export async function signHead({ config }: Context<UserPrincipal>, head: Head): Promise<Checkpoint> {
  return (await CheckpointSigner.open(config.keyring, config.publicUrl)).sign(head);
}
