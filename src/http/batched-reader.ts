import type { Reader } from '../db/database';
import type { Batch } from '../db/statements';

/**
 * Makes a reader that runs everything which is loaded at once in one round trip, on one consistent
 * state of the database. So a page can call several functions that each load their own rows, in one
 * `Promise.all`.
 */
export function batchReads(reader: Reader): Reader {
  let waiting: {
    queries: Batch;
    resolve: (rows: unknown) => void;
    reject: (error: unknown) => void;
  }[] = [];
  const flush = async () => {
    const loads = waiting;
    waiting = [];
    const queries = loads.flatMap((load) => [...load.queries]) as unknown as Batch;
    try {
      const rows: unknown[] = [...(await reader.load(queries))];
      for (const load of loads) load.resolve(rows.splice(0, load.queries.length));
    } catch (error) {
      for (const load of loads) load.reject(error);
    }
  };
  return {
    select: reader.select,
    load: (queries) =>
      new Promise((resolve, reject) => {
        // After all microtasks: by then every function that was called has asked for its rows.
        if (waiting.length === 0) setTimeout(flush, 0);
        waiting.push({ queries, resolve: resolve as (rows: unknown) => void, reject });
      }),
  };
}
