import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { guards } from '../db/schema';

/** A condition of a write. If it does not hold, nothing of the batch is written. */
export interface Guard {
  /** The name in the log and in errors, in snake case. */
  name: string;
  /** The condition. NULL counts as false. */
  holds: SQL;
  /** The error that the caller gets. */
  otherwise: Error;
}

/**
 * Returns a statement that aborts its batch unless a condition holds.
 *
 * It checks the state of the database at its place in the batch, and writes no row: a trigger of
 * the table `guards` refuses the insertion with the guard's name.
 */
export function guardStatement({ name, holds }: Pick<Guard, 'name' | 'holds'>): SQL {
  return sql`insert into ${guards} (name) select ${name} where not coalesce(${holds}, 0)`;
}

/** Returns the condition that a table has a row, for {@link Guard.holds}. */
export function hasRow(table: SQLiteTable, condition: SQL | undefined): SQL {
  return sql`exists (select 1 from ${table} where ${condition})`;
}
