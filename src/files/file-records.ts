import { and, eq, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/database';
import { type FileKind, files } from '../db/schema';
import type { InternalWriter } from '../ledger/ledger';
import type { Id } from '../lib/typeid';
import { recordFileOutcomes } from '../outbox/feed';

export type FileRow = typeof files.$inferSelect;

/** Names a file: identifiers of one account alone say nothing of another's. */
export interface FileKey {
  account: number | SQL<number>;
  kind: FileKind;
  id: Id<'export'>;
}

/** A file on which somebody works, by the lease that was drawn for it. */
export interface LeasedFile extends FileKey {
  lease: Uint8Array;
}

/** How far the making of a file is. */
export type FileProgress = Partial<Pick<FileRow, 'attempts' | 'state' | 'uploadId' | 'lease' | 'dueAt'>>;

/** How the making of a file ended. */
export type FileOutcome = {
  /** When the sweep is to look at what is left of it; undefined where that stays as it was. */
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
 * Completes or fails files of an account that are in the making. Nothing else does: what webhooks are to hear of it is
 * written down here, in the same transaction.
 * @param which of the files in the making
 */
export function finishFiles(
  write: InternalWriter,
  account: number | SQL<number>,
  which: SQL | undefined,
  outcome: FileOutcome,
  now: number,
) {
  // What a finished file was made with is found by its place.
  const leftOver = outcome.status === 'completed' ? { lease: null, state: null, uploadId: null } : {};
  const processing = and(eq(files.status, 'processing'), which);
  return [
    ...recordFileOutcomes(write, account, processing, outcome.status === 'failed', now),
    write
      .update(files)
      .set({ ...outcome, ...leftOver })
      .where(processing)
      .returning({ id: files.id }),
  ] as const;
}

/** What the work on files writes down. Guards are in the statements: each says whether it still held. */
export class FileRecords {
  /** @param announce is called when webhooks wait to be told how a file ended */
  constructor(
    private readonly database: Database,
    private readonly announce: (() => void) | null = null,
  ) {}

  /**
   * Takes the lease of a file in the making.
   * @param until when others may take it, in milliseconds since the epoch
   * @returns null when somebody holds it, or the file is not in the making
   */
  async takeLease({ lease, ...key }: LeasedFile, now: number, until: number): Promise<FileRow | null> {
    const isFree = or(isNull(files.lease), lte(files.dueAt, now));
    const [[file]] = await this.database.run([
      this.database.build
        .update(files)
        .set({ lease, attempts: sql`${files.attempts} + 1`, dueAt: until })
        .where(and(isFile(key), eq(files.status, 'processing'), isFree))
        .returning(),
    ]);
    return file ?? null;
  }

  /** Writes down progress; answers whether the lease was still held. */
  async saveProgress(file: LeasedFile, progress: FileProgress): Promise<boolean> {
    const [rows] = await this.database.run([
      this.database.build
        .update(files)
        .set(progress)
        .where(and(eq(files.status, 'processing'), isLeased(file)))
        .returning({ id: files.id }),
    ]);
    return rows.length > 0;
  }

  /** Completes or fails a file; answers whether the lease was still held. */
  async settle(file: LeasedFile, outcome: FileOutcome, now: number): Promise<boolean> {
    const write = this.database.build as unknown as InternalWriter;
    const [told, , rows] = await this.database.run(finishFiles(write, file.account, isLeased(file), outcome, now));
    if ((told as D1Result).meta.changes > 0) this.announce?.();
    return rows.length > 0;
  }

  /** Has the sweep look at a file at a time, if it is still as it was found. */
  async lookAgain(file: FileRow, dueAt: number): Promise<void> {
    await this.database.run([this.database.build.update(files).set({ dueAt }).where(isUnchanged(file))]);
  }

  /** Writes down that nothing is left of a file that is over but the record of it, which the sweep is to look at again. */
  async close(file: FileRow, dueAt: number): Promise<void> {
    const status = file.status === 'completed' ? 'expired' : file.status;
    const nothing = { lease: null, state: null, uploadId: null };
    await this.database.run([
      this.database.build
        .update(files)
        .set({ status, dueAt, ...nothing })
        .where(isUnchanged(file)),
    ]);
  }

  /** Deletes the record of a file that is over. */
  async forget(file: FileRow): Promise<void> {
    await this.database.run([this.database.build.delete(files).where(isUnchanged(file))]);
  }
}

function isLeased({ lease, ...key }: LeasedFile) {
  return and(isFile(key), eq(files.lease, lease));
}

function isUnchanged(file: FileRow) {
  return and(isFile(file), eq(files.status, file.status));
}
