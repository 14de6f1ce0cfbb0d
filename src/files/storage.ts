import { toHex } from '../lib/bytes';
import { publicFileId } from './file';
import type { FileRow } from './file-records';

type Named = Pick<FileRow, 'kind' | 'id'>;

/** R2's error for an upload that is completed or aborted, or never existed. */
const NO_SUCH_UPLOAD = /\(10024\)|does not exist/;
/** R2's errors for parts with unknown ETags or of different sizes. */
const PARTS_REFUSED = /\((10025|10048)\)/;

/** The prefix of every object of a file. */
function folder(file: Named): string {
  return `files/${publicFileId(file)}/`;
}

/** The key of the file itself. */
export function fileKey(file: Named): string {
  return `${folder(file)}file`;
}

/** The key of a file's proof. */
export function proofKey(file: Named): string {
  return `${folder(file)}proof`;
}

/**
 * A key for an object that is needed only while the file is made: a saved state, or records for the
 * proof. It is random, so that two attempts never overwrite each other's object.
 */
export function workingKey(file: Named, kind: 'state' | 'records', random: Uint8Array): string {
  return `${folder(file)}${kind}-${toHex(random)}`;
}

/**
 * Aborts the upload of a file or its proof, if there is one, and deletes every object of the file.
 */
export async function deleteObjects(
  bucket: R2Bucket,
  file: Named & Pick<FileRow, 'uploadId'>,
): Promise<void> {
  if (file.uploadId !== null) {
    await abortUpload(bucket, fileKey(file), file.uploadId);
    await abortUpload(bucket, proofKey(file), file.uploadId);
  }
  await deleteAll(bucket, file, () => true);
}

/** Deletes every object of a file but the file itself and its proof. */
export async function deleteWorkingObjects(bucket: R2Bucket, file: Named): Promise<void> {
  await deleteAll(bucket, file, (key) => key !== fileKey(file) && key !== proofKey(file));
}

/** Aborts an upload. Does nothing if it is completed or aborted already. */
export async function abortUpload(bucket: R2Bucket, key: string, uploadId: string): Promise<void> {
  try {
    await bucket.resumeMultipartUpload(key, uploadId).abort();
  } catch (error) {
    if (!isNoSuchUpload(error)) throw error;
  }
}

/** Whether R2 refused a call because the upload is completed or aborted. */
export function isNoSuchUpload(error: unknown): boolean {
  return NO_SUCH_UPLOAD.test(String(error));
}

/** Whether R2 refused to complete an upload because of its parts, which no retry changes. */
export function arePartsRefused(error: unknown): boolean {
  return PARTS_REFUSED.test(String(error));
}

async function deleteAll(
  bucket: R2Bucket,
  file: Named,
  isWanted: (key: string) => boolean,
): Promise<void> {
  const options: R2ListOptions = { prefix: folder(file) };
  for (;;) {
    const page = await bucket.list(options);
    const keys = page.objects.map(({ key }) => key).filter(isWanted);
    if (keys.length > 0) await bucket.delete(keys);
    if (!page.truncated) return;
    options.cursor = page.cursor;
  }
}
