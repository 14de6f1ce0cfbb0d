import { and, eq, type SQL, sql } from 'drizzle-orm';
import { FILE_KINDS, type FileKind, type FileStatus, files } from '../db/schema';
import { DAY } from '../lib/time';
import { type Id, parseId, withPrefix } from '../lib/typeid';

/** How long a finished file can be downloaded, in milliseconds. */
export const FILE_LIFE = DAY;

/** How many files an account can have made at the same time. */
export const MAX_PROCESSING = 5;

export type FileRow = typeof files.$inferSelect;

/** Names a file: identifiers of one account alone say nothing of another's. */
export interface FileKey {
  account: number | SQL<number>;
  kind: FileKind;
  id: Id<'export'>;
}

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

/** The condition that finds a file of an account. */
export function isFile({ account, kind, id }: FileKey) {
  return and(sql`${files.account} = ${account}`, eq(files.kind, kind), eq(files.id, id));
}

/** The status of a file at a moment, whether or not the sweep has written it down. */
export function statusAt({ status, expiresAt }: Pick<FileRow, 'status' | 'expiresAt'>, now: number): FileStatus {
  return status === 'completed' && (expiresAt ?? 0) <= now ? 'expired' : status;
}
