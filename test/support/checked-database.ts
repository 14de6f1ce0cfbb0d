import type { Env } from '../../src/env';
import { findSelfComparisons } from './self-comparisons';

/** Statements that were found to be right, so that each is not checked at every run. */
const checked = new Set<string>();
const MOST_REMEMBERED = 500;

/**
 * Returns the databases of an environment, so that a statement that compares a column with itself
 * throws.
 */
export function checkedDatabases(bindings: Env): Partial<Env> {
  const databases = Object.entries(bindings).filter(([name]) => /^DB(_..)?$/.test(name));
  return Object.fromEntries(
    databases.map(([name, database]) => [name, checkedDatabase(database as D1Database)]),
  );
}

/** Offers what the service uses of a database. */
function checkedDatabase(database: D1Database): D1Database {
  const prepare = (sql: string) => {
    if (!checked.has(sql)) {
      const faults = findSelfComparisons(sql);
      if (faults.length > 0)
        throw new Error(`A statement compares a column with itself: ${faults.join()}: ${sql}`);
      if (checked.size >= MOST_REMEMBERED) checked.clear();
      checked.add(sql);
    }
    return database.prepare(sql);
  };
  const batch = (statements: D1PreparedStatement[]) => database.batch(statements);
  return { prepare, batch } as unknown as D1Database;
}
