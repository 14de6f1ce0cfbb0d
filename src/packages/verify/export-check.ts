import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { toHex } from './core/bytes.ts';
import {
  entryFault,
  Fault,
  type FaultDetails,
  type FaultKind,
  formatEntries,
} from './core/findings.ts';
import { isSettling } from './core/settlement.ts';
import { hashEntry, InvalidRow, type Row } from './entry.ts';
import { EMPTY_LEAF_HASH, TreeFrontier } from './frontier.ts';
import { type Leaf, ProofFile, type ProofHeader, type Subtree } from './proof-file.ts';
import { RangeSet } from './ranges.ts';
import { RequestFilter } from './request-filter.ts';
import { readRows } from './rows.ts';
import type { VoteChecker } from './vote-checker.ts';

/** The result of {@link checkExport}. */
export interface ExportCheck {
  head: ProofHeader;
  /** The first wrong entry, if there is one, and the faults of the proof and of the file. */
  faults: Fault[];
  /** The number of entries that were read from the file: all of them, if there is no fault. */
  rows: number;
  /** The sequences of the first and last entries that match the proof; null if none does. */
  first: number | null;
  last: number | null;
  /** Whether the request had a filter that can exclude entries between the first and the last. */
  filtered: boolean;
  /** The sequences that the proof records as erased. */
  erased: RangeSet;
  /** The roots of the log at the requested sizes, as far as the proof allows to compute them. */
  roots: Map<number, Uint8Array>;
}

export interface ExportCheckOptions {
  /** Sizes of the log for which to compute the root. */
  sizes?: number[];
  /**
   * The sequence up to which every entry must be in the file or recorded as erased; absent for a
   * part of a log.
   */
  completeTo?: number;
  /** Receives the entries of the file, in the order of the log. */
  votes?: VoteChecker;
  /** Time limit for decoding a Parquet row group, in milliseconds. */
  rowGroupTimeoutMs?: number | undefined;
}

/**
 * Checks an export file against its proof, and the proof against its checkpoint. Does not check the
 * checkpoint's signature.
 * @throws Fault if the proof cannot be read
 */
export async function checkExport(
  file: string,
  proof: string,
  options: ExportCheckOptions = {},
): Promise<ExportCheck> {
  return await new ExportChecker(file, await ProofFile.open(proof), options).run(file);
}

type EntryFault = [kind: FaultKind, how: string, details: FaultDetails & { sequence: number }];

/** Compares the file with the tree of the proof, entry by entry, from the first to the last. */
class ExportChecker {
  private readonly proof: ProofFile;
  private readonly rows: AsyncGenerator<Row, void>;
  private readonly filter: RequestFilter;
  private readonly erased: RangeSet;
  private readonly completeTo: number | undefined;
  private readonly votes: VoteChecker | null;
  private readonly sizes: Set<number>;
  private readonly roots = new Map<number, Buffer>();
  private readonly sealedEmpty = new Set<number>();
  private readonly tree = new TreeFrontier();
  /** The tree with the first changed entry as it is in the file; null before that entry. */
  private treeOfFile: TreeFrontier | null = null;
  private count = 0;
  private first: Row | null = null;
  private last: Row | null = null;
  private wrong: Fault | null = null;
  /** An entry with a larger sequence than expected, and whether the proof lists it later. */
  private early: { row: Row; listed: boolean } | null = null;

  constructor(
    file: string,
    proof: ProofFile,
    { sizes = [], completeTo, votes, rowGroupTimeoutMs }: ExportCheckOptions,
  ) {
    this.proof = proof;
    this.rows = readRows(file, proof.head.format, rowGroupTimeoutMs);
    this.filter = new RequestFilter(proof.head.request);
    this.erased = new RangeSet(proof.head.erased.flatMap(({ ranges }) => ranges));
    this.sizes = new Set(sizes);
    this.completeTo = completeTo;
    // Without the ends of requests there are no votes, and all requests would have to be
    // remembered.
    const hasVotes = proof.head.request.event_types?.some(isSettling) ?? true;
    this.votes = hasVotes && votes ? votes : null;
  }

  async run(file: string): Promise<ExportCheck> {
    const { head } = this.proof;
    const faults: Fault[] = [];
    this.noteRoot();
    try {
      for await (const node of this.proof.tree()) await this.take(node);
      if (this.tree.size !== head.checkpoint.size) throw this.misfit(`ends at ${this.tree.size}`);
      faults.push(...this.judgeTree());
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const { kind, message, evidence } = error;
      faults.push(new Fault(kind, message, { sequence: this.tree.size + 1, evidence }));
    }
    const whole = faults.length === 0;
    if (!this.wrong && faults.length === 0) await this.finish();
    if (this.wrong)
      faults.unshift(
        this.early?.listed === false ? this.unexpectedEntry(this.early.row) : this.wrong,
      );
    await this.rows.return();
    faults.push(...(await this.judgeFile(file, whole)));
    return {
      head,
      faults,
      rows: this.count,
      first: this.first?.sequence ?? null,
      last: this.last?.sequence ?? null,
      filtered: this.filter.isPartial,
      erased: this.erased,
      roots: this.roots,
    };
  }

  private async take(node: Leaf | Subtree): Promise<void> {
    const [first, last] = 'salt' in node ? [node.sequence, node.sequence] : [node.first, node.last];
    const size = last - first + 1;
    if (first !== this.tree.size + 1) throw this.misfit(`goes on with ${first}`);
    if (last > this.proof.head.checkpoint.size) throw this.misfit(`goes on to ${last}`);
    if (!this.tree.canAppend(size))
      throw this.misfit(`has no complete subtree from ${first} to ${last}`);
    if ('salt' in node) {
      if (this.early?.row.sequence === first) this.early.listed = true;
      if (!this.wrong) await this.compare(node);
    } else if (size === 1 && node.hash.equals(EMPTY_LEAF_HASH)) {
      this.sealedEmpty.add(first);
    }
    this.tree.append(size, node.hash);
    if (this.treeOfFile && this.treeOfFile.size < this.tree.size)
      this.treeOfFile.append(size, node.hash);
    this.noteRoot();
  }

  private noteRoot(): void {
    if (this.sizes.has(this.tree.size)) this.roots.set(this.tree.size, this.tree.root());
  }

  private misfit(how: string): Fault {
    const { size } = this.tree;
    return new Fault(
      'proof',
      `The tree of the proof is inconsistent: after ${size} leaves it ${how}`,
      {
        evidence: { leaves: size, tree_size: this.proof.head.checkpoint.size },
      },
    );
  }

  /** Compares the next entry of the file with the next leaf. */
  private async compare(leaf: Leaf): Promise<void> {
    const { sequence } = leaf;
    try {
      const row = await this.next();
      const gap = this.findGap(sequence - 1);
      if (gap) this.fail(...gap);
      else if (!row) {
        this.fail('missing', 'is in the proof, but the file ends before it', { sequence });
      } else if (row.sequence !== sequence) {
        await this.explainOther(row, leaf);
      } else {
        this.judge(row, leaf);
        await this.votes?.take(row);
      }
    } catch (error) {
      if (!(error instanceof InvalidRow)) throw error;
      this.fail('changed', `differs in the file from the sealed entry: ${error.message}`, {
        sequence,
        id: error.id,
      });
    }
  }

  private async next(): Promise<Row | null> {
    const { value, done } = await this.rows.next();
    if (!done) this.count++;
    return done ? null : value;
  }

  /** The fault of a missing entry after the last one, up to a sequence; null if none is missing. */
  private findGap(to: number): EntryFault | null {
    if (this.filter.isPartial) return null;
    if (!this.last && this.completeTo === undefined) return null;
    const from = this.last ? this.last.sequence + 1 : 1;
    const sequence = this.erased.firstOutside(from, to);
    if (sequence === null) return null;
    const how = this.sealedEmpty.has(sequence)
      ? 'was not in the database when its leaf was sealed, and is not recorded as erased'
      : 'was not exported, and is not recorded as erased';
    return ['missing', how, { sequence, evidence: { after: this.last?.id ?? null } }];
  }

  private judge(row: Row, leaf: Leaf): void {
    const { sequence, id, createdAt, entry } = row;
    const found = this.hash(entry, leaf.salt);
    if (!found?.equals(leaf.hash)) {
      const evidence = {
        leaf_of_proof: leaf.hash.toString('hex'),
        leaf_of_file: found?.toString('hex') ?? null,
      };
      this.treeOfFile = this.tree.copy();
      this.treeOfFile.append(1, found ?? EMPTY_LEAF_HASH);
      this.fail('changed', 'differs in the file from the sealed entry', { sequence, id, evidence });
      return;
    }
    const objection = this.filter.findMismatch(row);
    if (this.last && createdAt < this.last.createdAt) {
      const evidence = { created_at: createdAt, before_it: this.last.createdAt };
      this.fail('changed', 'has an earlier time than the entry before it', {
        sequence,
        id,
        evidence,
      });
    } else if (objection) {
      this.fail('added', `does not match the request: ${objection}`, { sequence, id });
    } else if (this.erased.has(sequence)) {
      this.fail('added', 'is in the file, but recorded as erased', { sequence, id });
    } else if (!this.proof.head.checkpoint.origin.endsWith(`/${entry.user_id}`)) {
      this.fail('added', 'belongs to another account than the log', { sequence, id });
    }
    this.first ??= row;
    this.last = row;
  }

  private hash(entry: Row['entry'], salt: string): Buffer | null {
    try {
      return hashEntry(entry, salt);
    } catch {
      return null;
    }
  }

  /** Finds the fault that explains why another entry is here than the expected one. */
  private async explainOther(row: Row, { sequence, salt, hash }: Leaf): Promise<void> {
    const { id } = row;
    if (this.hash({ ...row.entry, sequence }, salt)?.equals(hash)) {
      const evidence = { sequence_in_file: row.sequence };
      this.fail('changed', `has another sequence in the file: ${row.sequence}`, {
        sequence,
        id,
        evidence,
      });
    } else if (row.sequence < sequence) {
      this.wrong = this.unexpectedEntry(row);
    } else {
      this.early = { row, listed: false };
      const later = await this.lookFor(sequence);
      const evidence = { in_its_place: row.sequence, id_in_its_place: id };
      if (later) {
        const how = `is out of order: entry ${row.sequence} (${id}) is in its place, and it comes later`;
        this.fail('swapped', how, { sequence, id: later.id, evidence });
      } else {
        this.early = null;
        this.fail('missing', 'is in the proof, but not in the file', { sequence, evidence });
      }
    }
  }

  /** Searches the rest of the file for an entry. */
  private async lookFor(sequence: number): Promise<Row | null> {
    try {
      for (let row = await this.next(); row; row = await this.next())
        if (row.sequence === sequence) return row;
    } catch (error) {
      if (!(error instanceof InvalidRow)) throw error;
    }
    return null;
  }

  private unexpectedEntry({ sequence, id }: Row): Fault {
    const how =
      this.last?.id === id ? 'is in the file twice' : 'is in the file, but not in the proof';
    return entryFault('added', how, { sequence, id, evidence: { after: this.last?.id ?? null } });
  }

  /** Finds missing and unexpected entries at the end of the file. */
  private async finish(): Promise<void> {
    try {
      const row = await this.next();
      const gap = this.completeTo === undefined ? null : this.findGap(this.completeTo);
      if (gap) this.fail(...gap);
      else if (row) this.wrong = this.unexpectedEntry(row);
    } catch (error) {
      if (!(error instanceof InvalidRow)) throw error;
      this.wrong = new Fault('file', `The end of the file is malformed: ${error.message}`);
    }
  }

  private fail(...fault: EntryFault): void {
    this.wrong = entryFault(...fault);
  }

  /**
   * Checks the root of the tree. If it is wrong, tries whether the wrong entry in the file is the
   * sealed one.
   */
  private judgeTree(): Fault[] {
    const { root } = this.proof.head.checkpoint;
    const found = this.tree.root();
    if (found.equals(root)) return [];
    const evidence = {
      root_of_tree: found.toString('hex'),
      root_of_checkpoint: toHex(root),
    };
    const how = this.treeOfFile?.root().equals(root)
      ? 'With that entry as it is in the file, the root is that of the checkpoint: the proof was changed, and the file was not'
      : 'The root of the tree is not that of the checkpoint: entries, hashes or the checkpoint were changed together with the proof, and the proof cannot show which';
    return [new Fault('proof', how, { evidence })];
  }

  /** @param whole whether the tree was read to its end */
  private async judgeFile(file: string, whole: boolean): Promise<Fault[]> {
    const { sha256, rowCount } = this.proof.head;
    const faults: Fault[] = [];
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(file, { highWaterMark: 2 ** 20 }))
      hash.update(chunk);
    const found = hash.digest('hex');
    if (found !== sha256) {
      faults.push(
        new Fault('file', 'The file differs from the exported file', {
          evidence: { sha256: found, exported: sha256 },
        }),
      );
    }
    if (whole && !this.wrong && this.count !== rowCount) {
      const how = `The file has ${formatEntries(this.count)}, but the proof says ${rowCount}`;
      faults.push(new Fault('file', how, { evidence: { rows: this.count, row_count: rowCount } }));
    }
    return faults;
  }
}
