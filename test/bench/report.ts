/** Prints figures as they come, each with its limit, and remembers whether one failed. */
export class Report {
  failed = false;

  heading(text: string): void {
    console.log(`\n${text}`);
  }

  /** A figure that has no limit. */
  note(text: string): void {
    console.log(`         ${text}`);
  }

  /** A figure that must be at most `limit`. */
  atMost(limit: number, figure: number, what: string): void {
    this.verdict(figure <= limit, `${what}: ${figure} (at most ${limit})`);
  }

  /** A figure that must be below `limit`. */
  below(limit: number, figure: number, what: string): void {
    this.verdict(figure < limit, `${what}: ${figure} (below ${limit})`);
  }

  verdict(holds: boolean, text: string): void {
    this.failed ||= !holds;
    console.log(`  ${holds ? 'pass' : 'FAIL'}   ${text}`);
  }
}

/** The middle one of some figures, or the mean of the middle two. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
