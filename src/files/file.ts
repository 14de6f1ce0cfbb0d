import { FILE_KINDS, type FileKind, type FileStatus } from '../db/schema';
import { DAY } from '../lib/time';
import { type Id, parseId, withPrefix } from '../lib/typeid';
import type { FileKey, FileRow } from './file-records';

export type { FileStatus };

/** How long a completed file can be downloaded, in milliseconds. */
export const FILE_LIFETIME = DAY;

/**
 * How long the row of a file is kept after its completion or, if it failed, after its request; in
 * milliseconds.
 */
export const FILE_RECORD_LIFETIME = 90 * DAY;

/** Maximum files of an account that are processing at a time. */
export const MAX_PROCESSING = 5;

/**
 * Parses the identifier of an export or a report as the API shows it; null for any other text.
 * @returns the id under which the database stores the file: with the prefix of exports, also for a
 *   report. {@link publicFileId} makes the identifier for the API from it.
 */
export function parseFileId(text: string): Pick<FileKey, 'kind' | 'id'> | null {
  for (const kind of FILE_KINDS) {
    const id = parseId(kind, text);
    if (id) return { kind, id: withPrefix('export', id) };
  }
  return null;
}

/**
 * The identifier of a file as the API shows it: with the prefix of an export or of a report, by its
 * kind.
 */
export function publicFileId({ kind, id }: Pick<FileRow, 'kind' | 'id'>): Id<FileKind> {
  return withPrefix(kind, id);
}

/**
 * The status of a file at a time: `expired` from the time at which it expires, even before a cron
 * task records it.
 */
export function fileStatusAt(
  { status, expiresAt }: Pick<FileRow, 'status' | 'expiresAt'>,
  now: number,
): FileStatus {
  if (status === 'completed' && (expiresAt ?? 0) <= now) return 'expired';
  return status;
}
