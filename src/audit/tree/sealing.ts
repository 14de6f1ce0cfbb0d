import { and, asc, eq, getTableColumns, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { accounts, agents, auditEntries, erasures, trees } from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';
import { logHead } from '../../ledger/feed';
import { type Postponement, PUBLICATION_PAUSE, type TreeGrowth, type TreeLedger } from '../../ledger/tree-ledger';
import { logFailure } from '../../lib/log';
import { hashBytes } from '../../lib/merkle';
import { hashRanges, type ReadTile, TreeEdge } from '../../lib/tiles';
import { formatTime, HOUR, MINUTE } from '../../lib/time';
import { formatId, type Id } from '../../lib/typeid';
import { type EntryRow, entryAgent, entryColumns, logStart, presentEntry } from '../entry';
import { signCheckpoint, tellsOf } from './checkpoint';
import { entryLeafInput, MISSING_LEAF_INPUT } from './leaf';
import type { LogSigner } from './signer';
import { findCheckpoint, isVouchedFor, putCheckpoint, putTile, TreeForked, tileReader } from './storage';

const span = sql.raw(String(LOG_SPAN));

/** Trees that one slice looks at, how many entries it seals, and of one tree at most. */
const TREES = 64;
const ENTRIES = 16_384;
const ENTRIES_OF_ONE = 2_048;
/** After so long a tree that could not be sealed is tried again, and one that must not be, looked at again. */
const RETRY = MINUTE;
const REFUSED = HOUR;

/** Everything that sealing takes. */
export interface SealingContext {
  reader: Reader;
  ledger: TreeLedger;
  bucket: R2Bucket;
  signer: LogSigner;
}

/**
 * Puts what is new in an account's log under its tree, some thousand entries at most, unless it must not be sealed.
 * @returns whether there is more to seal
 * @throws Error where it could not be sealed this time
 */
export async function sealSlice(context: SealingContext, account: number, now: number): Promise<boolean> {
  const [tree] = await findTrees(context.reader, eq(trees.account, account));
  if (!tree || tree.head === tree.size) return false;
  refuseHeld(tree.heldUntil, now);
  try {
    const growth = await seal(context, tree, now);
    await context.ledger.grow([growth], now);
    return growth.size < tree.head;
  } catch (error) {
    if (!(error instanceof TreeForked)) throw error;
    await context.ledger.putOff([describeFailure(tree, error, now)]);
    return false;
  }
}

/** @throws Error while what R2 holds of a tree is being set aside */
export function refuseHeld(heldUntil: number, now: number): void {
  if (heldUntil > now) throw new Error(`the tree is held until ${formatTime(heldUntil)}`);
}

/**
 * Puts what is new in some logs under their trees: hashes the entries, keeps the tiles that they fill, and from time to
 * time the signed head. May be called by several at once, and may die at any point: what is kept depends on the log
 * alone, and the tree's row changes last.
 * @returns whether there may be more
 */
export async function sealTrees(context: SealingContext, now: number): Promise<boolean> {
  const due = await findTrees(
    context.reader,
    and(isNotNull(trees.dueAt), lte(trees.dueAt, now), lte(trees.heldUntil, now)),
  );
  const grown: TreeGrowth[] = [];
  const failed: Postponement[] = [];
  const sealOne = async (tree: UnsealedTree) => {
    try {
      grown.push(await sealShare(context, tree, now));
    } catch (error) {
      failed.push(describeFailure(tree, error, now));
    }
  };
  await Promise.all(due.map(sealOne));
  if (grown.length > 0) await context.ledger.grow(grown, now);
  if (failed.length > 0) await context.ledger.putOff(failed);
  return due.length === TREES || due.some(({ size, head, share }) => head - size > share);
}

/** A longer tree was kept than the share of a log makes: by whoever sealed more at once, and died before the row changed. */
class ShareTooSmall extends Error {}

type UnsealedTree = Awaited<ReturnType<typeof findTrees>>[number];

/** Finds some trees, those that are due the longest, and the entries that are to go under them: each has the same share. */
async function findTrees(reader: Reader, which: SQL | undefined) {
  // Both queries have to speak of the same trees: an entry that is not found counts as taken out.
  const isChosen = inArray(
    trees.account,
    reader
      .select({ account: trees.account })
      .from(trees)
      .innerJoin(accounts, eq(accounts.number, trees.account))
      .where(which)
      .orderBy(asc(trees.dueAt), asc(trees.account))
      .limit(TREES),
  );
  const due = reader
    .select({ account: trees.account, size: trees.size, count: sql<number>`count(*) over ()`.as('count') })
    .from(trees)
    .where(isChosen)
    .as('due');
  const start = sql`${due.account} * ${span} + ${due.size}`;
  const head = sql<number>`${logHead(trees.account)} - ${trees.account} * ${span}`;
  const [rows, entries] = await reader.load([
    reader
      .select({ ...getTableColumns(trees), accountId: accounts.id, head })
      .from(trees)
      .innerJoin(accounts, eq(accounts.number, trees.account))
      .where(isChosen),
    reader
      .select({ ...entryColumns, agent: auditEntries.agent, salt: auditEntries.salt })
      .from(due)
      .crossJoin(auditEntries)
      .leftJoin(agents, entryAgent)
      .where(
        sql`${auditEntries.pos} > ${start} and ${auditEntries.pos} <= ${start} + min(${ENTRIES_OF_ONE}, ${ENTRIES} / ${due.count})`,
      ),
  ]);
  const share = Math.min(ENTRIES_OF_ONE, Math.floor(ENTRIES / rows.length));
  const deleted = await findDeletedAgents(reader, new Set(entries.filter((row) => row.agentId === null).map(agentOf)));
  const byPosition = new Map(
    entries.map((row) => [row.pos, { ...row, agentId: row.agentId ?? deleted.get(row.agent) }]),
  );
  return rows.map((row) => ({ ...row, share, entries: byPosition }));
}

function agentOf({ agent }: { agent: number }): number {
  return agent;
}

/** The identifiers of deleted agents whose entries are not erased yet. */
async function findDeletedAgents(reader: Reader, numbers: Set<number>): Promise<Map<number, Id<'agent'>>> {
  if (numbers.size === 0) return new Map();
  const [found] = await reader.load([
    reader
      .select({ number: erasures.number, subject: erasures.subject })
      .from(erasures)
      .where(
        and(
          eq(erasures.kind, 'agent'),
          inArray(erasures.number, sql`(select value from json_each(${JSON.stringify([...numbers])}))`),
        ),
      ),
  ]);
  return new Map(found.map(({ number, subject }) => [number, formatId('agent', subject)]));
}

/** When to look again at a tree that could not be sealed. */
function describeFailure({ account, accountId, heldUntil }: UnsealedTree, error: unknown, now: number): Postponement {
  const isRefused = error instanceof TreeForked;
  logFailure(isRefused ? 'tree_refused' : 'tree_not_sealed', error, { account: accountId });
  return { account, until: now + (isRefused ? REFUSED : RETRY), heldUntil };
}

/** Seals a log's share, or as much as if it were alone where only that shows whether it is the one that was sealed before. */
async function sealShare(context: SealingContext, tree: UnsealedTree, now: number): Promise<TreeGrowth> {
  try {
    return await seal(context, tree, now);
  } catch (error) {
    const [alone] =
      error instanceof ShareTooSmall ? await findTrees(context.reader, eq(trees.account, tree.account)) : [];
    if (!alone) throw error;
    // Whoever holds the tree by now is to find it as it was.
    return seal(context, { ...alone, heldUntil: tree.heldUntil }, now);
  }
}

/** @throws TreeForked when the log is not the one that was sealed before; ShareTooSmall when more of it has to be sealed */
async function seal(context: SealingContext, tree: UnsealedTree, now: number): Promise<TreeGrowth> {
  const { bucket, signer } = context;
  const { account, accountId, size: from, head, heldUntil } = tree;
  if (head < from) throw new TreeForked(`the log ends at ${head}, and was sealed up to ${from}`);
  const edge = TreeEdge.parse(from, tree.edge);
  await refuseUnsigned(context, tree, await edge.root());
  const tiles = await edge.append(await hashEntries(tree, Math.min(head, from + tree.share)));
  const { size } = edge;
  await refuseOther(bucket, tree, size, tileReader(bucket, accountId, edge, tiles));
  await Promise.all(tiles.map((tile) => putTile(bucket, accountId, tile)));
  const root = await edge.root();
  const earlier = tree.sealedAt ?? now;
  const sealedAt = size > from ? Math.max(now, earlier) : earlier;
  const treeHead = { account: accountId, size, root, sealedAt };
  const { note } = await signCheckpoint(signer, treeHead);
  const isPublished = size > tree.publishedSize && now >= tree.publishedAt + PUBLICATION_PAUSE;
  if (isPublished) await putCheckpoint(bucket, accountId, size, note, (existing) => tellsOf(existing, treeHead));
  return { account, from, size, root, edge: edge.bytes(), sealedAt, note, isPublished, heldUntil };
}

/**
 * Makes sure that what the row has of the tree was written by the service: whoever can write to the database must not
 * have anything signed by it.
 * @throws TreeForked
 */
async function refuseUnsigned(context: SealingContext, tree: UnsealedTree, root: Uint8Array): Promise<void> {
  const { accountId, size, note } = tree;
  if (size === 0 || (await isVouchedFor(context, { account: accountId, size, root }, note))) return;
  throw new TreeForked(`the head of ${size} leaves is not one that was signed`);
}

/**
 * Makes sure that a tree goes on from every head that was kept. The row knows of all of them, unless whoever kept one
 * died before the row changed, the database was put back to an earlier time, or somebody wrote to the row.
 * @throws TreeForked; ShareTooSmall where that can be told only once more is sealed
 */
async function refuseOther(bucket: R2Bucket, tree: UnsealedTree, size: number, read: ReadTile): Promise<void> {
  const kept = await findCheckpoint(bucket, tree.accountId, tree.publishedSize);
  if (!kept) {
    if (tree.publishedSize === 0) return;
    throw new TreeForked(`the head of ${tree.publishedSize} leaves that was kept is gone`);
  }
  if (kept.size > size && kept.size <= tree.head && tree.share < ENTRIES_OF_ONE) throw new ShareTooSmall();
  if (kept.size > size)
    throw new TreeForked(`a tree of ${size} leaves is shorter than one that was signed: ${kept.size}`);
  const [root] = await hashRanges([{ start: 0, end: kept.size }], read);
  if (!tellsOf(kept.note, { size: kept.size, root: root as Uint8Array })) {
    throw new TreeForked(`the log up to ${kept.size} is another than the one that was signed`);
  }
}

/** The leaves after those that are sealed, up to a sequence. */
function hashEntries({ account, accountId, size, entries }: UnsealedTree, last: number): Promise<Uint8Array[]> {
  const owner = { number: account, id: accountId };
  const leaves = Array.from({ length: last - size }, (_, i) => {
    const row = entries.get(logStart(owner) + size + 1 + i);
    if (!row) return hashBytes(MISSING_LEAF_INPUT);
    if (!row.agentId) throw new Error(`the entry ${row.id} is of an agent that nobody knows`);
    return hashBytes(entryLeafInput(presentEntry(owner, row as EntryRow), row.salt));
  });
  return Promise.all(leaves);
}
