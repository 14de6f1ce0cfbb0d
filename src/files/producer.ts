import type { Reader } from '../db/database';
import type { Json } from '../lib/json';
import type { FileRow } from './file-records';

/** The producers of one kind of file. The bytes depend only on what was requested, not on how the work was divided. */
export interface FileProducers {
  /**
   * Opens the producer of a file.
   * @param saved what {@link Producer.save} returned; null before the first byte
   * @returns `later` if other work, such as sealing the log, has to be finished first and is not yet
   */
  open(input: ProducerInput, saved: Json): Promise<Producer | 'later'>;
  proof?: ProofProducers;
}

/** The producers of the proofs that some files have: documents that prove their entries. */
export interface ProofProducers {
  isWanted(file: FileRow): boolean;
  /**
   * Opens the producer of a stored file's proof.
   * @returns null if nothing can be proven; `later` as for files
   */
  open(input: ProducerInput, file: ProvableFile, saved: Json): Promise<Producer | 'later' | null>;
}

/** A stored file. */
export interface FileDigest {
  rows: number;
  size: number;
  /** In hexadecimal. */
  sha256: string;
}

/** A stored file, with the notes that its producer took for the proof. */
export interface ProvableFile extends FileDigest {
  /** How many notes there are. */
  notes: number;
  readNotes(index: number): Promise<Uint8Array>;
}

/** What a producer works with. */
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
  /** Reads a batch of rows, and returns the bytes that follow the last ones. There may be none. */
  next(): Promise<{ chunks: Uint8Array[]; ended: boolean }>;
  /** Rows in the bytes since this producer was opened. */
  readonly rows: number;
  /** The position in the database up to which the bytes so far reach. */
  readonly reached: number;
  /** What another producer needs to continue after the bytes so far. */
  save(): Json;
  /** Takes what the proof needs to know of the rows since the last call; empty if that is nothing. */
  takeNotes?(): Uint8Array;
}
