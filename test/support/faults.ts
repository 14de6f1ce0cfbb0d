/** How a database call fails: before it does anything, or after it has committed, when only the answer is lost. */
export type FaultMode = 'before' | 'after';

/** A real D1 database whose calls can be made to fail. */
export class FaultyDatabase {
  /** Calls so far. */
  calls = 0;
  private failing: { call: number; mode: FaultMode } | null = null;

  constructor(private readonly database: D1Database) {}

  /** Starts counting anew, and fails one call, counted from 1; null fails none. */
  arm(fault: { call: number; mode: FaultMode } | null): void {
    this.calls = 0;
    this.failing = fault;
  }

  /** The database as the service gets it. */
  get binding(): D1Database {
    const faulty = {
      prepare: (sql: string) => this.database.prepare(sql),
      batch: (statements: D1PreparedStatement[]) => this.batch(statements),
    };
    return faulty as unknown as D1Database;
  }

  private async batch(statements: D1PreparedStatement[]): Promise<D1Result[]> {
    this.calls += 1;
    const fails = this.failing?.call === this.calls;
    if (fails && this.failing?.mode === 'before') throw new Error('D1_ERROR: Network connection lost.');
    const results = await this.database.batch(statements);
    if (fails) throw new Error('D1_ERROR: Network connection lost.');
    return results;
  }
}
