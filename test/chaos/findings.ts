const SHOWN = 8;

/** Collects the differences that checks find, by subject. */
export class Findings {
  /** The number of comparisons. */
  compared = 0;
  private readonly differences = new Map<string, string[]>();

  /** Records a difference unless `holds`. */
  check(holds: boolean, about: string, difference: () => string): void {
    this.compared += 1;
    if (!holds) this.differ(about, difference());
  }

  differ(about: string, difference: string): void {
    const known = this.differences.get(about) ?? [];
    this.differences.set(about, known);
    known.push(difference);
  }

  get count(): number {
    return this.differences.values().reduce((sum, { length }) => sum + length, 0);
  }

  describe(): string {
    return this.differences
      .entries()
      .map(([about, all]) => {
        const more = all.length > SHOWN ? [`… and ${all.length - SHOWN} more`] : [];
        return [`${about}: ${all.length}`, ...all.slice(0, SHOWN), ...more].join('\n    ');
      })
      .toArray()
      .join('\n  ');
  }
}
