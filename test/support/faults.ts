/**
 * How a database call fails: before it does anything, or after it has committed, when only the
 * answer is lost.
 */
export type FaultMode = 'before' | 'after';

/** A real D1 database that can fail a call, or run something before it. */
export class FaultyDatabase {
  /** The number of calls since `arm` or `before`. */
  calls = 0;
  private failing: { call: number; mode: FaultMode } | null = null;
  private meanwhile: { left: number; among: RegExp; happens: () => Promise<unknown> } | null = null;
  private refused: RegExp | null = null;

  constructor(private readonly database: D1Database) {}

  /**
   * Restarts the count of calls, and fails the call with this number, counted from 1; null fails
   * none.
   */
  arm(fault: { call: number; mode: FaultMode } | null): void {
    this.calls = 0;
    this.failing = fault;
  }

  /**
   * Restarts the count of calls, and runs something before the call with this number, counted from
   * 1 among the calls with a statement that matches; by default among all.
   */
  before(call: number, happens: () => Promise<unknown>, among = /(?:)/): void {
    this.calls = 0;
    this.meanwhile = { left: call, among, happens };
  }

  /** Fails every call with a statement that matches; null fails none. */
  refuse(statement: RegExp | null): void {
    this.refused = statement;
  }

  /** The binding for the service. */
  get binding(): D1Database {
    const texts = new WeakMap<D1PreparedStatement, string>();
    const faulty = {
      prepare: (sql: string) => {
        const prepared = this.database.prepare(sql);
        const bind = prepared.bind.bind(prepared);
        texts.set(prepared, sql);
        prepared.bind = (...values: unknown[]) => {
          const statement = bind(...values);
          texts.set(statement, `${sql} ${JSON.stringify(values)}`);
          return statement;
        };
        return prepared;
      },
      batch: (statements: D1PreparedStatement[]) => this.batch(statements, texts),
    };
    return faulty as unknown as D1Database;
  }

  private async batch(
    statements: D1PreparedStatement[],
    texts: WeakMap<D1PreparedStatement, string>,
  ): Promise<D1Result[]> {
    this.calls += 1;
    const { meanwhile } = this;
    const matches = (pattern: RegExp) =>
      statements.some((statement) => pattern.test(texts.get(statement) ?? ''));
    if (meanwhile && matches(meanwhile.among) && --meanwhile.left === 0) {
      this.meanwhile = null;
      await meanwhile.happens();
    }
    const { failing, refused } = this;
    const fails = failing?.call === this.calls;
    const isRefused = refused !== null && matches(refused);
    if (isRefused || (fails && failing.mode === 'before'))
      throw new Error('D1_ERROR: Network connection lost.');
    const results = await this.database.batch(statements);
    if (fails) throw new Error('D1_ERROR: Network connection lost.');
    return results;
  }
}
