import type { Reader } from '../db/database';
import type { FileRow } from './file-records';

/**
 * Opens the producers of one kind of file, which save a `State`. Several producers can make one
 * file, one after the other: each continues where the one before stopped, and the bytes do not
 * depend on where that was.
 */
export interface FileProducerFactory<State = unknown> {
  /**
   * Opens the producer of a file.
   * @param saved the last result of {@link Producer.save}; null before the first byte
   * @returns `later` if other work, such as sealing the log, has to be finished first
   */
  open(input: ProducerInput, saved: State | null): Promise<Producer | 'later'>;
  proof?: ProofProducerFactory;
}

/** Opens the producers of proofs: documents which prove that a file's entries are in the log. */
export interface ProofProducerFactory<State = unknown> {
  /** Whether the file gets a proof. */
  isWanted(file: FileRow): boolean;
  /**
   * Opens the producer of a stored file's proof.
   * @returns null if nothing can be proven; `later` as for files
   */
  open(
    input: ProducerInput,
    file: ProvableFile,
    saved: State | null,
  ): Promise<Producer | 'later' | null>;
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
  /**
   * The number of objects with proof records: one for each result of
   * {@link Producer.takeProofRecords}.
   */
  recordObjects: number;
  /** Reads one of these objects; `index` counts from 0. */
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
  /**
   * Reads a batch of rows and returns the next bytes, which may be none; `ended` with the last
   * ones.
   */
  next(): Promise<{ chunks: Uint8Array[]; ended: boolean }>;
  /** The number of rows in the bytes that this producer returned. */
  readonly rows: number;
  /**
   * Grows as the producer advances, even if it finds no rows. For entries of a log, the position of
   * the last one.
   */
  readonly reached: number;
  /**
   * Returns the state from which another producer of the same kind continues after the bytes so
   * far, as a value of JSON.
   */
  save(): unknown;
  /** Returns what the proof has to know of the rows since the last call; may be empty. */
  takeProofRecords?(): Uint8Array;
}
