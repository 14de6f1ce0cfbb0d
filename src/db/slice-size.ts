const MAX_ROWS = 500;
const INITIAL_ROWS = 100;
const MIN_ROWS = 50;
/** After a slower slice the size is halved; after a faster one it grows. */
const SLOW_MS = 60;
const FAST_MS = 30;
const GROWTH = 1.5;

/**
 * Adapts the number of rows in a slice of background work to how long the slices take.
 *
 * D1 answers no other request during a slice, and the time that a row takes depends on the load.
 */
export class SliceSize {
  private size: number;

  /** @param largest the maximum number of rows in a slice */
  constructor(private readonly largest = MAX_ROWS) {
    this.size = Math.min(INITIAL_ROWS, largest);
  }

  get rows(): number {
    return Math.floor(this.size);
  }

  /** Runs a slice, and sets the size of the next one by the time it took. */
  async measure<R>(clock: () => number, slice: () => Promise<R>): Promise<R> {
    const start = clock();
    const result = await slice();
    const taken = clock() - start;
    if (taken > SLOW_MS) this.size = Math.max(Math.min(MIN_ROWS, this.largest), this.size / 2);
    else if (taken < FAST_MS) this.size = Math.min(this.largest, this.size * GROWTH);
    return result;
  }
}
