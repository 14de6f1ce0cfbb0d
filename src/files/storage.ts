import { toHex } from '../lib/bytes';
import { fileId } from './file';
import type { FileRow } from './file-records';

type Named = Pick<FileRow, 'kind' | 'id'>;

/** R2 says this of an upload that is over, or never was. */
const NO_SUCH_UPLOAD = /\(10024\)|does not exist/;
/** R2 says these of parts that are not there by these ETags, or that differ in size. */
const PARTS_REFUSED = /\((10025|10048)\)/;

/** Everything that belongs to a file lies under this. */
function folder(file: Named): string {
  return `files/${fileId(file)}/`;
}

/** The key of the file itself. */
export function fileKey(file: Named): string {
  return `${folder(file)}file`;
}

/** The key of the proof that goes with a file. */
export function proofKey(file: Named): string {
  return `${folder(file)}proof`;
}

/** A key for what is noted for the proof of a file while that is made. As that of a state. */
export function notesKey(file: Named, random: Uint8Array): string {
  return `${folder(file)}notes-${toHex(random)}`;
}

/** A key for what is saved between two slices. No two attempts share one, so that none spoils another's. */
export function stateKey(file: Named, random: Uint8Array): string {
  return `${folder(file)}state-${toHex(random)}`;
}

/** Deletes everything of a file: its upload or that of its proof, what was saved between its slices, and itself. */
export async function deleteObjects(bucket: R2Bucket, file: Named & Pick<FileRow, 'uploadId'>): Promise<void> {
  if (file.uploadId !== null) {
    await abortUpload(bucket, fileKey(file), file.uploadId);
    await abortUpload(bucket, proofKey(file), file.uploadId);
  }
  await deleteAll(bucket, file, () => true);
}

/** Deletes what a finished file was made with. */
export async function deleteStates(bucket: R2Bucket, file: Named): Promise<void> {
  await deleteAll(bucket, file, (key) => key !== fileKey(file) && key !== proofKey(file));
}

/** Ends an upload for good, if it is not over already. */
export async function abortUpload(bucket: R2Bucket, key: string, uploadId: string): Promise<void> {
  try {
    await bucket.resumeMultipartUpload(key, uploadId).abort();
  } catch (error) {
    if (!isNoSuchUpload(error)) throw error;
  }
}

/** Whether R2 refused because the upload is over. */
export function isNoSuchUpload(error: unknown): boolean {
  return NO_SUCH_UPLOAD.test(String(error));
}

/** Whether R2 refused to put an upload's parts together, and always will. */
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
