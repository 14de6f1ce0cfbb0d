import type { ProvableFile } from '../../files/producer';
import { toHex } from '../../lib/bytes';
import { coverLeaves, HASH_LENGTH, type Hash, type LeafRange } from '../../lib/merkle';
import { hashRanges, type ReadTile, TILE_WIDTH } from '../../lib/tiles';
import { type ProofRecord, readProofRecords } from './proof-records';

/** Maximum tiles of leaves (256 hashes each) that a batch reads. */
const TILE_LIMIT = 64;

export interface LeavesProgress {
  /** The first leaf that is not written yet. */
  leaf: number;
  /** The first record that is not written yet: the number of its object, and its index in there. */
  record: [object: number, index: number];
}

/**
 * Writes the section `tree` of a proof, which covers every leaf of the tree. An exported entry has
 * a line with its salt and leaf hash; the leaves between two of them are covered by as few nodes as
 * possible.
 */
export class ProofLeaves {
  /** Lines written since this object was created. */
  lines = 0;
  private records: ProofRecord[] | null = null;

  constructor(
    private readonly read: ReadTile,
    /** Leaves of the tree. */
    private readonly size: number,
    private readonly file: ProvableFile,
    private readonly batchRows: number,
    /** Updated with each batch. */
    private readonly progress: LeavesProgress,
  ) {}

  /**
   * Returns the lines up to the last entry of a batch; after the last batch, the lines of the rest
   * of the tree.
   */
  async next(): Promise<{ text: string; ended: boolean }> {
    const { progress, size } = this;
    const records = await this.nextRecords();
    const ended = records.length === 0;
    const gaps: LeafRange[] = [];
    let leaf = progress.leaf;
    for (const { sequence } of records) {
      gaps.push({ start: leaf, end: sequence - 1 });
      leaf = sequence;
    }
    if (ended) gaps.push({ start: leaf, end: size });
    const spans = gaps.map(coverLeaves);
    const [nodes, leafOf] = await Promise.all([
      hashRanges(spans.flat(), this.read),
      this.readLeaves(records),
    ]);
    const lines = writeLines(records, leafOf, spans, nodes);
    const separator = progress.leaf === 0 ? '\n' : ',\n';
    progress.leaf = ended ? size : leaf;
    this.lines += lines.length;
    const text = lines.join(',\n');
    return { text: text && separator + text, ended };
  }

  /**
   * Takes the records of the next batch, which lie in at most {@link TILE_LIMIT} tiles; none once
   * all are written.
   */
  private async nextRecords(): Promise<ProofRecord[]> {
    const { progress, file } = this;
    const [object, index] = progress.record;
    if (object === file.recordObjects) return [];
    this.records ??= readProofRecords(await file.readProofRecords(object));
    const rest = this.records.slice(index, index + this.batchRows);
    const tiles = new Set<number>();
    const records: ProofRecord[] = [];
    for (const record of rest) {
      if (tiles.add(tileOf(record)).size > TILE_LIMIT) break;
      records.push(record);
    }
    progress.record = [object, index + records.length];
    if (index + records.length === this.records.length) {
      progress.record = [object + 1, 0];
      this.records = null;
    }
    return records;
  }

  /**
   * Reads the leaf hashes of entries. Returns a function from a sequence to its leaf hash in
   * hexadecimal.
   */
  private async readLeaves(records: readonly ProofRecord[]): Promise<(sequence: number) => string> {
    const indexes = [...new Set(records.map(tileOf))];
    const tiles = indexes.map(async (index): Promise<[number, string]> => {
      const tile = await this.read({ level: 0, index });
      return [index, tile.toHex()];
    });
    const texts = new Map(await Promise.all(tiles));
    return (sequence) => {
      const start = ((sequence - 1) % TILE_WIDTH) * HASH_LENGTH * 2;
      return (texts.get(tileOf({ sequence })) ?? '').slice(start, start + HASH_LENGTH * 2);
    };
  }
}

function tileOf({ sequence }: Pick<ProofRecord, 'sequence'>): number {
  return Math.floor((sequence - 1) / TILE_WIDTH);
}

/**
 * Formats the lines of a proof: the nodes of each gap, then the entry after it. The last gap has no
 * entry after it.
 */
function writeLines(
  records: readonly ProofRecord[],
  leafOf: (sequence: number) => string,
  spans: readonly LeafRange[][],
  nodes: readonly Hash[],
): string[] {
  const lines: string[] = [];
  const hashes = nodes.map(toHex).values();
  for (const [i, gap] of spans.entries()) {
    for (const { start, end } of gap) lines.push(`[${start + 1},${end},"${hashes.next().value}"]`);
    const record = records[i];
    if (record) lines.push(`[${record.sequence},"${record.salt}","${leafOf(record.sequence)}"]`);
  }
  return lines;
}
