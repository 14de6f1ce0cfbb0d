import { toHex } from '../lib/bytes';
import { FILE_LIFETIME } from './file';
import type { Job } from './job-context';
import type { StoredFile } from './producer';
import { initialState, type SavedState } from './saved-state';
import { fileKey } from './storage';
import { cleanCompletedFile } from './sweep';

/** Bytes that are hashed between two renewals of the lease. */
const DIGEST_STEP = 64 * 2 ** 20;

/**
 * Records a stored file: completes it, or leaves its proof to the next job.
 * @param digest its SHA-256; null if that has to be computed
 * @returns whether the caller has to enqueue another job
 */
export async function recordFile(
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
export async function recordProof(
  job: Job,
  { file }: SavedState,
  size: number | null,
): Promise<boolean> {
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
