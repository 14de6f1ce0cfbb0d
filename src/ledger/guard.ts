import { type SQL, sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { prepareWrite, type Statement } from '../db/database';
import { guards } from '../db/schema';

/** A condition of a write. If it does not hold, nothing of the batch is written. */
export type Guard = BuiltGuard | PreparedGuard;

interface NamedGuard {
  /** The name in the log and in errors, in snake case. */
  name: string;
  /** The error that the caller gets. */
  otherwise: Error;
}

/** A guard whose statement is built for each write. */
export interface BuiltGuard extends NamedGuard {
  /** The condition. NULL counts as false. */
  holds: SQL;
}

/** A guard whose statement was built before: see {@link prepareGuard}. */
interface PreparedGuard extends NamedGuard {
  check: (build: Builder) => Statement;
}

type Builder = Pick<DrizzleD1Database, 'run'>;

/**
 * Prepares a guard whose condition has placeholders. Its statement is built once, which saves CPU
 * time where many writes have the guard.
 * @returns makes the guard with the values of its placeholders, by name
 */
export function prepareGuard(name: string, holds: () => SQL) {
  const prepared = prepareWrite((build: Builder) =>
    build.run(guardStatement({ name, holds: holds() })),
  );
  return (values: Record<string, unknown>, otherwise: Error): Guard => ({
    name,
    check: (build) => prepared(build, values),
    otherwise,
  });
}

/** Whether a step of a batch is a guard. */
export function isGuard(step: Guard | Statement): step is Guard {
  return 'otherwise' in step;
}

/** Returns the statement that checks a guard. */
export function checkStatement(build: Builder, guard: Guard): Statement {
  return 'check' in guard ? guard.check(build) : build.run(guardStatement(guard));
}

/**
 * Returns a statement that aborts its batch unless a condition holds.
 *
 * It checks the state of the database at its place in the batch, and writes no row: a trigger of
 * the table `guards` refuses the insertion with the guard's name.
 */
export function guardStatement({ name, holds }: Pick<BuiltGuard, 'name' | 'holds'>): SQL {
  return sql`insert into ${guards} (name) select ${name} where not coalesce(${holds}, 0)`;
}

/** Returns the condition that a table has a row, for {@link BuiltGuard.holds}. */
export function hasRow(table: SQLiteTable, condition: SQL | undefined): SQL {
  return sql`exists (select 1 from ${table} where ${condition})`;
}
