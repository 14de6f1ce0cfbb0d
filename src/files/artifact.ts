import type { FileKind } from '../db/schema';
import type { FileRow } from './file-records';
import type { FileProducerFactory, LoadAsset, Producer, ProducerInput } from './producer';
import type { SavedState } from './saved-state';
import { fileKey, proofKey } from './storage';

/** A file or its proof. A job produces, uploads and records both in the same way. */
export interface Artifact {
  /** Its key in R2. */
  key: string;
  /**
   * Opens its producer, which continues from `saved`.
   * @returns null if there is nothing to make; `later` if other work has to be finished first
   */
  open(saved: unknown): Promise<Producer | 'later' | null>;
}

export interface ArtifactContext {
  reader: ProducerInput['reader'];
  bucket: R2Bucket;
  producers: Record<FileKind, FileProducerFactory>;
  sizes: { batchRows: number };
  loadAsset: LoadAsset;
  file: FileRow;
}

/**
 * Minimum rows of a batch after failed attempts: each batch takes some of the queries that an
 * invocation may make.
 */
const MIN_BATCH_ROWS = 64;

/** Returns what a job has to make: the file, or its proof once the file is stored. */
export function artifactOf(
  context: ArtifactContext,
  { file: stored, proofRecords: records }: SavedState,
): Artifact {
  const { bucket, reader, sizes, loadAsset, file } = context;
  const producers = context.producers[file.kind];
  // Each attempt reads half as many rows at a time, in case a batch was too large for the memory.
  const batchRows = Math.max(
    Math.min(MIN_BATCH_ROWS, sizes.batchRows),
    sizes.batchRows >> (file.attempts - 1),
  );
  const input: ProducerInput = { reader, file, batchRows, loadAsset };
  if (!stored) return { key: fileKey(file), open: (saved) => producers.open(input, saved) };
  const readProofRecords = async (index: number) => {
    const object = await bucket.get(records[index] ?? '');
    if (!object) throw new Error('the proof records of a file are gone');
    return new Uint8Array(await object.arrayBuffer());
  };
  const provable = { ...stored, recordObjects: records.length, readProofRecords };
  return {
    key: proofKey(file),
    open: async (saved) => (await producers.proof?.open(input, provable, saved)) ?? null,
  };
}
