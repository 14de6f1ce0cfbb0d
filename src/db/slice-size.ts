const LARGEST = 500;
const FIRST = 100;
const SMALLEST = 50;
/** Milliseconds: a slice that takes longer than LONG is followed by one of half its size, one below SHORT by a larger one. */
const LONG = 60;
const SHORT = 30;
const GROWTH = 1.5;

/**
 * Adapts the number of rows in a slice of background work to how long the slices take.
 *
 * D1 answers no other request during a slice, and the time that a row takes depends on the load.
 */
export class SliceSize {
  private size: number;

  /** @param largest the maximum number of rows in a slice */
  constructor(private readonly largest = LARGEST) {
    this.size = Math.min(FIRST, largest);
  }

  get rows(): number {
    return Math.floor(this.size);
  }

  /** Runs a slice, and sets the size of the next one by the time it took. */
  async measure<R>(clock: () => number, slice: () => Promise<R>): Promise<R> {
    const begun = clock();
    const result = await slice();
    const taken = clock() - begun;
    if (taken > LONG) this.size = Math.max(Math.min(SMALLEST, this.largest), this.size / 2);
    else if (taken < SHORT) this.size = Math.min(this.largest, this.size * GROWTH);
    return result;
  }
}
