/** Prints figures with their limits, and counts those that fail. */
export class Report {
  passed = 0;
  failed = 0;

  heading(text: string): void {
    console.log(`\n${text}`);
  }

  /** Prints a figure without a limit. */
  note(text: string): void {
    console.log(`         ${text}`);
  }

  /** Prints a figure that must be at most `limit`. */
  atMost(limit: number, figure: number, what: string): void {
    this.verdict(figure <= limit, `${what}: ${figure} (at most ${limit})`);
  }

  /** Prints a figure that must be below `limit`. */
  below(limit: number, figure: number, what: string): void {
    this.verdict(figure < limit, `${what}: ${figure} (below ${limit})`);
  }

  /** Prints how many of the lines with a limit passed. */
  summary(): void {
    console.log(`\n${this.passed} of ${this.passed + this.failed} lines pass`);
  }

  verdict(holds: boolean, text: string): void {
    if (holds) this.passed += 1;
    else this.failed += 1;
    console.log(`  ${holds ? 'pass' : 'FAIL'}   ${text}`);
  }
}

/** The median: the middle figure, or the mean of the middle two. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** The quantile: the figure that a share of all figures, from 0 to 1, does not exceed. */
export function quantile(figures: readonly number[], part: number): number {
  const sorted = figures.toSorted((a, b) => a - b);
  return sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
}
