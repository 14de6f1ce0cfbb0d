import { and, asc, eq, gt, type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { auditEntries, type ERASURE_REASONS, erasedEntries, erasures } from '../../db/schema';
import { rangesOf, type SequenceRanges } from '../../erasure/erasure-record';
import type { FileRow } from '../../files/file-records';
import type { ProducerInput } from '../../files/producer';
import { LOG_SPAN } from '../../ledger/append';
import { formatTimeOrNull } from '../../lib/time';
import { logStart } from '../entry';
import { selectPositionRange } from '../log-range';
import type { SignedHead } from '../tree/checkpoint';
import { signHidden } from '../tree/erasure-note';
import type { LogSigner } from '../tree/signer';

/** Maximum records of erasures in a batch. */
const RECORD_LIMIT = 50;

export interface ErasuresProgress {
  /**
   * The position of the last hidden entry of a deleted agent that was written: 0 at first, null
   * once all are.
   */
  hidden: number | null;
  /**
   * The id of the last record of a past erasure that was written: 0 at first, null once all are.
   */
  erasure: number | null;
  hasRecords: boolean;
}

type Reason = (typeof ERASURE_REASONS)[number];

/**
 * Writes the section `erased` of a proof: why sequences of the log are missing in the file. First
 * come the hidden entries, which no request shows any more but which are not erased yet; then the
 * records of past erasures.
 */
export class ProofErasures {
  constructor(
    private readonly signer: LogSigner,
    private readonly input: ProducerInput,
    private readonly head: SignedHead,
    /** Updated with each batch. */
    private readonly progress: ErasuresProgress,
  ) {}

  get isFirst(): boolean {
    return this.progress.hidden === 0;
  }

  get isDone(): boolean {
    return this.progress.hidden === null && this.progress.erasure === null;
  }

  /** Returns the next elements of the JSON array; the empty text if a batch has none. */
  async next(): Promise<string> {
    const { hidden, erasure } = this.progress;
    if (hidden !== null) return this.nextHidden(hidden);
    if (erasure !== null) return this.nextErasures(erasure);
    return '';
  }

  private async nextHidden(after: number): Promise<string> {
    const { reader, file, batchRows } = this.input;
    const start = logStart({ number: file.account });
    const [rows, oldest, kept] = await reader.load([
      selectHidden(reader, Math.max(after, start), start + file.snapshot, batchRows),
      selectOldest(reader, start, file),
      selectFirstKept(reader, start, file),
    ]);
    const first = (oldest[0]?.pos ?? start) - start;
    const last = (kept[0]?.pos ?? start + file.snapshot + 1) - start - 1;
    // Sequences before the oldest entry are already erased.
    const expired: SequenceRanges = [];
    if (after === 0 && first > 0 && first <= last) expired.push([first, last]);
    const deleted = rangesOf(rows.map(({ pos }) => pos - start));
    // Only a full batch has this row, and more may follow it.
    this.progress.hidden = rows[batchRows - 1]?.pos ?? null;
    return this.list([
      await this.hide('retention', expired),
      await this.hide('agent_deleted', deleted),
    ]);
  }

  private async nextErasures(after: number): Promise<string> {
    const { reader, file } = this.input;
    const [records] = await reader.load([
      reader
        .select()
        .from(erasedEntries)
        .where(and(eq(erasedEntries.account, file.account), gt(erasedEntries.id, after)))
        .orderBy(asc(erasedEntries.id))
        .limit(RECORD_LIMIT),
    ]);
    this.progress.erasure = records[RECORD_LIMIT - 1]?.id ?? null;
    return this.list(
      records.map(({ reason, erasedAt, ranges, note }) => record(reason, erasedAt, ranges, note)),
    );
  }

  /** Signs a record of hidden entries; null if there are none. */
  private async hide(reason: Reason, ranges: SequenceRanges): Promise<string | null> {
    if (ranges.length === 0) return null;
    const { account, sealedAt } = this.head;
    const note = await signHidden(this.signer, { account, reason, ranges }, sealedAt);
    return record(reason, null, ranges, note);
  }

  /** Formats elements of the JSON array, with a separator if there are some before. */
  private list(records: (string | null)[]): string {
    const lines = records.filter((line) => line !== null);
    if (lines.length === 0) return '';
    const separator = this.progress.hasRecords ? ',\n' : '\n';
    this.progress.hasRecords = true;
    return separator + lines.join(',\n');
  }
}

/**
 * Formats an erasure and its signed note as JSON. `erasedAt` is null if the entries are not erased
 * yet.
 */
function record(
  reason: Reason,
  erasedAt: number | null,
  ranges: SequenceRanges,
  note: string,
): string {
  return JSON.stringify({ reason, erased_at: formatTimeOrNull(erasedAt), ranges, note });
}

/** Selects the entries of deleted agents that are not erased yet. */
function selectHidden(reader: Reader, after: number, last: number, limit: number) {
  const deleted = sql`(select ${erasures.number} from ${erasures} where ${eq(erasures.kind, 'agent')})`;
  const entries = sql`${auditEntries} indexed by audit_by_agent
    where ${auditEntries.agent} in ${deleted} and ${isWithin(after, last)}`;
  const positions = sql`select ${auditEntries.pos} from ${entries}
    order by ${auditEntries.pos} limit ${limit}`;
  return reader.select({ pos: sql<number>`pos` }).from(sql`(${positions})`);
}

/** Selects the oldest entry that is not erased. */
function selectOldest(reader: Reader, start: number, { snapshot }: FileRow) {
  return reader.select({ pos: sql<number | null>`pos` }).from(sql`(
      select min(${auditEntries.pos}) as pos from ${auditEntries}
      where ${isWithin(start, start + snapshot)}
    )`);
}

function isWithin(after: number, last: number): SQL {
  return sql`${auditEntries.pos} > ${after} and ${auditEntries.pos} <= ${last}`;
}

/** Selects the first entry that was within the account's retention when the file was requested. */
function selectFirstKept(reader: Reader, start: number, { keptFrom, snapshot }: FileRow) {
  const log = { number: start / LOG_SPAN };
  const kept = selectPositionRange(log, { from: keptFrom, before: snapshot + 1 });
  return reader.select({ pos: sql<number>`low` }).from(sql`(${kept})`);
}
