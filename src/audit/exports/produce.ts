import type { FileProducerFactory, Producer, ProducerInput } from '../../files/producer';
import type { Json } from '../../lib/json';
import type { Id } from '../../lib/typeid';
import { logStart } from '../entry';
import { findFileRange, type PositionRange } from '../find-file-range';
import type { SealingContext } from '../tree/seal';
import { csvFormat } from './csv';
import type { Encoder } from './encoder';
import { exportRequest, getsProof } from './export';
import { jsonFormat } from './json';
import { proofProducerFactory } from './proof';
import { ProofRecordBuffer } from './proof-records';
import { EntrySource } from './source';
import { TextFileEncoder } from './text';

interface Saved {
  account: Id<'user'>;
  /** The positions (see {@link logStart}) that are not exported yet. */
  span: PositionRange;
  encoder: Json;
}

/** Makes the factory of the producers that write exports and their proofs. */
export function exportProducerFactory(
  sealing: SealingContext,
  now: () => number,
): FileProducerFactory<Saved> {
  return {
    async open(input, saved) {
      const { account, span, encoder } = saved ?? (await initialState(input));
      return new ExportProducer(input, account, span, await openEncoder(input, account, encoder));
    },
    proof: proofProducerFactory(sealing, now),
  };
}

async function initialState({ reader, file }: ProducerInput): Promise<Saved> {
  const { span, account } = await findFileRange(reader, file, exportRequest(file));
  // 0 stands for a requested agent that does not exist.
  if (file.agent === 0) return { account: account.id, span: { low: 0, high: 0 }, encoder: null };
  return { account: account.id, span, encoder: null };
}

async function openEncoder(
  { file }: ProducerInput,
  account: Id<'user'>,
  saved: Json,
): Promise<Encoder> {
  const { include_details: withDetails, bom } = exportRequest(file);
  const { format } = file;
  if (format === 'parquet') {
    // Loaded here, so that no request waits for it.
    const { ParquetEncoding } = await import('./parquet');
    return new ParquetEncoding(account, withDetails, saved);
  }
  const total = saved as number | null;
  if (format === 'json') return new TextFileEncoder(jsonFormat(account, withDetails), total);
  return new TextFileEncoder(csvFormat(account, { withDetails, bom }), total);
}

/** Batches during which the encoder may buffer entries. A full row group takes a few. */
const MAX_BATCHES_BUFFERED = 256;

class ExportProducer implements Producer {
  private readonly source: EntrySource;
  private readonly records: ProofRecordBuffer | null;
  /** Batches since the encoder began to buffer. */
  private batchesBuffered = 0;

  constructor(
    private readonly input: ProducerInput,
    private readonly account: Id<'user'>,
    private span: PositionRange,
    private readonly encoder: Encoder,
  ) {
    this.source = new EntrySource(input.reader, input.file);
    this.records = getsProof(input.file) ? new ProofRecordBuffer() : null;
  }

  get rows(): number {
    return this.encoder.rows;
  }

  get reached(): number {
    // Buffered entries are not in the bytes yet. The job that continues the file reads them again.
    return this.encoder.firstBuffered?.pos ?? this.span.low;
  }

  async next(): Promise<{ chunks: Uint8Array[]; ended: boolean }> {
    const { batchRows } = this.input;
    const limit = Math.min(batchRows, this.encoder.maxEntries);
    const { entries, next } = await this.source.read(this.span, { limit, maxExamined: batchRows });
    this.span = { low: next, high: this.span.high };
    this.records?.add(entries);
    const chunks = this.encoder.add(entries);
    chunks.push(...this.flushSparse());
    const ended = next >= this.span.high;
    if (ended) chunks.push(...this.encoder.end());
    return { chunks, ended };
  }

  /**
   * Flushes the encoder if its entries are far apart. Otherwise the producer would not advance for
   * long, and the job that continues the file would have to find them again.
   */
  private flushSparse(): Uint8Array[] {
    if (!this.encoder.firstBuffered) {
      this.batchesBuffered = 0;
      return [];
    }
    this.batchesBuffered += 1;
    if (this.batchesBuffered < MAX_BATCHES_BUFFERED) return [];
    this.batchesBuffered = 0;
    return this.encoder.flush();
  }

  takeProofRecords(): Uint8Array {
    const start = logStart({ number: this.input.file.account });
    return this.records?.take(this.reached - start) ?? new Uint8Array();
  }

  save(): Saved {
    const { account, encoder, reached } = this;
    return { account, span: { low: reached, high: this.span.high }, encoder: encoder.save() };
  }
}
