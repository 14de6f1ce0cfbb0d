import { and, asc, eq, gt, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { accounts, type ERASURE_REASONS, erasedEntries, erasures } from '../../db/schema';
import { rangesOf, type SequenceRanges } from '../../erasure/erasure-record';
import { fileId } from '../../files/file';
import type { FileRow } from '../../files/file-records';
import type { FileOrder, ProducedFile, ProducerInput } from '../../files/producer';
import { LOG_SPAN } from '../../ledger/append';
import { toHex } from '../../lib/bytes';
import type { Json } from '../../lib/json';
import { coverLeaves, HASH_LENGTH, type Hash, type LeafRange } from '../../lib/merkle';
import { hashRanges, type ReadTile, TILE_WIDTH, TreeFrontier } from '../../lib/tiles';
import { formatTimeOrNull } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { logStart } from '../entry';
import { selectPositionRange } from '../select-positions';
import { parseHead, presentHead, type SignedHead } from '../tree/checkpoint';
import { signHidden } from '../tree/erasure-note';
import type { SealingContext } from '../tree/seal';
import { tileReader } from '../tree/storage';
import { sealedTree } from '../tree/tree';
import { exportRequest } from './export';
import { type ErasedEntryNote, readNotes } from './notes';

/** Leaf tiles that a batch reads, at most, and records of erasures. */
const TILES = 64;
const ERASURES = 50;

/** The head that is proven against, as it is saved, and how far the proof is. */
interface Saved {
  account: Id<'user'>;
  /** The head's signed note. */
  head: string;
  edge: string;
  /** The last hidden entry that was written, by position; null once all are. */
  hidden: number | null;
  /** The last record of an erasure that was written; null once all are. */
  erasure: number | null;
  hasErasures: boolean;
  /** The first leaf that is not written. */
  leaf: number;
  /** The first note that is not: of which notes, and which of these. */
  note: [taken: number, index: number];
}

/**
 * Begins the proof of an export, or goes on with it: the log is sealed as far as the export reaches.
 * @returns null where the log is refused; `later` where there is more to seal
 */
export async function openProof(
  sealing: SealingContext,
  now: () => number,
  order: FileOrder,
  file: ProducedFile,
  saved: Json,
): Promise<ProducerInput | 'later' | null> {
  const state = saved === null ? await begin(sealing, now, order) : (saved as unknown as Saved);
  if (state === null || state === 'later') return state;
  return new ProofProduction(sealing, order, file, state);
}

async function begin(
  sealing: SealingContext,
  now: () => number,
  { reader, file }: FileOrder,
): Promise<Saved | 'later' | null> {
  const [[account]] = await reader.load([
    reader.select({ id: accounts.id }).from(accounts).where(eq(accounts.number, file.account)),
  ]);
  if (!account) throw new Error('the account of a file is gone');
  const tree = await sealedTree(sealing, { number: file.account, id: account.id }, file.snapshot, now);
  if (tree === 'later') return tree;
  if (tree === 'refused') return null;
  return {
    account: account.id,
    head: tree.head.note,
    edge: toHex(tree.edge),
    hidden: 0,
    erasure: 0,
    hasErasures: false,
    leaf: 0,
    note: [0, 0],
  };
}

/**
 * A proof in the making: what was asked for, the signed head, what was erased, and all leaves of the tree: those of
 * exported entries with their salts, the others as nodes that are as large as can be.
 */
class ProofProduction implements ProducerInput {
  rows = 0;
  private readonly head: SignedHead;
  private readonly read: ReadTile;
  private hasBegun: boolean;
  private notes: ErasedEntryNote[] | null = null;

  constructor(
    private readonly sealing: SealingContext,
    private readonly order: FileOrder,
    private readonly file: ProducedFile,
    private readonly state: Saved,
  ) {
    const head = parseHead(state.account, state.head);
    if (!head) throw new Error('what was saved of a proof holds no head of its log');
    this.head = head;
    const edge = TreeFrontier.parse(head.size, Uint8Array.fromHex(state.edge));
    this.read = tileReader(sealing.bucket, state.account, edge);
    this.hasBegun = state.hidden !== 0;
  }

  get reached(): number {
    return this.state.leaf;
  }

  async next(): Promise<{ chunks: Uint8Array[]; ended: boolean }> {
    const { text, ended } = await this.nextText();
    return { chunks: [new TextEncoder().encode(text)], ended };
  }

  private async nextText(): Promise<{ text: string; ended: boolean }> {
    const { hidden, erasure } = this.state;
    if (hidden !== null) return { text: await this.nextHidden(hidden), ended: false };
    if (erasure !== null) return { text: await this.nextErasures(erasure), ended: false };
    return this.nextLeaves();
  }

  save(): Json {
    return { ...this.state } satisfies Saved as unknown as Json;
  }

  /** The head of the document, then what is hidden already and waits for its erasure. */
  private async nextHidden(after: number): Promise<string> {
    const { state } = this;
    const { reader, file, batchRows } = this.order;
    const start = logStart({ number: file.account });
    const head = this.hasBegun ? '' : this.describe();
    this.hasBegun = true;
    const [rows, oldest, kept] = await reader.load([
      selectHidden(reader, Math.max(after, start), start + file.snapshot, batchRows),
      selectOldest(reader, start, file),
      selectFirstKept(reader, start, file),
    ]);
    const first = (oldest[0]?.pos ?? start) - start;
    const last = (kept[0]?.pos ?? start + file.snapshot + 1) - start - 1;
    // What is not there cannot wait for its erasure.
    const expired: SequenceRanges = after === 0 && first > 0 && first <= last ? [[first, last]] : [];
    const deleted = rangesOf(rows.map(({ pos }) => pos - start));
    state.hidden = rows.length === batchRows ? (rows.at(-1)?.pos ?? null) : null;
    return head + this.list([await this.hide('retention', expired), await this.hide('agent_deleted', deleted)]);
  }

  private async nextErasures(after: number): Promise<string> {
    const { state } = this;
    const { reader, file } = this.order;
    const [records] = await reader.load([
      reader
        .select()
        .from(erasedEntries)
        .where(and(eq(erasedEntries.account, file.account), gt(erasedEntries.id, after)))
        .orderBy(asc(erasedEntries.id))
        .limit(ERASURES),
    ]);
    const isLast = records.length < ERASURES;
    state.erasure = isLast ? null : (records.at(-1)?.id ?? null);
    const lines = records.map(({ reason, erasedAt, ranges, note }) => record(reason, erasedAt, ranges, note));
    return `${this.list(lines)}${isLast ? '],\n"tree":[' : ''}`;
  }

  /** The record of what waits for its erasure; null of nothing. */
  private async hide(reason: Reason, ranges: SequenceRanges): Promise<string | null> {
    if (ranges.length === 0) return null;
    const { account, sealedAt } = this.head;
    return record(reason, null, ranges, await signHidden(this.sealing.signer, { account, reason, ranges }, sealedAt));
  }

  /** Records of erasures, after those before them. */
  private list(records: (string | null)[]): string {
    const { state } = this;
    const lines = records.filter((line) => line !== null);
    if (lines.length === 0) return '';
    const between = state.hasErasures ? ',\n' : '\n';
    state.hasErasures = true;
    return between + lines.join(',\n');
  }

  private describe(): string {
    const { file } = this.order;
    const { start_date, end_date, agent_id, event_types } = exportRequest(file);
    const members = {
      version: 1,
      export_id: fileId(file),
      format: file.format,
      sha256: this.file.sha256,
      row_count: this.file.rows,
      request: { start_date, end_date, agent_id, event_types },
      checkpoint: presentHead(this.head),
    };
    const lines = Object.entries(members).map(([name, value]) => `"${name}":${JSON.stringify(value)},\n`);
    return `{${lines.join('')}"erased":[`;
  }

  /** The leaves up to the last of a batch of entries; after the last of all entries, the rest of the tree. */
  private async nextLeaves(): Promise<{ text: string; ended: boolean }> {
    const { state } = this;
    const { size } = this.head;
    const notes = await this.nextNotes();
    const isLast = notes.length === 0;
    const gaps: LeafRange[] = [];
    let leaf = state.leaf;
    for (const { sequence } of notes) {
      gaps.push({ start: leaf, end: sequence - 1 });
      leaf = sequence;
    }
    gaps.push({ start: leaf, end: isLast ? size : leaf });
    const spans = gaps.map((gap) => (gap.start < gap.end ? coverLeaves(gap) : NO_LEAVES));
    const [nodes, leaves] = await Promise.all([hashRanges(spans.flat(), this.read), this.readLeaves(notes)]);
    const lines = writeLines(notes, leaves, spans, nodes);
    const isFirst = state.leaf === 0;
    state.leaf = isLast ? size : (notes.at(-1)?.sequence ?? state.leaf);
    this.rows += lines.length;
    const text = lines.length > 0 ? `${isFirst ? '\n' : ',\n'}${lines.join(',\n')}` : '';
    return { text: isLast ? `${text}\n]}\n` : text, ended: isLast };
  }

  /** Entries that are to be written next, of few tiles; none once all are written. */
  private async nextNotes(): Promise<ErasedEntryNote[]> {
    const { state, file, order } = this;
    const [taken, index] = state.note;
    if (taken === file.notes) return [];
    this.notes ??= readNotes(await file.readNotes(taken));
    const rest = this.notes.slice(index, index + order.batchRows);
    const tiles = new Set<number>();
    const count = rest.findIndex((note) => tiles.add(tileOf(note)).size > TILES);
    const notes = count < 0 ? rest : rest.slice(0, count);
    const end = index + notes.length;
    const isOver = end === this.notes.length;
    if (isOver) this.notes = null;
    state.note = isOver ? [taken + 1, 0] : [taken, end];
    return notes;
  }

  /** The leaf hashes of entries, in hexadecimal, by sequence. */
  private async readLeaves(notes: readonly ErasedEntryNote[]): Promise<(sequence: number) => string> {
    const indexes = [...new Set(notes.map(tileOf))];
    const tiles = await Promise.all(indexes.map((index) => this.read({ level: 0, index })));
    const texts = new Map(indexes.map((index, i) => [index, (tiles[i] as Uint8Array).toHex()]));
    return (sequence) => {
      const start = ((sequence - 1) % TILE_WIDTH) * HASH_LENGTH * 2;
      return (texts.get(tileOf({ sequence })) ?? '').slice(start, start + HASH_LENGTH * 2);
    };
  }
}

const NO_LEAVES: LeafRange[] = [];

type Reason = (typeof ERASURE_REASONS)[number];

/** A record of an erasure, or of one that is still to come, with what was signed of it. */
function record(reason: Reason, erasedAt: number | null, ranges: SequenceRanges, note: string): string {
  return JSON.stringify({ reason, erased_at: formatTimeOrNull(erasedAt), ranges, note });
}

/** The entries of deleted agents that are not erased yet. */
function selectHidden(reader: Reader, after: number, last: number, limit: number) {
  const deleted = sql`(select number from ${erasures} where ${eq(erasures.kind, 'agent')})`;
  const entries = sql`audit_entries indexed by audit_by_agent where agent in ${deleted}`;
  return reader
    .select({ pos: sql<number>`pos` })
    .from(sql`(select pos from ${entries} and pos > ${after} and pos <= ${last} order by pos limit ${limit})`);
}

/** The first entry that is there. */
function selectOldest(reader: Reader, start: number, { snapshot }: FileRow) {
  return reader
    .select({ pos: sql<number | null>`pos` })
    .from(sql`(select min(pos) as pos from audit_entries where pos > ${start} and pos <= ${start + snapshot})`);
}

/** The first entry that the plan kept when the file was asked for. */
function selectFirstKept(reader: Reader, start: number, { keptFrom, snapshot }: FileRow) {
  return reader
    .select({ pos: sql<number>`low` })
    .from(
      sql`(${selectPositionRange({ number: start / LOG_SPAN }, { from: keptFrom, before: start + snapshot + 1 })})`,
    );
}

function tileOf({ sequence }: Pick<ErasedEntryNote, 'sequence'>): number {
  return Math.floor((sequence - 1) / TILE_WIDTH);
}

/** Each gap before its entry, and one after the last. */
function writeLines(
  notes: readonly ErasedEntryNote[],
  leafOf: (sequence: number) => string,
  spans: readonly LeafRange[][],
  nodes: readonly Hash[],
): string[] {
  const lines: string[] = [];
  let used = 0;
  for (const [i, gap] of spans.entries()) {
    for (const { start, end } of gap) lines.push(`[${start + 1},${end},"${toHex(nodes[used++] as Hash)}"]`);
    const note = notes[i];
    if (note) lines.push(`[${note.sequence},"${note.salt}","${leafOf(note.sequence)}"]`);
  }
  return lines;
}
