import { toHex } from '../lib/bytes';
import { logFailure } from '../lib/log';
import { SECOND } from '../lib/time';
import { type Artifact, type ArtifactContext, artifactOf } from './artifact';
import { FILE_LIFETIME, publicFileId } from './file';
import type { FileKey, FileRow } from './file-records';
import { LEASE_DURATION, Lease, type LeaseContext, LeaseLost } from './lease';
import type { Producer, StoredFile } from './producer';
import { initialState, type SavedState, StateStore } from './saved-state';
import { abortUpload, arePartsRefused, fileKey, isNoSuchUpload } from './storage';
import { cleanCompletedFile } from './sweep';
import { Upload } from './upload';

// From a request to a file (a job is the work of one queue message on one file):
//
// 1. `request.ts` inserts the file's row, in the transaction of the request, and sends a queue
//    message.
// 2. `background/file-queue.ts` calls `processFile`, here, for each message.
// 3. `lease.ts` claims the file for one job, and `saved-state.ts` restores the state in which the
//    job before left it.
// 4. `artifact.ts` opens the producer of what to make: of the file itself, and in a later job,
//    which `recordFile` starts, of its proof. Both take the same steps. The producer (such as
//    `audit/exports/produce.ts`) gives the bytes; `upload.ts` stores them in R2.
// 5. The bytes are produced in slices. After each slice the state is saved, and after some slices
//    another message continues. When all bytes are stored the result is recorded.
//
// The cron tasks of `sweep.ts`, the sweep, continue interrupted work and clean up after files.

/** How a job is divided. */
export interface JobSizes {
  /** Bytes of a part of an upload, at least 5 MiB in R2. */
  part: number;
  /**
   * Rows and bytes of a slice. It may become twice as long, so that fewer bytes have to be saved
   * with its state.
   */
  sliceRows: number;
  sliceBytes: number;
  /** Slices of a job, after which a new message continues with CPU time of its own. */
  slices: number;
  /** Rows that a producer reads at a time; fewer after failed attempts. */
  batchRows: number;
}

export const JOB_SIZES: JobSizes = {
  part: 8 * 2 ** 20,
  sliceRows: 2 ** 16,
  sliceBytes: 64 * 2 ** 20,
  slices: 16,
  batchRows: 4_096,
};

/** Attempts without progress after which a file fails. */
const MAX_ATTEMPTS = 20;

/** How many times an artifact is started over because R2 does not complete its upload. */
const MAX_RESTARTS = 3;

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

/** Bytes that are hashed between two renewals of the lease. */
const DIGEST_STEP = 64 * 2 ** 20;

interface JobContext extends Omit<ArtifactContext, 'file'>, LeaseContext {
  sizes: JobSizes;
}

/** A file whose lease this job holds. */
interface Job extends JobContext {
  file: FileRow;
  lease: Lease;
  store: StateStore;
}

/** The upload is over or cannot be completed: the artifact has to start over. */
class UploadBroken extends Error {}

/**
 * Works on a file or its proof for some slices. Does nothing if another job holds the file's lease.
 * If a job crashes at any point, the next one continues from the last saved state.
 * @returns whether the caller has to enqueue another job
 * @throws Error if the attempt fails. Too many failed attempts fail the file
 */
export async function processFile(context: JobContext, key: FileKey): Promise<boolean> {
  const claimed = await Lease.claim(context, key);
  if (!claimed) return false;
  const { lease, file } = claimed;
  const job: Job = { ...context, ...claimed, store: new StateStore(context, lease, file) };
  try {
    if (file.attempts <= MAX_ATTEMPTS) return await continueFile(job);
    await failFile(job);
    return false;
  } catch (error) {
    if (error instanceof LeaseLost) return false;
    // Exponential back-off, up to the duration of a lease.
    await lease
      .backOff(Math.min(SECOND * 2 ** file.attempts, LEASE_DURATION))
      .catch((failure: unknown) => {
        // If the file is finished, or another job has it, nothing is left to do. Otherwise the
        // lease expires by itself.
        if (failure instanceof LeaseLost) return;
        logFailure('lease_back_off_failed', failure, { file: publicFileId(file) });
      });
    throw error;
  }
}

/**
 * The steps of a job: restore the state, produce and upload the artifact, complete the upload,
 * record the result.
 */
async function continueFile(job: Job): Promise<boolean> {
  const restored = await job.store.restore();
  if (!restored) {
    // Without the state its upload cannot continue either. R2 aborts an unfinished upload after
    // seven days.
    job.store.uploadId = null;
    return restart(job, initialState(), 'its saved state is gone');
  }
  const { state, rest } = restored;
  const artifact = artifactOf(job, state);
  try {
    const digest = state.isUploaded ? null : await uploadArtifact(job, artifact, state, rest);
    if (digest === 'more') {
      await job.lease.release();
      return true;
    }
    if (digest === 'nothing') return await recordProof(job, state, null);
    await completeUpload(job, artifact, state);
    if (state.file) return await recordProof(job, state, state.uploaded);
    return await recordFile(job, state, digest);
  } catch (error) {
    if (error instanceof UploadBroken) return restart(job, state, error.cause);
    throw error;
  }
}

/**
 * Produces an artifact for some slices and uploads it, saving the state after each slice.
 * @returns `more` if a later job has to continue; `nothing` if there is nothing to make; else the
 *   SHA-256 of all bytes, or null for a proof, and if several jobs uploaded them
 * @throws UploadBroken
 */
async function uploadArtifact(
  job: Job,
  artifact: Artifact,
  state: SavedState,
  rest: Uint8Array,
): Promise<Uint8Array | 'more' | 'nothing' | null> {
  const { bucket, store, sizes } = job;
  const producer = await artifact.open(state.producer);
  if (producer === null) return 'nothing';
  if (producer === 'later') return 'more';
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
      if (ended) return await endUpload(job, state, upload);
      await store.save(state, upload.rest());
      if (slice === sizes.slices || batches >= MAX_JOB_BATCHES) return 'more';
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
async function completeUpload(
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

/**
 * Records a stored file: completes it, or leaves its proof to the next job.
 * @param digest its SHA-256; null if that has to be computed
 * @returns whether the caller has to enqueue another job
 */
async function recordFile(
  job: Job,
  state: SavedState,
  digest: Uint8Array | null,
): Promise<boolean> {
  const { producers, file, store, lease } = job;
  const { rows, uploaded: size, proofRecords } = state;
  const stored = { rows, size, sha256: toHex(digest ?? (await hashFile(job, size))) };
  if (!producers[file.kind].proof?.isWanted(file)) return completeFile(job, stored, null);
  await store.save(initialState({ file: stored, proofRecords }), new Uint8Array(), null);
  await lease.release();
  return true;
}

/**
 * Records a stored proof, with which the file is complete.
 * @param size in bytes; null if nothing can be proven
 */
async function recordProof(job: Job, { file }: SavedState, size: number | null): Promise<boolean> {
  if (file === null) throw new Error('a proof without its file');
  return completeFile(job, file, size);
}

/** Completes the file. Returns false: no other job has to continue. */
async function completeFile(
  job: Job,
  { rows, size, sha256 }: StoredFile,
  proofSize: number | null,
): Promise<boolean> {
  const { runtime, lease, store, file } = job;
  const now = runtime.now();
  const expiresAt = now + FILE_LIFETIME;
  await lease.finish({
    status: 'completed',
    rowCount: rows,
    size,
    sha256: Uint8Array.fromHex(sha256),
    proofSize,
    completedAt: now,
    expiresAt,
    // If this job dies now, the sweep deletes its working objects.
    dueAt: store.hasState ? now : expiresAt,
  });
  if (store.hasState) await cleanCompletedFile(job, { ...file, status: 'completed', expiresAt });
  return false;
}

/** Records that the file failed. The sweep deletes its objects. */
async function failFile({ runtime, lease, file }: Job): Promise<void> {
  await lease.finish({ status: 'failed', error: 'processing_failed', dueAt: runtime.now() });
  logFailure('file_failed', 'it was tried too often', { file: publicFileId(file) });
}

/**
 * Starts an artifact over with a new upload; fails the file if that was done too often.
 *
 * The upload may be over because the database was restored to an earlier time. Or a job uploaded a
 * part once more after it had lost its lease: the bytes are the same, but R2 gives them another
 * ETag, and the upload can never be completed.
 * @returns whether the caller has to enqueue another job
 */
async function restart(job: Job, state: SavedState, cause: unknown): Promise<boolean> {
  const { bucket, file, lease, store } = job;
  logFailure('file_restarted', cause, { file: publicFileId(file) });
  if (state.restarts === MAX_RESTARTS) {
    await failFile(job);
    return false;
  }
  // After a crash between these two writes, the next job finds the upload gone and restarts.
  if (store.uploadId !== null)
    await abortUpload(bucket, artifactOf(job, state).key, store.uploadId);
  const stored = state.file && { file: state.file, proofRecords: state.proofRecords };
  const fresh = initialState({ ...stored, restarts: state.restarts + 1 });
  await store.save(fresh, new Uint8Array(), null);
  await lease.release();
  return true;
}

/** SHA-256 of the stored file, in one pass. */
async function hashFile({ bucket, file, lease }: Job, size: number): Promise<Uint8Array> {
  const stream = new crypto.DigestStream('SHA-256');
  for (let offset = 0; offset < size; offset += DIGEST_STEP) {
    const range = { offset, length: Math.min(DIGEST_STEP, size - offset) };
    const object = await bucket.get(fileKey(file), { range });
    if (!object) throw new Error('a stored file is gone');
    await object.body.pipeTo(stream, { preventClose: true });
    await lease.renew();
  }
  await stream.close();
  return new Uint8Array(await stream.digest);
}
