import { AsyncLocalStorage } from 'node:async_hooks';
import { createApp } from '../../src/app';
import { type Env, systemRuntime } from '../../src/env';

const app = createApp(systemRuntime);

/** How far away the database of a request is, in milliseconds. */
const delays = new AsyncLocalStorage<number>();

/** One environment for all requests, as in production: the service remembers callers by it. */
let farEnv: Env | undefined;

/** The service with a database that is as many milliseconds away as the header `X-Delay` says. */
export default {
  fetch(request, env, execution) {
    farEnv ??= { ...env, DB: moveAway(env.DB) };
    const delay = Number(request.headers.get('X-Delay') ?? 0);
    return delays.run(delay, () => app.fetch(request, farEnv, execution));
  },
} satisfies ExportedHandler<Env>;

/** A database whose batches take longer, by the delay of the request. */
function moveAway(database: D1Database): D1Database {
  return new Proxy(database, {
    get(target, name) {
      if (name === 'prepare') return (statement: string) => target.prepare(statement);
      if (name !== 'batch') throw new Error(`the service does not use ${String(name)}`);
      return async (statements: D1PreparedStatement[]) => {
        await new Promise((resolve) => setTimeout(resolve, delays.getStore()));
        return target.batch(statements);
      };
    },
  });
}
