import { toHex } from '../lib/bytes';
import { fileId } from './file';
import type { FileRow } from './file-records';

type Named = Pick<FileRow, 'kind' | 'id'>;

/** R2's error for an upload that is over or never existed. */
const NO_SUCH_UPLOAD = /\(10024\)|does not exist/;
/** R2's errors for parts with unknown ETags or of different sizes. */
const PARTS_REFUSED = /\((10025|10048)\)/;

/** The prefix of every object of a file. */
function folder(file: Named): string {
  return `files/${fileId(file)}/`;
}

/** The key of the file itself. */
export function fileKey(file: Named): string {
  return `${folder(file)}file`;
}

/** The key of a file's proof. */
export function proofKey(file: Named): string {
  return `${folder(file)}proof`;
}

/** A key for the proof records that a file's producer makes. As random as {@link stateKey}. */
export function proofRecordsKey(file: Named, random: Uint8Array): string {
  return `${folder(file)}records-${toHex(random)}`;
}

/** A key for a saved state. It is random, so that two attempts never overwrite each other's object. */
export function stateKey(file: Named, random: Uint8Array): string {
  return `${folder(file)}state-${toHex(random)}`;
}

/** Aborts the uploads of a file and its proof, and deletes every object of the file. */
export async function deleteObjects(bucket: R2Bucket, file: Named & Pick<FileRow, 'uploadId'>): Promise<void> {
  if (file.uploadId !== null) {
    await abortUpload(bucket, fileKey(file), file.uploadId);
    await abortUpload(bucket, proofKey(file), file.uploadId);
  }
  await deleteAll(bucket, file, () => true);
}

/** Deletes the saved states and proof records of a completed file. */
export async function deleteWorkingObjects(bucket: R2Bucket, file: Named): Promise<void> {
  await deleteAll(bucket, file, (key) => key !== fileKey(file) && key !== proofKey(file));
}

/** Aborts an upload, unless it is over already. */
export async function abortUpload(bucket: R2Bucket, key: string, uploadId: string): Promise<void> {
  try {
    await bucket.resumeMultipartUpload(key, uploadId).abort();
  } catch (error) {
    if (!isNoSuchUpload(error)) throw error;
  }
}

/** Whether R2 refused a call because the upload is over. */
export function isNoSuchUpload(error: unknown): boolean {
  return NO_SUCH_UPLOAD.test(String(error));
}

/** Whether R2 refused to complete an upload because of its parts, which no retry changes. */
export function arePartsRefused(error: unknown): boolean {
  return PARTS_REFUSED.test(String(error));
}

async function deleteAll(bucket: R2Bucket, file: Named, isWanted: (key: string) => boolean): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await bucket.list({ prefix: folder(file), ...(cursor !== undefined && { cursor }) });
    const keys = page.objects.map(({ key }) => key).filter(isWanted);
    if (keys.length > 0) await bucket.delete(keys);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}
