import type { DeliveryMessage, Env, FileMessage } from '../../src/env';
import worker from '../../src/index';

/** The rows that queues and crons have read and written since the last `GET /bench/cost`. */
let cost = { read: 0, written: 0 };

/**
 * The service, with `GET /bench/cost`, which returns and clears the database cost of its queues and
 * crons.
 */
export default {
  async fetch(request, env, execution) {
    if (new URL(request.url).pathname !== '/bench/cost')
      return worker.fetch(request, env, execution);
    const answer = Response.json(cost);
    cost = { read: 0, written: 0 };
    return answer;
  },
  scheduled: (controller, env) => worker.scheduled(controller, meter(env)),
  queue: (batch, env, execution) => worker.queue(batch, meter(env), execution),
} satisfies ExportedHandler<Env, FileMessage | DeliveryMessage>;

function meter(env: Env): Env {
  const DB = {
    prepare: (sql: string) => env.DB.prepare(sql),
    batch: async <T>(statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch<T>(statements);
      for (const { meta } of results) {
        cost.read += meta.rows_read;
        cost.written += meta.rows_written;
      }
      return results;
    },
  } as unknown as D1Database;
  return { ...env, DB };
}
