import { eq, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { accounts, trees } from '../../db/schema';
import { Problem, unavailable } from '../../errors';
import type { AccountRef, Context } from '../../http/context';
import { LOG_SPAN } from '../../ledger/append';
import { logFailure } from '../../lib/log';
import type { ReadTile } from '../../lib/tiles';
import { newestPosition } from '../../outbox/feed';
import type { SignedHead } from './checkpoint';
import { refuseHeld } from './hold';
import { openPublishedTree, type SealingContext, sealSlice } from './seal';
import { LogSigner } from './signer';
import { LogRefused, tileReader } from './storage';
import { findLastSigned, findPublishedHead, readTrustedHead, requireConsistency, type TrustContext } from './trust';

/** The columns of a tree that is joined to its account; without a row of its own it is empty. */
export const treeColumns = {
  size: sql<number>`coalesce(${trees.size}, 0)`,
  root: trees.root,
  edge: trees.edge,
  note: trees.note,
  publishedSize: sql<number>`coalesce(${trees.publishedSize}, 0)`,
  heldUntil: sql<number>`coalesce(${trees.heldUntil}, 0)`,
  end: sql<number>`${newestPosition(accounts.number)} - ${accounts.number} * ${sql.raw(String(LOG_SPAN))}`,
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

/** An account's tree whose head this service signed. */
export interface Tree {
  head: SignedHead;
  /** The tiles that are not full, as {@link TreeEdge} reads them. */
  edge: Uint8Array;
  read: ReadTile;
}

/**
 * Opens an account's tree for reading, after checking it against its signed note and the newest head in R2.
 * @param now milliseconds since the epoch
 * @throws LogRefused where the database contradicts what was signed
 */
export async function openTree(
  context: TrustContext & { reader: Reader },
  { number, id }: Pick<AccountRef, 'number' | 'id'>,
  row: TreeRow | undefined,
  now: number,
): Promise<Tree> {
  if (!row) throw new Error('the account is gone');
  const { head, edge } = await readTrustedHead(context, id, row, now);
  const kept = await findPublishedHead(context, id, row.publishedSize, now);
  if (kept && kept.size > head.size) return openPublishedTree(context, number, now);
  const read = readOnce(tileReader(context.bucket, id, edge));
  if (kept) await requireConsistency(kept, read);
  return { head, edge: edge.bytes(), read };
}

/** Reads each tile once. */
function readOnce(read: ReadTile): ReadTile {
  const tiles = new Map<string, Promise<Uint8Array>>();
  return (key) => {
    const name = `${key.level}/${key.index}`;
    const tile = tiles.get(name) ?? read(key);
    tiles.set(name, tile);
    return tile;
  };
}

/** How far sealing goes at a time, in slices: what makes files has a lease on its work. */
const SLICES = 8;

/**
 * Seals an account's log as it was at a snapshot, and opens its tree.
 * @param snapshot the last sequence that the tree has to hold; it holds more where the log went on
 * @returns `later` where there is more to seal than goes at a time; `refused` where the log contradicts what was signed of it
 * @throws Error where it could not be sealed this time
 */
export async function sealedTree(
  sealing: SealingContext,
  account: Pick<AccountRef, 'number' | 'id'>,
  snapshot: number,
  now: () => number,
): Promise<Tree | 'later' | 'refused'> {
  try {
    for (let slice = 1; slice <= SLICES; slice++) {
      if (await sealSlice(sealing, account.number, now())) continue;
      const [[row]] = await sealing.reader.load([selectTree(sealing.reader, account.number)]);
      // A hold that began meanwhile has undone what was sealed.
      refuseHeld(row?.heldUntil ?? 0, now());
      const tree = await openTree(sealing, account, row, now());
      if (tree.head.size >= snapshot) return tree;
      // Without a row nothing is sealed. With one, another sealer was first, and sealed less.
      if (!row?.edge || row.end < snapshot) return 'refused';
    }
    return 'later';
  } catch (error) {
    if (error instanceof LogRefused) return 'refused';
    throw error;
  }
}

/** What it takes to answer a request with something of a tree. */
type TreeContext = Pick<Context, 'principal' | 'config' | 'reader' | 'runtime'>;

/**
 * Answers a request with something of the account's tree.
 * @throws Problem `log_refused` where the database contradicts what was signed; `unavailable` where R2 does not answer
 */
export async function answerFromTree<T>(
  context: TreeContext,
  row: TreeRow | undefined,
  answer: (tree: Tree) => Promise<T>,
): Promise<T> {
  return withProblems(context, async (trust) => answer(await openRequested(context, trust, row)));
}

/**
 * The newest head of the account's log; of a log that is refused, the last one that was signed.
 * @throws Problem `log_refused` where none is known; `unavailable` where R2 does not answer
 */
export async function getHead(context: TreeContext, row: TreeRow | undefined): Promise<SignedHead> {
  return withProblems(context, async (trust) => {
    try {
      return (await openRequested(context, trust, row)).head;
    } catch (error) {
      if (!(error instanceof LogRefused)) throw error;
      const { account } = context.principal;
      const last = await findLastSigned(trust, account.id, row?.note ?? null);
      if (!last) throw error;
      logFailure('tree_refused', error, { account: account.id });
      return last;
    }
  });
}

function openRequested(
  { principal, reader, runtime }: TreeContext,
  trust: TrustContext,
  row: TreeRow | undefined,
): Promise<Tree> {
  return openTree({ ...trust, reader }, principal.account, row, runtime.now());
}

/** Tells the log why nothing of a tree can be answered, and the client what to do. */
async function withProblems<T>(
  { principal, config }: TreeContext,
  answer: (trust: TrustContext) => Promise<T>,
): Promise<T> {
  const signer = await LogSigner.open(config.keyring, config.publicUrl);
  try {
    return await answer({ bucket: config.files, signer });
  } catch (error) {
    if (error instanceof Problem) throw error;
    const isRefused = error instanceof LogRefused;
    logFailure(isRefused ? 'tree_refused' : 'tree_not_read', error, { account: principal.account.id });
    if (!isRefused) throw unavailable();
    throw new Problem(
      'log_refused',
      'The database is inconsistent with what was signed of this log. Compare your saved checkpoints with the last signed ' +
        'one, `GET /v1/audit/checkpoint`, and contact the operator.',
    );
  }
}
