import { Cost } from '../db/database';
import type { Runtime } from '../env';
import { AccountHeld } from '../ledger/hold';
import { log, logFailure, withLogFields } from '../lib/log';
import type { Slice } from '../task';

/** One run of a task on one shard, and what it has cost so far. */
export class TaskRun {
  hasMore = true;
  private slices = 0;
  private duration = 0;
  private readonly cost = new Cost();

  /** @param fields identify the run in the logs */
  constructor(
    private readonly fields: { cron: string; shard: string; task: string },
    private readonly slice: Slice,
  ) {}

  /**
   * Runs one slice, and sets `hasMore`. After a failure there is no more. A run that ends logs one
   * line, if it failed or wrote anything.
   * @param total the counter with which the databases of the slice were opened. Its increase is the
   *   slice's cost.
   */
  async runSlice(total: Cost, runtime: Runtime): Promise<void> {
    const before = { ...total };
    const start = runtime.now();
    await withLogFields(this.fields, async () => {
      let failure: { error: unknown } | null = null;
      try {
        this.hasMore = await this.slice();
      } catch (error) {
        // A run of the next minute goes on where an account is held for its move.
        if (!(error instanceof AccountHeld)) failure = { error };
        this.hasMore = false;
      }
      this.slices += 1;
      this.duration += runtime.now() - start;
      this.cost.add(total, before);
      if (failure) logFailure('cron', failure.error, this.describe('failed'));
      else if (!this.hasMore && this.cost.rowsWritten > 0) log('cron', this.describe('done'));
    });
  }

  /** Logs that the rest is left to the next run. */
  stop(): void {
    log('cron', { ...this.fields, ...this.describe('unfinished') });
  }

  private describe(outcome: 'done' | 'unfinished' | 'failed') {
    return { outcome, slices: this.slices, duration_ms: this.duration, ...this.cost.fields() };
  }
}
