/** How a database call fails: before it does anything, or after it has committed, when only the answer is lost. */
export type FaultMode = 'before' | 'after';

/** A real D1 database whose calls can be made to fail, or to come late. */
export class FaultyDatabase {
  /** Calls so far. */
  calls = 0;
  private failing: { call: number; mode: FaultMode } | null = null;
  private meanwhile: { call: number; happens: () => Promise<unknown> } | null = null;
  private refused: RegExp | null = null;

  constructor(private readonly database: D1Database) {}

  /** Starts counting anew, and fails one call, counted from 1; null fails none. */
  arm(fault: { call: number; mode: FaultMode } | null): void {
    this.calls = 0;
    this.failing = fault;
  }

  /** Starts counting anew, and lets something happen right before a call, counted from 1. */
  before(call: number, happens: () => Promise<unknown>): void {
    this.calls = 0;
    this.meanwhile = { call, happens };
  }

  /** Fails every call that has a statement like this. */
  refuse(statement: RegExp | null): void {
    this.refused = statement;
  }

  /** The database as the service gets it. */
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
    if (meanwhile?.call === this.calls) {
      this.meanwhile = null;
      await meanwhile.happens();
    }
    const { failing, refused } = this;
    const fails = failing?.call === this.calls;
    const isRefused = refused !== null && statements.some((statement) => refused.test(texts.get(statement) ?? ''));
    if (isRefused || (fails && failing.mode === 'before')) throw new Error('D1_ERROR: Network connection lost.');
    const results = await this.database.batch(statements);
    if (fails) throw new Error('D1_ERROR: Network connection lost.');
    return results;
  }
}
