import { and, asc, eq, isNotNull, lte, ne, sql } from 'drizzle-orm';
import type { Reader } from '../db/database';
import { accounts, files } from '../db/schema';
import type { JobMessage } from '../env';
import { logFailure } from '../lib/log';
import { MINUTE, SECOND } from '../lib/time';
import { FILE_RECORD_LIFETIME, fileId } from './file';
import type { FileRecords, FileRow } from './file-records';
import { LEASE } from './lease';
import { deleteObjects, deleteStates } from './storage';

/** Files that one slice looks at; each takes some calls of R2. */
const SLICE = 20;
/** Messages that one slice sends, which is as many as a queue takes at once. */
const MESSAGES = 100;
/** Longer than anybody can work on: whoever outlived a lease writes no more after it. */
const LONGEST_WORK = 20 * MINUTE;
/** After so long what could not be removed is tried again. */
const RETRY = 5 * MINUTE;

/** What it takes to remove files. */
export interface CleaningContext {
  reader: Reader;
  ledger: FileRecords;
  bucket: R2Bucket;
}

/**
 * Sends a message for files in the making on which nobody works, or may not in a moment: work that was interrupted goes
 * on as soon as its lease is over. A message for a file that somebody works on does nothing.
 */
export async function resumeFiles(
  reader: Reader,
  queue: Queue<JobMessage>,
  shard: string,
  now: number,
): Promise<boolean> {
  const [due] = await reader.load([
    reader
      .select({ account: files.account, kind: files.kind, id: files.id, dueAt: files.dueAt })
      .from(files)
      .where(and(isNotNull(files.dueAt), lte(files.dueAt, now + LEASE), eq(files.status, 'processing')))
      .orderBy(asc(files.dueAt))
      .limit(MESSAGES),
  ]);
  if (due.length === 0) return false;
  await queue.sendBatch(
    due.map((file) => ({
      body: { shard, account: file.account, id: fileId(file) },
      delaySeconds: Math.max(0, Math.ceil(((file.dueAt ?? now) - now) / SECOND)),
    })),
  );
  return false;
}

/**
 * Removes what is left of some files that are over: the objects of those that expired or failed, what finished ones
 * were made with, and in the end the record.
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
      .limit(SLICE),
  ]);
  for (const { file, isOrphan } of due) {
    try {
      const isFinished = file.status === 'completed' && (file.expiresAt ?? 0) > now;
      await (isFinished ? deleteFileObjects(context, file) : clearAway(context, file, isOrphan === 1, now));
    } catch (error) {
      // One that cannot be removed holds up no other.
      logFailure('file_not_cleaned', error, { file: fileId(file) });
      await ledger.lookAgain(file, now + RETRY);
    }
  }
  return due.length === SLICE;
}

/** Deletes what a finished file was made with. The sweep looks again when the file expires. */
export async function deleteFileObjects(
  { bucket, ledger }: Omit<CleaningContext, 'reader'>,
  file: FileRow,
): Promise<void> {
  await deleteStates(bucket, file);
  await ledger.lookAgain(file, file.expiresAt ?? 0);
}

/** Deletes all objects of a file that is over, and, when its time has come or its account is gone, the record of it. */
async function clearAway({ bucket, ledger }: CleaningContext, file: FileRow, isOrphan: boolean, now: number) {
  await deleteObjects(bucket, file);
  if (file.lease !== null) {
    await ledger.close(file, now + LONGEST_WORK);
    return;
  }
  const recordEnd = isOrphan ? now : (file.completedAt ?? file.createdAt) + FILE_RECORD_LIFETIME;
  await (recordEnd <= now ? ledger.forget(file) : ledger.close(file, recordEnd));
}
