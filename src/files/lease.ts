import { and, eq, isNull, lte, or, sql } from 'drizzle-orm';
import type { Batch, Database } from '../db/database';
import { files } from '../db/schema';
import type { Runtime } from '../env';
import { tellOutcomes } from '../ledger/feed';
import { SECOND } from '../lib/time';
import { type FileKey, type FileRow, isFile } from './file';

/** How long work on a file is left alone, in milliseconds; what a crash interrupted waits no longer. */
export const LEASE = 25 * SECOND;

/** A lease that is older than this is renewed before more is done. */
const RENEWAL = 8 * SECOND;

const LEASE_BYTES = 8;

/** Somebody else works on the file, or nobody is to any more. */
export class LeaseLost extends Error {}

/** The right to work on a file: everything that is written of its progress is written under it, or not at all. */
export class Lease {
  private renewedAt: number;

  private constructor(
    private readonly database: Database,
    private readonly runtime: Runtime,
    private readonly key: FileKey,
    private readonly token: Uint8Array,
  ) {
    this.renewedAt = runtime.now();
  }

  /** Takes the lease of a file in the making; null when somebody holds it, or the file is not in the making. */
  static async take(
    database: Database,
    runtime: Runtime,
    key: FileKey,
  ): Promise<{ lease: Lease; file: FileRow } | null> {
    const now = runtime.now();
    const lease = new Lease(database, runtime, key, runtime.random(LEASE_BYTES));
    const isFree = or(isNull(files.lease), lte(files.dueAt, now));
    const [[file]] = await database.run([
      database.build
        .update(files)
        .set({ lease: lease.token, attempts: sql`${files.attempts} + 1`, dueAt: now + LEASE })
        .where(and(isFile(key), eq(files.status, 'processing'), isFree))
        .returning(),
    ]);
    return file ? { lease, file } : null;
  }

  /**
   * Writes down what has become of the file.
   * @throws LeaseLost
   */
  async write(change: Partial<typeof files.$inferInsert>): Promise<void> {
    const { database, key, token } = this;
    const isHeld = and(isFile(key), eq(files.status, 'processing'), eq(files.lease, token));
    const isFailure = change.status === 'failed';
    const results = await database.run([
      ...(change.status ? tellOutcomes(database.build, key.account, isHeld, isFailure, this.runtime.now()) : []),
      database.build.update(files).set(change).where(isHeld).returning({ account: files.account }),
    ] as unknown as Batch);
    const rows = results.at(-1) as unknown[];
    if (rows.length === 0) throw new LeaseLost();
  }

  /** Writes down progress, with which the lease begins anew. */
  async advance(change: Partial<typeof files.$inferInsert>): Promise<void> {
    const now = this.runtime.now();
    await this.write({ ...change, attempts: 0, dueAt: now + LEASE });
    this.renewedAt = now;
  }

  /** Renews a lease that is getting old. */
  async renew(): Promise<void> {
    const now = this.runtime.now();
    if (now < this.renewedAt + RENEWAL) return;
    await this.write({ dueAt: now + LEASE });
    this.renewedAt = now;
  }

  /** Gives the lease back, for the next to go on at once. */
  async release(): Promise<void> {
    await this.write({ lease: null, dueAt: this.runtime.now() });
  }
}
