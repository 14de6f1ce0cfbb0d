import { logFailure } from '../lib/log';
import { SECOND } from '../lib/time';
import { artifactOf } from './artifact';
import { recordFile, recordProof } from './complete-file';
import { publicFileId } from './file';
import type { FileKey } from './file-records';
import type { Job, JobContext } from './job-context';
import { LEASE_DURATION, Lease, LeaseLost } from './lease';
import { initialState, phaseOf, type SavedState, StateStore } from './saved-state';
import { abortUpload } from './storage';
import { completeUpload, UploadBroken, uploadArtifact } from './upload-artifact';

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
// 5. `upload-artifact.ts` produces the bytes in slices. After each slice the state is saved, and
//    after some slices another message continues. When all bytes are stored, `complete-file.ts`
//    records the result.
//
// The cron tasks of `sweep.ts`, the sweep, continue interrupted work and clean up after files.

/** Attempts without progress after which a file fails. */
const MAX_ATTEMPTS = 20;

/** How many times an artifact is started over because R2 does not complete its upload. */
const MAX_RESTARTS = 3;

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
    const result = await uploadArtifact(job, artifact, state, rest);
    switch (result.kind) {
      case 'unfinished':
        await job.lease.release();
        return true;
      case 'nothing':
        return await recordProof(job, state, null);
      case 'uploaded':
        await completeUpload(job, artifact, state);
        if (phaseOf(state) === 'proof') return await recordProof(job, state, state.uploaded);
        return await recordFile(job, state, result.digest);
    }
  } catch (error) {
    if (error instanceof UploadBroken) return restart(job, state, error.cause);
    throw error;
  }
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
