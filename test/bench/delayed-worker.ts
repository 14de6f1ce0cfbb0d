import { createApp } from '../../src/app';
import { type Env, systemRuntime } from '../../src/env';

const app = createApp(systemRuntime);

/** The service with a database that is as many milliseconds away as the header `X-Delay` says. */
export default {
  fetch(request, env, execution) {
    const delay = Number(request.headers.get('X-Delay') ?? 0);
    return app.fetch(request, { ...env, DB: moveAway(env.DB, delay) }, execution);
  },
} satisfies ExportedHandler<Env>;

/** A database whose batches take `delay` milliseconds longer. */
function moveAway(database: D1Database, delay: number): D1Database {
  return new Proxy(database, {
    get(target, name) {
      if (name === 'prepare') return (statement: string) => target.prepare(statement);
      if (name !== 'batch') throw new Error(`the service does not use ${String(name)}`);
      return async (statements: D1PreparedStatement[]) => {
        await new Promise((resolve) => setTimeout(resolve, delay));
        return target.batch(statements);
      };
    },
  });
}
