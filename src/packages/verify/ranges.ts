/** A set of whole numbers, stored as ranges. */
export class RangeSet {
  /** Sorted, with gaps between them. */
  private readonly ranges: [number, number][] = [];

  /** @param ranges pairs of first and last numbers, in any order */
  constructor(ranges: [number, number][]) {
    for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
      const before = this.ranges.at(-1);
      if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
      else this.ranges.push([first, last]);
    }
  }

  has(number: number): boolean {
    return this.firstOutside(number, number) === null;
  }

  /** The first number from `first` to `last` that is not in the set; null if all are. */
  firstOutside(first: number, last: number): number | null {
    if (first > last) return null;
    const [low, high] = this.ranges[this.find(first)] ?? [Number.POSITIVE_INFINITY, 0];
    if (low > first) return first;
    return high >= last ? null : high + 1;
  }

  /** How many of the numbers from 1 to `last` are in the set. */
  countUpTo(last: number): number {
    return this.ranges.reduce(
      (sum, [low, high]) => sum + Math.max(0, Math.min(high, last) - low + 1),
      0,
    );
  }

  /** The index of the first range that ends at the number or after it. */
  private find(number: number): number {
    let [from, to] = [0, this.ranges.length];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if ((this.ranges[middle]?.[1] ?? 0) < number) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
