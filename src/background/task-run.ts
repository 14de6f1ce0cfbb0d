import { Cost } from '../db/database';
import type { Runtime } from '../env';
import { log, logFailure, withLogFields } from '../lib/log';

/** Does a slice of some work, and answers whether there is more. */
export type Slice = () => Promise<boolean>;

/** A kind of work that a cron does on one shard, slice by slice, and what it took so far. */
export class Work {
  hasMore = true;
  private slices = 0;
  private duration = 0;
  private readonly spent = new Cost();

  constructor(
    private readonly cron: string,
    private readonly shard: string,
    private readonly name: string,
    private readonly slice: Slice,
  ) {}

  /**
   * Does one slice. Work that is done, or fails, has no more; the log then tells of it in one line, if it changed
   * anything.
   * @param cost what the whole run cost so far
   */
  async doSlice(cost: Cost, runtime: Runtime): Promise<void> {
    const before = { ...cost };
    const start = runtime.now();
    const fields = { cron: this.cron, shard: this.shard, work: this.name };
    await withLogFields(fields, async () => {
      let failure: { error: unknown } | null = null;
      try {
        this.hasMore = await this.slice();
      } catch (error) {
        failure = { error };
        this.hasMore = false;
      }
      this.slices += 1;
      this.duration += runtime.now() - start;
      this.spent.add(cost, before);
      if (failure) logFailure('cron', failure.error, this.describe('failed'));
      else if (!this.hasMore && this.spent.rowsWritten > 0) log('cron', this.describe('done'));
    });
  }

  /** Leaves what there is more of to the next run, and tells the log so. */
  leave(): void {
    log('cron', { cron: this.cron, shard: this.shard, work: this.name, ...this.describe('unfinished') });
  }

  private describe(outcome: 'done' | 'unfinished' | 'failed') {
    return { outcome, slices: this.slices, duration_ms: this.duration, ...this.spent.fields() };
  }
}
