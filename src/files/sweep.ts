import { and, asc, eq, isNotNull, lte, ne, sql } from 'drizzle-orm';
import type { Reader } from '../db/database';
import { accounts, files } from '../db/schema';
import type { FileMessage } from '../env';
import type { Ledger } from '../ledger/ledger';
import { logFailure } from '../lib/log';
import { MINUTE, SECOND } from '../lib/time';
import { FILE_RECORD_LIFETIME, fileStatusAt, publicFileId } from './file';
import { type FileRow, isFile, NO_WORK } from './file-records';
import { LEASE_DURATION } from './lease';
import { deleteObjects, deleteWorkingObjects } from './storage';

/** Maximum files that one slice cleans up; each takes some calls of R2. */
const CLEAN_LIMIT = 20;
/** Maximum messages that one run sends, which is the maximum of a queue's batch. */
const MESSAGE_LIMIT = 100;
/**
 * Milliseconds after which a job that lost its lease certainly writes nothing more: no job runs
 * that long.
 */
const LONGEST_JOB = 20 * MINUTE;
/** Milliseconds until the sweep retries a file that it could not clean up. */
const RETRY_DELAY = 5 * MINUTE;

interface CleaningContext {
  reader: Reader;
  ledger: Ledger;
  bucket: R2Bucket;
}

/**
 * Enqueues up to 100 processing files that no job holds, or whose lease expires within
 * {@link LEASE_DURATION}, each for the time when it expires. The job of such a message does nothing
 * if the lease was renewed meanwhile.
 * @returns false: the next run of the task enqueues the others
 */
export async function resumeFiles(
  reader: Reader,
  queue: Queue<FileMessage>,
  shard: string,
  now: number,
): Promise<boolean> {
  const [due] = await reader.load([
    reader
      .select({ account: files.account, kind: files.kind, id: files.id, dueAt: files.dueAt })
      .from(files)
      .where(
        and(
          isNotNull(files.dueAt),
          lte(files.dueAt, now + LEASE_DURATION),
          eq(files.status, 'processing'),
        ),
      )
      .orderBy(asc(files.dueAt))
      .limit(MESSAGE_LIMIT),
  ]);
  if (due.length === 0) return false;
  await queue.sendBatch(
    due.map((file) => ({
      body: { shard, account: file.account, id: publicFileId(file) },
      delaySeconds: Math.max(0, Math.ceil(((file.dueAt ?? now) - now) / SECOND)),
    })),
  );
  return false;
}

/**
 * Cleans up after some files: deletes the working objects of completed ones, all objects of expired
 * and failed ones, and the row itself when it is old enough or its account is gone.
 * @returns whether there may be more
 */
export async function cleanFiles(context: CleaningContext, now: number): Promise<boolean> {
  const { reader, ledger } = context;
  const isOrphan = sql<number>`not exists (select 1 from ${accounts} where ${accounts.number} = ${files.account})`;
  const [due] = await reader.load([
    reader
      .select({ file: files, isOrphan })
      .from(files)
      .where(and(isNotNull(files.dueAt), lte(files.dueAt, now), ne(files.status, 'processing')))
      .orderBy(asc(files.dueAt))
      .limit(CLEAN_LIMIT),
  ]);
  for (const { file, isOrphan } of due) {
    try {
      if (fileStatusAt(file, now) === 'completed') await cleanCompletedFile(context, file);
      else await cleanEndedFile(context, { file, isOrphan: isOrphan === 1 }, now);
    } catch (error) {
      // One failure must not delay the other files.
      logFailure('file_not_cleaned', error, { file: publicFileId(file) });
      await updateFile(ledger, file, { dueAt: now + RETRY_DELAY });
    }
  }
  return due.length === CLEAN_LIMIT;
}

/**
 * Deletes the working objects of a completed file, and schedules its next clean-up for when it
 * expires.
 */
export async function cleanCompletedFile(
  { bucket, ledger }: Omit<CleaningContext, 'reader'>,
  file: FileRow,
): Promise<void> {
  await deleteWorkingObjects(bucket, file);
  await updateFile(ledger, file, { dueAt: file.expiresAt ?? 0 });
}

/**
 * Deletes all objects of an expired or failed file, and its row once that is due or its account is
 * gone.
 */
async function cleanEndedFile(
  { bucket, ledger }: CleaningContext,
  { file, isOrphan }: { file: FileRow; isOrphan: boolean },
  now: number,
) {
  await deleteObjects(bucket, file);
  const status = file.status === 'completed' ? 'expired' : file.status;
  const recordEnd = isOrphan ? now : (file.completedAt ?? file.createdAt) + FILE_RECORD_LIFETIME;
  if (file.lease !== null) {
    // A job that lost this lease may still write an object: clean up once more.
    await updateFile(ledger, file, { status, dueAt: now + LONGEST_JOB, ...NO_WORK });
  } else if (recordEnd > now) {
    await updateFile(ledger, file, { status, dueAt: recordEnd, ...NO_WORK });
  } else {
    await ledger.write({ changes: (write) => [write.delete(files).where(isUnchanged(file))] });
  }
}

async function updateFile(ledger: Ledger, file: FileRow, columns: Partial<FileRow>): Promise<void> {
  await ledger.write({
    changes: (write) => [write.update(files).set(columns).where(isUnchanged(file))],
  });
}

/** The condition that finds a file if its status has not changed since it was read. */
function isUnchanged(file: FileRow) {
  return and(isFile(file), eq(files.status, file.status));
}
