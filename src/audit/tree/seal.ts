import { and, asc, eq, getTableColumns, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { accounts, agents, auditEntries, erasures, trees } from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';
import { logFailure } from '../../lib/log';
import { hashBytes } from '../../lib/merkle';
import type { ReadTile, Tile, TreeFrontier } from '../../lib/tiles';
import { HOUR, MINUTE } from '../../lib/time';
import { formatId, type Id } from '../../lib/typeid';
import { newestPosition } from '../../outbox/feed';
import { type EntryRow, entryAgent, entryColumns, logStart, presentEntry } from '../entry';
import { type SignedHead, signHead } from './checkpoint';
import { notHeld, refuseHeld } from './hold';
import { entryLeafInput, MISSING_LEAF_INPUT } from './leaf';
import { LogRefused, putCheckpoint, putTile, tileReader } from './storage';
import type { Postponement, SealedTree, TreeRecords } from './tree-records';
import { findPublishedHead, readTrustedHead, requireConsistency, resignIfKeyRetired, type TrustContext } from './trust';

const span = sql.raw(String(LOG_SPAN));

/** Trees that one slice looks at, how many entries it seals, and of one tree at most. */
const TREES = 64;
const ENTRIES = 16_384;
const ENTRIES_OF_ONE = 2_048;
/** After so long a tree that could not be sealed is tried again, and one that must not be, looked at again. */
const RETRY = MINUTE;
const REFUSED = HOUR;
/** Milliseconds from the time of a head that R2 keeps to that at which the next one is kept. */
const PUBLICATION_PAUSE = HOUR;
/** How often a tree is read for one sealing, at most, as others seal it at the same time. */
const READINGS = 4;

/** Everything that sealing takes. */
export interface SealingContext extends TrustContext {
  reader: Reader;
  ledger: TreeRecords;
}

/**
 * Puts what is new in an account's log under its tree, some thousand entries at most.
 * @returns whether there is more to seal
 * @throws LogRefused where it must not be sealed; Error where it could not be sealed this time
 */
export async function sealSlice(context: SealingContext, account: number, now: number): Promise<boolean> {
  const [tree] = await findTrees(context.reader, eq(trees.account, account));
  if (!tree || tree.end === tree.size) return false;
  refuseHeld(tree.heldUntil, now);
  try {
    const growth = await sealAsKept(context, tree, now);
    await context.ledger.grow([growth], now);
    return growth.size < tree.end;
  } catch (error) {
    if (error instanceof LogRefused) await context.ledger.reschedule([describeFailure(tree, error, now)]);
    throw error;
  }
}

/**
 * Puts what is new in some logs under their trees: hashes the entries, keeps the tiles that they fill, and from time to
 * time the signed head. May be called by several at once, and may die at any point: what is kept depends on the log
 * alone, and the tree's row changes last.
 * @returns whether there may be more
 */
export async function sealTrees(context: SealingContext, now: number): Promise<boolean> {
  const due = await findTrees(context.reader, and(isNotNull(trees.dueAt), lte(trees.dueAt, now), notHeld(now)));
  const grown: SealedTree[] = [];
  const failed: Postponement[] = [];
  const sealOne = async (tree: UnsealedTree) => {
    try {
      grown.push(await sealAsKept(context, tree, now));
    } catch (error) {
      failed.push(describeFailure(tree, error, now));
    }
  };
  await Promise.all(due.map(sealOne));
  if (grown.length > 0) await context.ledger.grow(grown, now);
  if (failed.length > 0) await context.ledger.reschedule(failed);
  return due.length === TREES || due.some(({ size, end, share }) => end - size > share);
}

/** R2 keeps a longer tree than the entries that were read make: another sealer read the log later, or sealed more at once. */
class KeptIsLonger extends Error {
  constructor(readonly size: number) {
    super(`R2 keeps a head of ${size} leaves already`);
  }
}

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
  const end = sql<number>`${newestPosition(trees.account)} - ${trees.account} * ${span}`;
  const [rows, entries] = await reader.load([
    reader
      .select({ ...getTableColumns(trees), accountId: accounts.id, end })
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
function describeFailure(
  { account, accountId, size, heldUntil }: UnsealedTree,
  error: unknown,
  now: number,
): Postponement {
  const isRefused = error instanceof LogRefused;
  logFailure(isRefused ? 'tree_refused' : 'tree_not_sealed', error, { account: accountId });
  return { account, size, until: now + (isRefused ? REFUSED : RETRY), heldUntil };
}

/**
 * Seals what was read of a log, and reads it again where R2 keeps a longer tree.
 * @throws LogRefused when the log is not the one that was sealed before
 */
function sealAsKept(context: SealingContext, tree: UnsealedTree, now: number): Promise<SealedTree> {
  return readAsKept(context.reader, tree, (read) => seal(context, read, now));
}

/**
 * Calls `act` with a tree, and calls it again with a fresh reading of the tree each time that R2 keeps a longer one.
 *
 * Entries are written before a head of them is. So a log that is read after R2 showed a head, and does not reach it, is
 * not the log that was signed; one that was read before may only be an old reading.
 * @throws LogRefused where a fresh reading does not reach the head; Error where the tree is held meanwhile, or another
 *   sealer was faster each time
 */
async function readAsKept<T>(reader: Reader, tree: UnsealedTree, act: (tree: UnsealedTree) => Promise<T>): Promise<T> {
  for (let [current, reading] = [tree, 1]; ; reading++) {
    try {
      return await act(current);
    } catch (error) {
      if (!(error instanceof KeptIsLonger) || reading === READINGS) throw error;
      const [fresh] = await findTrees(reader, eq(trees.account, tree.account));
      // A request that holds the tree takes heads out of R2.
      if (fresh?.heldUntil !== tree.heldUntil) throw new Error('the tree was held or removed meanwhile');
      const size = reachOf(fresh);
      if (size < error.size) {
        throw new LogRefused(`a tree of ${size} leaves is shorter than one that was signed: ${error.size}`);
      }
      current = fresh;
    }
  }
}

/** How many leaves a tree has once all entries that were read of it are sealed. */
function reachOf({ size, end, share }: UnsealedTree): number {
  return Math.min(end, size + share);
}

/** @throws LogRefused when the log is not the one that was sealed before; KeptIsLonger */
async function seal(context: SealingContext, tree: UnsealedTree, now: number): Promise<SealedTree> {
  const { account, accountId, size: from, heldUntil } = tree;
  const extended = await extend(context, tree, now, () => reachOf(tree));
  const { edge } = extended;
  await Promise.all(extended.tiles.map((tile) => putTile(context.bucket, accountId, tile)));
  const { head, publishAt } = await publish(context, accountId, extended, now);
  const { size, root, sealedAt, note } = head;
  return { account, from, size, root, edge: edge.bytes(), sealedAt, note, publishAt, heldUntil };
}

/**
 * Signs the head of a tree, unless it was signed before, and puts it into R2 if the newest head there is an hour old. The
 * time of that head is read from R2: an attacker who can write to the database must not decide which heads are kept.
 * @returns the head, and when it is to be put into R2: null where it is there, or where the log is empty
 */
async function publish(
  { bucket, signer }: TrustContext,
  account: Id<'user'>,
  { before, kept, edge }: ExtendedTree,
  now: number,
): Promise<{ head: SignedHead; publishAt: number | null }> {
  const { size } = edge;
  if (kept?.size === size) return { head: await resignIfKeyRetired(signer, kept), publishAt: null };
  const sealedAt = Math.max(now, before.sealedAt, kept?.sealedAt ?? now);
  const head =
    size === before.size ? before : await signHead(signer, { account, size, root: await edge.root(), sealedAt });
  if (size === 0) return { head, publishAt: null };
  const publishAt = (kept?.sealedAt ?? 0) + PUBLICATION_PAUSE;
  if (now < publishAt) return { head, publishAt };
  return { head: await putCheckpoint(bucket, head), publishAt: null };
}

/** A tree that goes on, in memory, from what was sealed of it. */
interface ExtendedTree {
  /** The head that it goes on from. */
  before: SignedHead;
  /** The newest head that R2 keeps. */
  kept: SignedHead | null;
  edge: TreeFrontier;
  /** The tiles that were filled. */
  tiles: Tile[];
  read: ReadTile;
}

/**
 * Puts entries under a tree in memory, as far as the log goes at most.
 * @param chooseSize up to which sequence, by the newest head that R2 keeps
 * @throws LogRefused where it does not go on from that head; KeptIsLonger where it does not reach it
 */
async function extend(
  context: TrustContext,
  tree: UnsealedTree,
  now: number,
  chooseSize: (kept: SignedHead | null) => number,
): Promise<ExtendedTree> {
  const { bucket } = context;
  const { accountId, publishedSize } = tree;
  const { head: before, edge } = await readTrustedHead(context, accountId, tree, now);
  const kept = await findPublishedHead(context, accountId, publishedSize, now);
  const size = Math.max(before.size, Math.min(reachOf(tree), chooseSize(kept)));
  if (kept && kept.size > size) throw new KeptIsLonger(kept.size);
  const tiles = await edge.append(await hashEntries(tree, size));
  const read = tileReader(bucket, accountId, edge, tiles);
  if (kept) await requireConsistency(kept, read);
  return { before, kept, edge, tiles, read };
}

/**
 * Opens a tree whose newest head is in R2 but not yet in the database: its sealing is still running, or crashed. Hashes
 * the entries in between, and takes a few round trips to the database.
 * @throws LogRefused where the log does not lead to that head
 */
export async function openPublishedTree(
  context: TrustContext & { reader: Reader },
  account: number,
  now: number,
): Promise<{ head: SignedHead; edge: Uint8Array; read: ReadTile }> {
  const [tree] = await findTrees(context.reader, eq(trees.account, account));
  if (!tree) throw new LogRefused('the row of the tree is gone');
  const { before, kept, edge, read } = await readAsKept(context.reader, tree, (tree) =>
    extend(context, tree, now, (kept) => kept?.size ?? 0),
  );
  const head = kept && kept.size > before.size ? await resignIfKeyRetired(context.signer, kept) : before;
  return { head, edge: edge.bytes(), read };
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
