import { and, asc, eq, isNotNull, lte, ne, sql } from 'drizzle-orm';
import type { Database } from '../db/database';
import { accounts, files } from '../db/schema';
import type { JobMessage } from '../env';
import { SECOND } from '../lib/time';
import { type FileRow, fileId, isFile } from './file';
import { LEASE } from './lease';
import { deleteObjects, deleteStates } from './storage';

/** Files that one slice looks at; each takes some calls of R2. */
const SLICE = 20;
/** Messages that one slice sends, which is as many as a queue takes at once. */
const MESSAGES = 100;

/**
 * Sends a message for files in the making on which nobody works, or may not in a moment: work that was interrupted goes
 * on as soon as its lease is over. A message for a file that somebody works on does nothing.
 */
export async function resumeFiles(
  database: Database,
  queue: Queue<JobMessage>,
  shard: string,
  now: number,
): Promise<boolean> {
  const [due] = await database.load([
    database
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
 * Removes what is left of some files that are over: the objects of those that expired or failed, and what finished ones
 * were made with.
 * @returns whether there may be more
 */
export async function cleanFiles(database: Database, bucket: R2Bucket, now: number): Promise<boolean> {
  const [due] = await database.load([
    database
      .select()
      .from(files)
      .where(and(isNotNull(files.dueAt), lte(files.dueAt, now), ne(files.status, 'processing')))
      .orderBy(asc(files.dueAt))
      .limit(SLICE),
  ]);
  for (const file of due) {
    const isFinished = file.status === 'completed' && (file.expiresAt ?? 0) > now;
    await (isFinished ? tidyUp(database, bucket, file) : clearAway(database, bucket, file));
  }
  return due.length === SLICE;
}

/** Deletes what a finished file was made with. The sweep looks again when the file expires. */
export async function tidyUp(database: Database, bucket: R2Bucket, file: FileRow): Promise<void> {
  await deleteStates(bucket, file);
  await database.run([
    database.build
      .update(files)
      .set({ dueAt: file.expiresAt })
      .where(and(isFile(file), eq(files.status, 'completed'))),
  ]);
}

/** Deletes all objects of a file that is over, and of a deleted account's also the record of it. */
async function clearAway(database: Database, bucket: R2Bucket, file: FileRow): Promise<void> {
  await deleteObjects(bucket, file);
  const { build } = database;
  const isOrphan = sql`not exists (select 1 from ${accounts} where ${accounts.number} = ${files.account})`;
  await database.run([
    build
      .update(files)
      .set({
        status: file.status === 'completed' ? 'expired' : file.status,
        lease: null,
        state: null,
        uploadId: null,
        dueAt: null,
      })
      .where(and(isFile(file), eq(files.status, file.status))),
    build.delete(files).where(and(isFile(file), ne(files.status, 'processing'), isOrphan)),
  ]);
}
