import { FILE_KINDS, type FileKind, type FileStatus } from '../db/schema';
import { DAY } from '../lib/time';
import { type Id, parseId, withPrefix } from '../lib/typeid';
import type { FileKey, FileRow } from './file-records';

/** How long a finished file can be downloaded, in milliseconds. */
export const FILE_LIFETIME = DAY;

/** How long the record of a file is kept after it was finished or, where it was not, asked for; in milliseconds. */
export const FILE_RECORD_LIFETIME = 90 * DAY;

/** How many files an account can have made at the same time. */
export const MAX_PROCESSING = 5;

/** Reads the identifier of an export or a report; null for every other text. */
export function parseFileId(text: string): Pick<FileKey, 'kind' | 'id'> | null {
  for (const kind of FILE_KINDS) {
    const id = parseId(kind, text);
    if (id) return { kind, id: withPrefix('export', id) };
  }
  return null;
}

/** The identifier of a file as the world sees it. */
export function fileId({ kind, id }: Pick<FileRow, 'kind' | 'id'>): Id<FileKind> {
  return withPrefix(kind, id);
}

/** The status of a file at a moment, whether or not the sweep has written it down. */
export function statusAt({ status, expiresAt }: Pick<FileRow, 'status' | 'expiresAt'>, now: number): FileStatus {
  return status === 'completed' && (expiresAt ?? 0) <= now ? 'expired' : status;
}
