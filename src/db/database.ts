import type { BatchItem, BatchResponse } from 'drizzle-orm/batch';
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';
import { unavailable } from '../errors';
import { logFailure } from '../lib/log';

type CostFigures = Pick<Cost, 'trips' | 'statements' | 'rowsRead' | 'rowsWritten'>;

/** What a request cost so far, as D1 reports it. */
export class Cost {
  trips = 0;
  statements = 0;
  rowsRead = 0;
  rowsWritten = 0;

  /** Adds what was counted elsewhere since it stood as `before`. */
  add(after: CostFigures, before: CostFigures): void {
    this.trips += after.trips - before.trips;
    this.statements += after.statements - before.statements;
    this.rowsRead += after.rowsRead - before.rowsRead;
    this.rowsWritten += after.rowsWritten - before.rowsWritten;
  }

  /** As the log tells it. */
  fields() {
    return { d1_trips: this.trips, rows_read: this.rowsRead, rows_written: this.rowsWritten };
  }

  /** As a `Server-Timing` metric. */
  toString(): string {
    return `d1;desc="trips=${this.trips} read=${this.rowsRead} written=${this.rowsWritten}"`;
  }
}

/** A statement that changes rows, made by the ledger; inert until a batch takes it. */
export type Statement = BatchItem<'sqlite'>;

/** A select statement; inert until {@link Reader.load} takes it. */
export type Query = BatchItem<'sqlite'>;

/** One or more statements. */
export type Batch = readonly [BatchItem<'sqlite'>, ...BatchItem<'sqlite'>[]];

/** A constraint of the schema refused a batch; nothing of it was written. */
export class ConstraintError extends Error {
  constructor(
    readonly kind: 'not null' | 'unique' | 'check',
    /** `table.column`, the first one where there are several; of a check, its name. */
    readonly subject: string,
  ) {
    super(`${kind} constraint of ${subject}`);
  }
}

/** What a service may do with an account's database by itself: select. Changes go through the ledger. */
export interface Reader {
  select: DrizzleD1Database['select'];
  /** Runs select statements in one round trip, against one state of the database. */
  load<const Q extends Batch>(queries: Q): Promise<BatchResponse<Q>>;
}

/** The rows that queries found; undefined for those that there was no need to ask. */
type LoadedRows<Q extends readonly (Query | null)[]> = {
  [I in keyof Q]: NonNullable<Q[I]>['_']['result'] | (null extends Q[I] ? undefined : never);
};

/** Runs those of the queries that there are, in one round trip; in none where there is none. */
export async function loadNonNull<const Q extends readonly (Query | null)[]>(
  reader: Reader,
  queries: Q,
): Promise<LoadedRows<Q>> {
  const [first, ...rest] = queries.filter((query) => query !== null);
  const found: readonly unknown[] = first ? await reader.load([first, ...rest]) : [];
  let taken = 0;
  return queries.map((query) => (query === null ? undefined : found[taken++])) as LoadedRows<Q>;
}

/** What Drizzle makes of a statement, as its own batch uses it. */
interface Prepared {
  getQuery(): { sql: string; params: unknown[] };
  mapResult(result: D1Result, isFromBatch: true): unknown;
}

/** Statements are built on a client that cannot run them: only {@link Database.run} can. */
const inertClient = { prepare: () => null } as unknown as D1Database;

/**
 * One shard's database. Statements are built with {@link Database.build} and take effect only by
 * {@link Database.run}, a batch at a time, so that each round trip is counted and each batch is a transaction.
 */
export class Database implements Reader {
  readonly build: DrizzleD1Database = drizzle(inertClient);
  readonly select: DrizzleD1Database['select'] = this.build.select.bind(this.build);
  /** Milliseconds that its statements took so far, by D1's own count: without the way there and back. */
  queryTimeMs = 0;
  private piggybacked: Statement[] = [];

  constructor(
    private readonly client: D1Database,
    private readonly cost: Cost,
  ) {}

  /**
   * Runs the statements as one transaction in one round trip. (Drizzle's own batch cannot bind the parameters of raw
   * statements, and tells nothing of the rows that were read.)
   * @throws ConstraintError when the schema refused a statement, Problem `unavailable` when the database failed; in
   *   the latter case the batch may have been committed all the same
   */
  async run<const Q extends Batch>(statements: Q): Promise<BatchResponse<Q>> {
    const prepared = [...statements, ...this.piggybacked.splice(0)].map((statement) =>
      (statement as unknown as { _prepare(): Prepared })._prepare(),
    );
    const results = await this.execute(
      prepared.map((statement) => {
        const { sql, params } = statement.getQuery();
        return this.client.prepare(sql).bind(...params);
      }),
    );
    const answers = results.slice(0, statements.length).map((result, i) => prepared[i]?.mapResult(result, true));
    return answers as BatchResponse<Q>;
  }

  load<const Q extends Batch>(queries: Q): Promise<BatchResponse<Q>> {
    return this.run(queries);
  }

  /** The size of the database in bytes, one round trip. */
  async size(): Promise<number> {
    const [result] = await this.execute([this.client.prepare('select 1')]);
    return result?.meta.size_after ?? 0;
  }

  /** Lets a statement of no consequence travel with the next batch, at the cost of no round trip. */
  piggyback(statement: Statement): void {
    this.piggybacked.push(statement);
  }

  /** Runs what was to be taken along and found no batch. */
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

/** What the triggers say that refuse every change of an account on its way to another shard. */
const MOVING = 'the account is moving';

function translateFailure(error: unknown): unknown {
  const message = String(error instanceof Error ? error.message : error);
  const constraint = /(NOT NULL|UNIQUE|CHECK) constraint failed: ([\w.]+)/.exec(message);
  if (constraint?.[1] && constraint[2]) {
    return new ConstraintError(constraint[1].toLowerCase() as ConstraintError['kind'], constraint[2]);
  }
  if (message.includes(MOVING)) return unavailable();
  // A statement that SQLite cannot compile or compute is a fault of this program, not of the database's health.
  if (/SQLITE_(ERROR|RANGE|MISMATCH|TOOBIG)/.test(message)) return error;
  logFailure('database_failed', message);
  return unavailable();
}
