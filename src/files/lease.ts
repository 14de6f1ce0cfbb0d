import { and, eq, isNull, lte, or, sql } from 'drizzle-orm';
import { files } from '../db/schema';
import type { Runtime } from '../env';
import type { Ledger } from '../ledger/ledger';
import { SECOND } from '../lib/time';
import { type FileKey, type FileResult, type FileRow, finishFiles, isFile } from './file-records';

/**
 * How long a lease lasts, in milliseconds. After a crash another job can take over once it has
 * expired.
 */
export const LEASE_DURATION = 25 * SECOND;

/**
 * {@link Lease.renew} writes only when the last renewal is at least as old as this, in
 * milliseconds.
 */
const RENEWAL_INTERVAL = 8 * SECOND;

const TOKEN_BYTES = 8;

/** Another job holds the lease, or the file is no longer processing. */
export class LeaseLost extends Error {}

export interface LeaseContext {
  ledger: Ledger;
  runtime: Runtime;
  /**
   * Called once a file is completed or failed, if the account has a receiver that has to learn of
   * it.
   */
  onEvent: () => void;
}

/**
 * The right of one job to work on a file. Nothing is written for a job that has lost its lease:
 * each method that writes throws {@link LeaseLost} then.
 */
export class Lease {
  private constructor(
    private readonly context: LeaseContext,
    private readonly file: FileRow,
    private readonly token: Uint8Array,
    private renewedAt: number,
  ) {}

  /**
   * Takes the lease of a processing file and counts the attempt.
   * @returns null if another job holds the lease, or the file is not processing
   */
  static async claim(
    context: LeaseContext,
    key: FileKey,
  ): Promise<{ lease: Lease; file: FileRow } | null> {
    const { ledger, runtime } = context;
    const now = runtime.now();
    const token = runtime.random(TOKEN_BYTES);
    const isFree = or(isNull(files.lease), lte(files.dueAt, now));
    const [[file]] = await ledger.write({
      changes: (write) => [
        write
          .update(files)
          .set({ lease: token, attempts: sql`${files.attempts} + 1`, dueAt: now + LEASE_DURATION })
          .where(and(isFile(key), eq(files.status, 'processing'), isFree))
          .returning(),
      ],
    });
    if (!file) return null;
    return { lease: new Lease(context, file, token, now), file };
  }

  /** Completes or fails the file. */
  async finish(result: FileResult): Promise<void> {
    const { ledger, runtime, onEvent } = this.context;
    const [recorded, , finished] = await ledger.write({
      changes: (write) =>
        finishFiles(write, this.file.account, this.isHeld(), result, runtime.now()),
    });
    if ((recorded as D1Result).meta.changes > 0) onEvent();
    if (finished.length === 0) throw new LeaseLost();
  }

  /** Saves progress, renews the lease and resets the number of attempts. */
  async advance(progress: Partial<Pick<FileRow, 'state' | 'uploadId'>>): Promise<void> {
    const now = this.context.runtime.now();
    await this.update({ ...progress, attempts: 0, dueAt: now + LEASE_DURATION });
    this.renewedAt = now;
  }

  /** Renews the lease if the last renewal is older than {@link RENEWAL_INTERVAL}. */
  async renew(): Promise<void> {
    const now = this.context.runtime.now();
    if (now < this.renewedAt + RENEWAL_INTERVAL) return;
    await this.update({ dueAt: now + LEASE_DURATION });
    this.renewedAt = now;
  }

  /** Gives the lease back after progress, so that the next job can continue at once. */
  async release(): Promise<void> {
    await this.update({ lease: null, attempts: 0, dueAt: this.context.runtime.now() });
  }

  /** Lets no job take the file for `duration` milliseconds. */
  async backOff(duration: number): Promise<void> {
    await this.update({ dueAt: this.context.runtime.now() + duration });
  }

  private async update(columns: Partial<FileRow>): Promise<void> {
    const isMine = and(eq(files.status, 'processing'), this.isHeld());
    const [rows] = await this.context.ledger.write({
      changes: (write) => [
        write.update(files).set(columns).where(isMine).returning({ id: files.id }),
      ],
    });
    if (rows.length === 0) throw new LeaseLost();
  }

  private isHeld() {
    return and(isFile(this.file), eq(files.lease, this.token));
  }
}
