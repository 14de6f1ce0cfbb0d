import type { Artifact } from './artifact';
import type { Job } from './job-context';
import type { Producer } from './producer';
import type { SavedState } from './saved-state';
import { arePartsRefused, isNoSuchUpload } from './storage';
import { Upload } from './upload';

/**
 * A slice of full length ends only if no more than this fraction of a part has to be saved with its
 * state.
 */
const MAX_SAVED_REST = 1 / 4;

/**
 * Batches after which a slice ends even if it is not full, provided that the producer has advanced.
 */
const MAX_BATCHES = 128;

/** Batches after which a job saves its state and ends: each takes some queries of an invocation. */
const MAX_JOB_BATCHES = 384;

/** The upload is over or cannot be completed: the artifact has to start over. */
export class UploadBroken extends Error {}

/** How far a job came with an artifact. */
type UploadResult =
  /** A later job has to continue. */
  | { kind: 'unfinished' }
  /** There is nothing to make. */
  | { kind: 'nothing' }
  /**
   * All bytes are uploaded. `digest` is their SHA-256; null for a proof, and if this job did not
   * upload all of them.
   */
  | { kind: 'uploaded'; digest: Uint8Array | null };

/**
 * Produces an artifact for some slices and uploads it, saving the state after each slice. Does
 * nothing if an earlier job has uploaded all of it.
 * @throws UploadBroken
 */
export async function uploadArtifact(
  job: Job,
  artifact: Artifact,
  state: SavedState,
  rest: Uint8Array,
): Promise<UploadResult> {
  if (state.isUploaded) return { kind: 'uploaded', digest: null };
  const { bucket, store, sizes } = job;
  const producer = await artifact.open(state.producer);
  if (producer === null) return { kind: 'nothing' };
  if (producer === 'later') return { kind: 'unfinished' };
  const upload = new Upload(bucket, artifact.key, store, state, rest, sizes.part);
  const rowsBefore = state.rows;
  let batches = 0;
  try {
    for (let slice = 1; ; slice++) {
      const produced = await produceSlice(job, producer, upload);
      const { ended } = produced;
      batches += produced.batches;
      state.rows = rowsBefore + producer.rows;
      state.producer = ended ? null : producer.save();
      const records = producer.takeProofRecords?.();
      if (records && records.length > 0)
        state.proofRecords.push(await store.saveProofRecords(records));
      if (ended) return { kind: 'uploaded', digest: await endUpload(job, state, upload) };
      await store.save(state, upload.rest());
      if (slice === sizes.slices || batches >= MAX_JOB_BATCHES) return { kind: 'unfinished' };
    }
  } catch (error) {
    if (isNoSuchUpload(error)) throw new UploadBroken('the upload is gone', { cause: error });
    throw error;
  }
}

/**
 * Produces a slice and uploads its full parts; returns whether it was the last, and how many
 * batches it took.
 */
async function produceSlice(
  { lease, sizes }: Job,
  producer: Producer,
  upload: Upload,
): Promise<{ ended: boolean; batches: number }> {
  const { part, sliceRows, sliceBytes } = sizes;
  const { rows, reached } = producer;
  const { size } = upload;
  for (let batches = 1; ; batches++) {
    await lease.renew();
    const { chunks, ended } = await producer.next();
    for (const chunk of chunks) await upload.write(chunk);
    if (ended) return { ended, batches };
    const fullness = Math.max(
      (producer.rows - rows) / sliceRows,
      (upload.size - size) / sliceBytes,
    );
    if (fullness >= 2 || (fullness >= 1 && upload.rest().length <= part * MAX_SAVED_REST))
      return { ended, batches };
    // A producer that reads much and writes little saves how far it has read.
    if (batches >= MAX_BATCHES && producer.reached > reached) return { ended, batches };
  }
}

/**
 * Uploads the last bytes and saves the state: only the upload is left to complete. Returns what
 * {@link Upload.end} does.
 */
async function endUpload(
  { lease, store }: Job,
  state: SavedState,
  upload: Upload,
): Promise<Uint8Array | null> {
  await lease.renew();
  const { size } = upload;
  const digest = await upload.end();
  state.isUploaded = true;
  state.uploaded = size;
  // Without an upload the object is in place already.
  if (store.uploadId !== null) await store.save(state, new Uint8Array());
  return digest;
}

/**
 * Makes one object of the uploaded parts.
 * @throws UploadBroken
 */
export async function completeUpload(
  { bucket, store }: Job,
  { key }: Artifact,
  { parts, uploaded }: SavedState,
) {
  if (parts.length === 0) return;
  if (store.uploadId === null) throw new Error('parts without an upload');
  const upload = bucket.resumeMultipartUpload(key, store.uploadId);
  try {
    await upload.complete(parts.map((etag, i) => ({ partNumber: i + 1, etag })));
  } catch (error) {
    // An attempt whose answer was lost may have completed it.
    if (isNoSuchUpload(error) && (await bucket.head(key))?.size === uploaded) return;
    if (!isNoSuchUpload(error) && !arePartsRefused(error)) throw error;
    throw new UploadBroken('the upload cannot be completed', { cause: error });
  }
}
