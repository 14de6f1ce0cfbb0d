import type { BatchResponse } from 'drizzle-orm/batch';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { unavailable } from '../errors';
import { logFailure } from '../lib/log';
import { resultMapper } from './result-mapper';
import { type Batch, builder, prepare, type Query, type Statement } from './statements';

type CostFigures = Pick<Cost, 'trips' | 'statements' | 'rowsRead' | 'rowsWritten'>;

/**
 * The cost of a request or background job so far: round trips, statements, and the rows that D1
 * read and wrote.
 */
export class Cost {
  trips = 0;
  statements = 0;
  rowsRead = 0;
  rowsWritten = 0;

  /** Adds what another counter has counted between two readings. */
  add(after: CostFigures, before: CostFigures): void {
    this.trips += after.trips - before.trips;
    this.statements += after.statements - before.statements;
    this.rowsRead += after.rowsRead - before.rowsRead;
    this.rowsWritten += after.rowsWritten - before.rowsWritten;
  }

  /** The cost as log fields. */
  fields() {
    return { d1_trips: this.trips, rows_read: this.rowsRead, rows_written: this.rowsWritten };
  }

  /** The cost as a metric of the response header `Server-Timing`. */
  toString(): string {
    return `d1;desc="trips=${this.trips} read=${this.rowsRead} written=${this.rowsWritten}"`;
  }
}

/**
 * A statement violated a constraint of the schema. Nothing of its batch was written.
 */
export class ConstraintError extends Error {
  constructor(
    readonly kind: 'not null' | 'unique' | 'check',
    /**
     * `table.column`, the first column if the constraint has several; for a check constraint, its
     * name.
     */
    readonly subject: string,
  ) {
    super(`${kind} constraint of ${subject}`);
  }
}

/** A guard of a batch did not hold: see `src/ledger/guard.ts`. Nothing of the batch was written. */
export class GuardFailed extends Error {
  /** @param guard the name of the first guard that did not hold */
  constructor(readonly guard: string) {
    super(`the guard ${guard} does not hold`);
  }
}

/** Read access to a database. Features write through the ledger. */
export interface Reader {
  select: DrizzleD1Database['select'];
  /** Runs select statements in one round trip, on one consistent state of the database. */
  load<const Q extends Batch>(queries: Q): Promise<BatchResponse<Q>>;
}

type LoadedRows<Q extends readonly (Query | null)[]> = {
  [I in keyof Q]: NonNullable<Q[I]>['_']['result'] | (null extends Q[I] ? undefined : never);
};

/**
 * Runs the queries that are not null in one round trip, and returns the rows of each; undefined for
 * null.
 */
export async function loadNonNull<const Q extends readonly (Query | null)[]>(
  reader: Reader,
  queries: Q,
): Promise<LoadedRows<Q>> {
  const [first, ...rest] = queries.filter((query) => query !== null);
  const found: readonly unknown[] = first ? await reader.load([first, ...rest]) : [];
  let taken = 0;
  return queries.map((query) => (query === null ? undefined : found[taken++])) as LoadedRows<Q>;
}

/**
 * The database of one shard. {@link Database.build} builds statements and {@link Database.run} runs
 * them, a batch at a time, so that each round trip is counted and each batch is a transaction.
 */
export class Database implements Reader {
  readonly build = builder;
  readonly select: DrizzleD1Database['select'] = builder.select.bind(builder);
  /** How long D1 has worked on the statements so far, without the network, in milliseconds. */
  queryTimeMs = 0;
  private piggybacked: Statement[] = [];

  constructor(
    private readonly client: D1Database,
    private readonly cost: Cost,
  ) {}

  /**
   * Runs the statements as one transaction in one round trip. (Drizzle's own batch cannot bind the
   * parameters of raw statements, and does not report the rows that were read.)
   * @throws ConstraintError if a statement violates a constraint
   * @throws GuardFailed if a guard does not hold
   * @throws Problem `unavailable` if the database fails: then the batch may have been committed
   *   nevertheless
   */
  async run<const Q extends Batch>(statements: Q): Promise<BatchResponse<Q>> {
    const prepared = [...statements, ...this.piggybacked.splice(0)].map(prepare);
    const results = await this.execute(
      prepared.map((statement) => {
        const { sql, params } = statement.getQuery();
        return this.client.prepare(sql).bind(...params);
      }),
    );
    const answers = results
      .slice(0, statements.length)
      .map((result, i) => resultMapper(prepared[i] as ReturnType<typeof prepare>)(result, true));
    return answers as BatchResponse<Q>;
  }

  load<const Q extends Batch>(queries: Q): Promise<BatchResponse<Q>> {
    return this.run(queries);
  }

  /** The size of the database in bytes. Takes one round trip. */
  async size(): Promise<number> {
    const [result] = await this.execute([this.client.prepare('select 1')]);
    return result?.meta.size_after ?? 0;
  }

  /**
   * Adds a statement to the next batch, so that it costs no round trip. It is lost if that batch
   * fails.
   */
  piggyback(statement: Statement): void {
    this.piggybacked.push(statement);
  }

  /** Runs the piggybacked statements that no batch has taken. */
  async flush(): Promise<void> {
    const [first, ...rest] = this.piggybacked.splice(0);
    if (first) await this.run([first, ...rest]);
  }

  private async execute(statements: D1PreparedStatement[]): Promise<D1Result[]> {
    this.cost.trips += 1;
    this.cost.statements += statements.length;
    try {
      const results = await this.client.batch(statements);
      for (const { meta } of results) {
        this.cost.rowsRead += meta.rows_read;
        this.cost.rowsWritten += meta.rows_written;
        this.queryTimeMs += meta.duration;
      }
      return results;
    } catch (error) {
      throw translateFailure(error);
    }
  }
}

function translateFailure(error: unknown): unknown {
  const message = String(error instanceof Error ? error.message : error);
  const guard = /guard: (\w+)/.exec(message);
  if (guard?.[1]) return new GuardFailed(guard[1]);
  const constraint = /(NOT NULL|UNIQUE|CHECK) constraint failed: ([\w.]+)/.exec(message);
  if (constraint?.[1] && constraint[2]) {
    return new ConstraintError(
      constraint[1].toLowerCase() as ConstraintError['kind'],
      constraint[2],
    );
  }
  // A statement that SQLite cannot compile or evaluate is a bug, not an outage.
  if (/SQLITE_(ERROR|RANGE|MISMATCH|TOOBIG)/.test(message)) return error;
  logFailure('database_failed', message);
  return unavailable();
}
