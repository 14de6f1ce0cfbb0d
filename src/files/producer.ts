import type { Reader } from '../db/database';
import type { Json } from '../lib/json';
import type { FileRow } from './file-records';

/** Makes files of one kind. The bytes of a file depend on what was asked for alone, not on how the work was cut. */
export interface FileProducer {
  /**
   * Begins a file, or goes on with one.
   * @param saved what {@link ProducerInput.save} gave; null at the beginning
   * @returns `later` where something else had to be done before, and is not done yet
   */
  open(order: FileOrder, saved: Json): Promise<ProducerInput | 'later'>;
  proof?: ProofProducer;
}

/** Makes what goes with some files: a document that proves them. */
export interface ProofProducer {
  isWanted(file: FileRow): boolean;
  /**
   * Begins the proof of a file, once that is made, or goes on with one.
   * @returns null where nothing can be proven; `later` as above
   */
  open(order: FileOrder, file: ProducedFile, saved: Json): Promise<ProducerInput | 'later' | null>;
}

/** A file whose bytes are all made. */
export interface ProducedFile {
  rows: number;
  size: number;
  /** In hexadecimal. */
  sha256: string;
  /** How many times notes were taken for its proof while it was made. */
  notes: number;
  readNotes(index: number): Promise<Uint8Array>;
}

/** A file to make, and what there is to make it with. */
export interface FileOrder {
  reader: Reader;
  file: FileRow;
  /** How many rows of the database to hold at the same time, at most. */
  batchRows: number;
  loadAsset: LoadAsset;
}

/** Reads one of the static files that the Worker comes with, by its path. */
export type LoadAsset = (path: string) => Promise<ArrayBuffer>;

/** A file in the making. */
export interface ProducerInput {
  /** Reads a batch of rows. The bytes that it gives, which may be none, go on where the last ones ended. */
  next(): Promise<{ chunks: Uint8Array[]; ended: boolean }>;
  /** Rows in the bytes so far. */
  readonly rows: number;
  /** How far in the database the bytes so far reach. */
  readonly reached: number;
  /** What it takes to go on after the bytes so far. */
  save(): Json;
  /** Gives what the proof has to know of the rows in the bytes since it was last asked; empty where that is nothing. */
  takeNotes?(): Uint8Array;
}
