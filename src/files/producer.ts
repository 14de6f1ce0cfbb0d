import type { Reader } from '../db/database';
import type { Json } from '../lib/json';
import type { FileRow } from './file-records';

/** Opens the producers of one kind of file. The bytes depend only on the request, not on how the work was divided. */
export interface FileProducerFactory {
  /**
   * Opens the producer of a file.
   * @param saved what {@link Producer.save} returned; null before the first byte
   * @returns `later` if other work that has to come first, such as sealing the log, is not finished
   */
  open(input: ProducerInput, saved: Json): Promise<Producer | 'later'>;
  proof?: ProofProducerFactory;
}

/** Opens the producers of proofs: documents which prove that a file's entries are in the log. */
export interface ProofProducerFactory {
  isWanted(file: FileRow): boolean;
  /**
   * Opens the producer of a stored file's proof.
   * @returns null if nothing can be proven; `later` as for files
   */
  open(input: ProducerInput, file: ProvableFile, saved: Json): Promise<Producer | 'later' | null>;
}

/** The size, number of rows and hash of a stored file. */
export interface StoredFile {
  rows: number;
  size: number;
  /** In hexadecimal. */
  sha256: string;
}

/** A stored file, with the records that its producer made for the proof. */
export interface ProvableFile extends StoredFile {
  /** The number of groups of proof records. */
  recordObjects: number;
  readProofRecords(index: number): Promise<Uint8Array>;
}

/** The file to produce, and the sources to produce it from. */
export interface ProducerInput {
  reader: Reader;
  file: FileRow;
  /** Maximum rows of the database to hold at a time. */
  batchRows: number;
  loadAsset: LoadAsset;
}

/** Reads one of the Worker's static files by its path. */
export type LoadAsset = (path: string) => Promise<ArrayBuffer>;

/** Produces the bytes of a file or a proof. */
export interface Producer {
  /** Reads a batch of rows and returns the next bytes, which may be empty. */
  next(): Promise<{ chunks: Uint8Array[]; ended: boolean }>;
  /** Rows in the bytes since this producer was opened. */
  readonly rows: number;
  /** The position in the database up to which the rows are in the bytes so far. */
  readonly reached: number;
  /** Returns the state from which another producer continues after the bytes so far. */
  save(): Json;
  /** Returns the proof records of the rows since the last call; may be empty. */
  takeProofRecords?(): Uint8Array;
}
