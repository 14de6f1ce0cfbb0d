import * as z from 'zod';
import { FILE_STATUSES, type FileKind } from '../db/schema';
import type { Config } from '../env';
import { countField, timeField } from '../http/response-fields';
import { toHex } from '../lib/bytes';
import { lazy } from '../lib/lazy';
import { formatTime, formatTimeOrNull } from '../lib/time';
import type { Id } from '../lib/typeid';
import { fileStatusAt, publicFileId } from './file';
import type { FileRow } from './file-records';
import type { NewFile } from './request';
import { type SignedAddress, signAddress } from './signed-address';

const UNFINISHED = {
  status: 'processing',
  error: null,
  rowCount: null,
  size: null,
  sha256: null,
  proofSize: null,
  completedAt: null,
  expiresAt: null,
} as const;

/** The columns of a file from which the API shows it. */
export type PresentedFile = Pick<
  FileRow,
  'kind' | 'id' | 'format' | 'request' | 'createdAt' | keyof typeof UNFINISHED
>;

/** The columns of a file that was just requested. */
export function newFileColumns(file: Omit<NewFile, 'agent'>): PresentedFile {
  return { ...file, ...UNFINISHED };
}

/** Makes the response fields that exports and reports share. For use inside a `lazy` schema. */
export function fileFields() {
  return {
    status: z.enum(FILE_STATUSES),
    download_url: z.string().nullable().meta({
      description:
        'Where the file is; needs no credential. Null while there is nothing to download.',
    }),
    expires_at: timeField
      .nullable()
      .meta({ description: 'When the file can no longer be downloaded.' }),
    file_size_bytes: countField.optional(),
    error: z
      .string()
      .nullable()
      .meta({ description: 'The code of the error; null if the file did not fail.' }),
    created_at: timeField,
    completed_at: timeField.optional(),
  };
}

/** The response field of a file's SHA-256. */
export const digestField = lazy(() =>
  z.string().meta({ description: 'The SHA-256 of the file, in lower-case hexadecimal.' }),
);

/** The account of a file, and its shard. */
export interface FileHome {
  shard: string;
  account: { id: Id<'user'> };
}

/**
 * Presents what exports and reports share: the fields of the response as of `now`, the signed
 * address of the proof, and the SHA-256. The address is null unless the proof can be downloaded,
 * the SHA-256 until the file is completed.
 */
export async function presentFile(
  config: Config,
  { account, shard }: FileHome,
  row: PresentedFile,
  now: number,
) {
  const status = fileStatusAt(row, now);
  const sign = async (document: SignedAddress['document'], size: number | null) => {
    if (status !== 'completed' || size === null) return null;
    const id = publicFileId(row);
    const expires = row.expiresAt ?? 0;
    return signAddress(config, { id, account: account.id, shard, expires, document });
  };
  const fields = {
    status,
    download_url: await sign('file', row.size),
    expires_at: formatTimeOrNull(row.expiresAt),
    ...(row.size !== null && { file_size_bytes: row.size }),
    error: row.error,
    created_at: formatTime(row.createdAt),
    ...(row.completedAt !== null && { completed_at: formatTime(row.completedAt) }),
  };
  const proofUrl = await sign('proof', row.proofSize);
  return { fields, proofUrl, sha256: row.sha256 && toHex(row.sha256) };
}

/** Presents a file of one kind as of `now`. */
export type PresentFile<T> = (
  config: Config,
  home: FileHome,
  row: FileRow,
  now: number,
) => Promise<T>;

/** A kind of file, and how one is presented. */
export interface PresentedKind<T> {
  kind: FileKind;
  present: PresentFile<T>;
}
