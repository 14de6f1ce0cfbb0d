import { and, eq, type SQL, sql } from 'drizzle-orm';
import { type FileKind, files } from '../db/schema';
import type { InternalWriter } from '../ledger/ledger';
import type { Id } from '../lib/typeid';
import { recordFileResults } from '../outbox/feed';

/** An export or a report. */
export type FileRow = typeof files.$inferSelect;

/** The primary key of a file. */
export interface FileKey {
  account: number | SQL<number>;
  kind: FileKind;
  /** The database stores the identifiers of reports under the prefix of exports. */
  id: Id<'export'>;
}

/** How a job ends. */
export type FileResult = {
  /** When a cron task cleans up after the file (`sweep.ts`); undefined leaves the time as it is. */
  dueAt?: number;
} & (
  | ({ status: 'completed' } & {
      [F in 'rowCount' | 'size' | 'completedAt' | 'expiresAt']: number;
    } & {
      sha256: Uint8Array;
      proofSize: number | null;
    })
  | { status: 'failed'; error: 'processing_failed' | 'agent_deleted' }
);

/**
 * The values of the job's own columns when no job has left anything to continue from or to clean
 * up.
 */
export const NO_WORK = { lease: null, state: null, uploadId: null };

/** The condition that finds a file of an account. */
export function isFile({ account, kind, id }: FileKey) {
  return and(sql`${files.account} = ${account}`, eq(files.kind, kind), eq(files.id, id));
}

/**
 * Builds the statements that complete or fail processing files of an account. No other statement
 * does, so every result is recorded for the account's receivers in the same transaction.
 *
 * The first statement records the results: it changes a row only if the account has an event feed
 * (`outbox/feed.ts`). The last returns the ids of the files.
 * @param which the condition that finds the files, among the account's processing files
 */
export function finishFiles(
  write: InternalWriter,
  account: number | SQL<number>,
  which: SQL | undefined,
  result: FileResult,
  now: number,
) {
  // A completed file no longer needs the columns of its job: its working objects are found by their
  // prefix in R2.
  const reset = result.status === 'completed' ? NO_WORK : {};
  const processing = and(sql`${files.account} = ${account}`, eq(files.status, 'processing'), which);
  return [
    ...recordFileResults(write, account, { which: processing, status: result.status }, now),
    write
      .update(files)
      .set({ ...result, ...reset })
      .where(processing)
      .returning({ id: files.id }),
  ] as const;
}
