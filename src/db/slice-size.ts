const MAX_ROWS = 500;
const INITIAL_ROWS = 100;
const MIN_ROWS = 50;
/**
 * After a slice that took longer than SLOW_MS the size is halved; after one faster than FAST_MS it
 * grows.
 */
const SLOW_MS = 60;
const FAST_MS = 30;
const GROWTH = 1.5;

/**
 * Adapts the number of rows in a slice, the part of a background task that is done at once, to how
 * long slices take.
 *
 * D1 answers no other request while it runs a batch, and the time that a row takes depends on the
 * load.
 */
export class SliceSize {
  private size: number;

  /** @param largest the maximum number of rows in a slice */
  constructor(private readonly largest = MAX_ROWS) {
    this.size = Math.min(INITIAL_ROWS, largest);
  }

  /** The number of rows for the next slice. */
  get rows(): number {
    return Math.floor(this.size);
  }

  /**
   * Runs a slice, and sets the size of the next one by the time it took.
   * @param clock milliseconds
   */
  async measure<R>(clock: () => number, slice: () => Promise<R>): Promise<R> {
    const start = clock();
    const result = await slice();
    const taken = clock() - start;
    if (taken > SLOW_MS) this.size = Math.max(Math.min(MIN_ROWS, this.largest), this.size / 2);
    else if (taken < FAST_MS) this.size = Math.min(this.largest, this.size * GROWTH);
    return result;
  }
}
