import { and, eq, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import { type FileKind, files } from '../db/schema';
import type { InternalWriter, Ledger } from '../ledger/ledger';
import type { Id } from '../lib/typeid';
import { recordFileOutcomes } from '../outbox/feed';

export type FileRow = typeof files.$inferSelect;

/** Names a file. Its identifier is unique only within its account. */
export interface FileKey {
  account: number | SQL<number>;
  kind: FileKind;
  id: Id<'export'>;
}

/** A file that a job works on, with the random token of the job's lease. */
export interface LeasedFile extends FileKey {
  lease: Uint8Array;
}

/** The columns that a job changes while it works on a file. */
export type FileProgress = Partial<Pick<FileRow, 'attempts' | 'state' | 'uploadId' | 'lease' | 'dueAt'>>;

/** How a job ends. */
export type FileOutcome = {
  /** When the sweep cleans up after the file; undefined leaves it as it is. */
  dueAt?: number;
} & (
  | ({ status: 'completed' } & { [F in 'rowCount' | 'size' | 'completedAt' | 'expiresAt']: number } & {
      sha256: Uint8Array;
      proofSize: number | null;
    })
  | { status: 'failed'; error: 'processing_failed' | 'agent_deleted' }
);

/** The condition that finds a file of an account. */
export function isFile({ account, kind, id }: FileKey) {
  return and(sql`${files.account} = ${account}`, eq(files.kind, kind), eq(files.id, id));
}

/**
 * Builds the statements that complete or fail processing files of an account. They are the only ones that do, so every
 * outcome is recorded for webhooks in the same transaction.
 * @param which selects among the processing files
 */
export function finishFiles(
  write: InternalWriter,
  account: number | SQL<number>,
  which: SQL | undefined,
  outcome: FileOutcome,
  now: number,
) {
  // The sweep finds the working objects of a completed file by their prefix in R2.
  const reset = outcome.status === 'completed' ? NO_WORK : {};
  const processing = and(eq(files.status, 'processing'), which);
  return [
    ...recordFileOutcomes(write, account, processing, outcome.status === 'failed', now),
    write
      .update(files)
      .set({ ...outcome, ...reset })
      .where(processing)
      .returning({ id: files.id }),
  ] as const;
}

const NO_WORK = { lease: null, state: null, uploadId: null };

/**
 * Takes the lease of a processing file and counts the attempt.
 * @param until when the lease expires, in milliseconds since the epoch
 * @returns null if another job holds the lease, or the file is not processing
 */
export async function claimFile(
  ledger: Ledger,
  { lease, ...key }: LeasedFile,
  now: number,
  until: number,
): Promise<FileRow | null> {
  const isFree = or(isNull(files.lease), lte(files.dueAt, now));
  const [[file]] = await ledger.write({
    changes: (write) => [
      write
        .update(files)
        .set({ lease, attempts: sql`${files.attempts} + 1`, dueAt: until })
        .where(and(isFile(key), eq(files.status, 'processing'), isFree))
        .returning(),
    ],
  });
  return file ?? null;
}

/** Saves progress, and returns whether the lease was still held; otherwise nothing was written. */
export async function saveFileProgress(ledger: Ledger, file: LeasedFile, progress: FileProgress): Promise<boolean> {
  const [rows] = await ledger.write({
    changes: (write) => [
      write
        .update(files)
        .set(progress)
        .where(and(eq(files.status, 'processing'), isLeased(file)))
        .returning({ id: files.id }),
    ],
  });
  return rows.length > 0;
}

/** Completes or fails a file. Returns whether the lease was still held, and whether the outcome waits for webhooks. */
export async function finishFile(
  ledger: Ledger,
  file: LeasedFile,
  outcome: FileOutcome,
  now: number,
): Promise<{ isHeld: boolean; isPending: boolean }> {
  const [pending, , rows] = await ledger.write({
    changes: (write) => finishFiles(write, file.account, isLeased(file), outcome, now),
  });
  return { isHeld: rows.length > 0, isPending: (pending as D1Result).meta.changes > 0 };
}

/** Sets when the sweep looks at a file next, if its status has not changed since it was read. */
export async function rescheduleFile(ledger: Ledger, file: FileRow, dueAt: number): Promise<void> {
  await ledger.write({ changes: (write) => [write.update(files).set({ dueAt }).where(isUnchanged(file))] });
}

/** Records that the objects of an expired or failed file are deleted, and when the sweep looks at its record next. */
export async function closeFile(ledger: Ledger, file: FileRow, dueAt: number): Promise<void> {
  const status = file.status === 'completed' ? 'expired' : file.status;
  await ledger.write({
    changes: (write) => [
      write
        .update(files)
        .set({ status, dueAt, ...NO_WORK })
        .where(isUnchanged(file)),
    ],
  });
}

/** Deletes the record of an expired or failed file. */
export async function deleteFile(ledger: Ledger, file: FileRow): Promise<void> {
  await ledger.write({ changes: (write) => [write.delete(files).where(isUnchanged(file))] });
}

function isLeased({ lease, ...key }: LeasedFile) {
  return and(isFile(key), eq(files.lease, lease));
}

function isUnchanged(file: FileRow) {
  return and(isFile(file), eq(files.status, file.status));
}
