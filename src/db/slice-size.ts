const LARGEST = 500;
const FIRST = 100;
const SMALLEST = 50;
/** A slice that took longer, in milliseconds, is followed by one of half its size; by a larger one only if it was fast. */
const LONG = 60;
const SHORT = 30;
const GROWTH = 1.5;

/**
 * How many rows a slice of an erasure or of a move takes: D1 answers nobody else meanwhile, and how long it needs for a
 * row depends on what else there is to do.
 */
export class SliceSize {
  private size: number;

  /** @param largest the most rows that a slice may have */
  constructor(private readonly largest = LARGEST) {
    this.size = Math.min(FIRST, largest);
  }

  get rows(): number {
    return Math.floor(this.size);
  }

  /** Does a slice, and learns from how long it took. */
  async measure<R>(clock: () => number, slice: () => Promise<R>): Promise<R> {
    const begun = clock();
    const result = await slice();
    const taken = clock() - begun;
    if (taken > LONG) this.size = Math.max(Math.min(SMALLEST, this.largest), this.size / 2);
    else if (taken < SHORT) this.size = Math.min(this.largest, this.size * GROWTH);
    return result;
  }
}
