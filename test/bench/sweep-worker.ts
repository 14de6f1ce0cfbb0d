import type { DeliveryMessage, Env, FileMessage } from '../../src/env';
import worker from '../../src/index';

/** A batch that a cron sent to a database. */
export interface SweepBatch {
  /** The binding of the database. */
  database: string;
  /** The start of its first statement. */
  sql: string;
  statements: number;
  /** When it was sent, in milliseconds since the epoch. */
  at: number;
  /**
   * `held`: milliseconds in the database, as D1 counts them; `took`: milliseconds until the answer.
   */
  held: number;
  took: number;
  read: number;
  written: number;
  /** The number of audit entries that it deleted. */
  erased: number;
}

let batches: SweepBatch[] = [];

/**
 * The service, with `GET /bench/batches`, which returns and clears the batches that its crons have
 * sent.
 */
export default {
  async fetch(request, env, execution) {
    if (new URL(request.url).pathname !== '/bench/batches')
      return worker.fetch(request, env, execution);
    const answer = Response.json(batches);
    batches = [];
    return answer;
  },
  scheduled: (controller, env) => worker.scheduled(controller, meterAll(env)),
  queue: worker.queue,
} satisfies ExportedHandler<Env, FileMessage | DeliveryMessage>;

function meterAll(env: Env): Env {
  const databases = Object.entries(env).filter(([name]) => /^DB(_..)?$/.test(name)) as [
    string,
    D1Database,
  ][];
  return {
    ...env,
    ...Object.fromEntries(databases.map(([name, database]) => [name, meter(name, database)])),
  };
}

function meter(database: string, client: D1Database): D1Database {
  const texts = new WeakMap<D1PreparedStatement, string>();
  return {
    prepare: (sql: string) => ({
      bind: (...values: unknown[]) => {
        const bound = client.prepare(sql).bind(...values);
        texts.set(bound, sql.trim());
        return bound;
      },
    }),
    batch: async <T>(statements: D1PreparedStatement[]) => {
      const started = Date.now();
      const results = await client.batch<T>(statements);
      const took = Date.now() - started;
      const batch = {
        database,
        sql: textOf(0).slice(0, 200),
        statements: statements.length,
        at: started,
        held: 0,
        took,
      };
      const costs = { read: 0, written: 0, erased: 0 };
      for (const [at, { meta }] of results.entries()) {
        batch.held += meta.duration;
        costs.read += meta.rows_read;
        costs.written += meta.rows_written;
        if (textOf(at).startsWith('delete from audit_entries')) costs.erased += meta.changes;
      }
      batches.push({ ...batch, ...costs });
      return results;

      function textOf(at: number): string {
        return texts.get(statements[at] as D1PreparedStatement) ?? '';
      }
    },
  } as unknown as D1Database;
}
