import type { Runtime } from '../env';
import type { Ledger } from '../ledger/ledger';
import { SECOND } from '../lib/time';
import {
  claimFile,
  type FileKey,
  type FileOutcome,
  type FileProgress,
  type FileRow,
  finishFile,
  saveFileProgress,
} from './file-records';

/** How long a lease lasts, in milliseconds. After a crash another job can take over once it has expired. */
export const LEASE_DURATION = 25 * SECOND;

/** {@link Lease.renew} writes only when the last renewal is older than this, in milliseconds. */
const RENEWAL_INTERVAL = 8 * SECOND;

const TOKEN_BYTES = 8;

/** Another job holds the lease, or the file is no longer processing. */
export class LeaseLost extends Error {}

interface LeaseContext {
  ledger: Ledger;
  runtime: Runtime;
  /** Called when the file's outcome waits for the account's webhooks. */
  announce: () => void;
}

/** The right to work on a file. A job writes its progress only while it holds the lease. */
export class Lease {
  private renewedAt: number;

  private constructor(
    private readonly context: LeaseContext,
    private readonly key: FileKey,
    private readonly token: Uint8Array,
  ) {
    this.renewedAt = context.runtime.now();
  }

  /** Takes the lease of a processing file; null if another job holds it, or the file is not processing. */
  static async claim(context: LeaseContext, key: FileKey): Promise<{ lease: Lease; file: FileRow } | null> {
    const lease = new Lease(context, key, context.runtime.random(TOKEN_BYTES));
    const { renewedAt } = lease;
    const file = await claimFile(context.ledger, lease.file, renewedAt, renewedAt + LEASE_DURATION);
    return file && { lease, file };
  }

  /**
   * Completes or fails the file.
   * @throws LeaseLost
   */
  async finish(outcome: FileOutcome): Promise<void> {
    const { ledger, runtime, announce } = this.context;
    const { isHeld, isPending } = await finishFile(ledger, this.file, outcome, runtime.now());
    if (isPending) announce();
    if (!isHeld) throw new LeaseLost();
  }

  /**
   * Saves progress, renews the lease and resets the number of attempts.
   * @throws LeaseLost
   */
  async advance(progress: FileProgress): Promise<void> {
    const now = this.context.runtime.now();
    await this.write({ ...progress, attempts: 0, dueAt: now + LEASE_DURATION });
    this.renewedAt = now;
  }

  /**
   * Renews the lease, if the last renewal is some seconds old.
   * @throws LeaseLost
   */
  async renew(): Promise<void> {
    const now = this.context.runtime.now();
    if (now < this.renewedAt + RENEWAL_INTERVAL) return;
    await this.write({ dueAt: now + LEASE_DURATION });
    this.renewedAt = now;
  }

  /**
   * Gives the lease back after progress, so that the next job can continue at once.
   * @throws LeaseLost
   */
  async release(): Promise<void> {
    await this.write({ lease: null, attempts: 0, dueAt: this.context.runtime.now() });
  }

  /**
   * Keeps every job off the file for so many milliseconds.
   * @throws LeaseLost
   */
  async backOff(duration: number): Promise<void> {
    await this.write({ dueAt: this.context.runtime.now() + duration });
  }

  private get file() {
    return { ...this.key, lease: this.token };
  }

  private async write(progress: FileProgress): Promise<void> {
    if (!(await saveFileProgress(this.context.ledger, this.file, progress))) throw new LeaseLost();
  }
}
