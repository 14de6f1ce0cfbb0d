import type { Env, JobMessage, WebhookMessage } from '../../src/env';
import worker from '../../src/index';

/** Rows that the invocations of queues and crons have read and written since somebody asked last. */
let cost = { read: 0, written: 0 };

/** The service; `GET /bench/cost` tells, and forgets, what its queues and crons have cost the database. */
export default {
  async fetch(request, env, execution) {
    if (new URL(request.url).pathname !== '/bench/cost') return worker.fetch(request, env, execution);
    const answer = Response.json(cost);
    cost = { read: 0, written: 0 };
    return answer;
  },
  scheduled: (controller, env) => worker.scheduled(controller, meter(env)),
  queue: (batch, env, execution) => worker.queue(batch, meter(env), execution),
} satisfies ExportedHandler<Env, JobMessage | WebhookMessage>;

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
