import type { Runtime } from '../env';
import { SECOND } from '../lib/time';
import type { FileKey, FileOutcome, FileProgress, FileRecords, FileRow } from './file-records';

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
    private readonly ledger: FileRecords,
    private readonly runtime: Runtime,
    private readonly key: FileKey,
    private readonly token: Uint8Array,
  ) {
    this.renewedAt = runtime.now();
  }

  /** Takes the lease of a file in the making; null when somebody holds it, or the file is not in the making. */
  static async take(
    ledger: FileRecords,
    runtime: Runtime,
    key: FileKey,
  ): Promise<{ lease: Lease; file: FileRow } | null> {
    const lease = new Lease(ledger, runtime, key, runtime.random(LEASE_BYTES));
    const file = await ledger.takeLease(lease.file, lease.renewedAt, lease.renewedAt + LEASE);
    return file && { lease, file };
  }

  /**
   * Completes or fails the file.
   * @throws LeaseLost
   */
  async settle(outcome: FileOutcome): Promise<void> {
    if (!(await this.ledger.settle(this.file, outcome, this.runtime.now()))) throw new LeaseLost();
  }

  /**
   * Writes down progress, with which the lease begins anew.
   * @throws LeaseLost
   */
  async advance(progress: FileProgress): Promise<void> {
    const now = this.runtime.now();
    await this.write({ ...progress, attempts: 0, dueAt: now + LEASE });
    this.renewedAt = now;
  }

  /**
   * Renews a lease that is getting old.
   * @throws LeaseLost
   */
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

  /** Gives the lease back like {@link release}, after progress that is written down elsewhere. */
  async passOn(): Promise<void> {
    await this.write({ lease: null, attempts: 0, dueAt: this.runtime.now() });
  }

  /** Leaves the file alone, for so many milliseconds: nobody takes it up before. */
  async rest(duration: number): Promise<void> {
    await this.write({ dueAt: this.runtime.now() + duration });
  }

  private get file() {
    return { ...this.key, lease: this.token };
  }

  private async write(progress: FileProgress): Promise<void> {
    if (!(await this.ledger.saveProgress(this.file, progress))) throw new LeaseLost();
  }
}
