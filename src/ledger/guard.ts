import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type BuiltSql, buildSql, prepareSql, type Statement, statementOf } from '../db/statements';

/** A condition of a write. If it does not hold, nothing of the batch is written. */
export interface Guard {
  /** The name in the log and in errors, in snake case. */
  name: string;
  /** The condition; built before if {@link prepareGuard} made it. NULL counts as false. */
  holds: SQL | BuiltSql;
  /** Makes the error that the caller gets. */
  otherwise: () => Error;
}

/**
 * Prepares a guard whose condition has placeholders. It is built once, which saves CPU time where
 * many writes have the guard.
 * @returns makes the guard with the values of its placeholders, by name
 */
export function prepareGuard(name: string, holds: () => SQL) {
  const prepared = prepareSql(holds);
  return (values: Record<string, unknown>, otherwise: () => Error): Guard => ({
    name,
    holds: prepared(values),
    otherwise,
  });
}

/** Whether a step of a batch is a guard. */
export function isGuard(step: Guard | Statement): step is Guard {
  return 'otherwise' in step;
}

type Check = Pick<Guard, 'name' | 'holds'>;

/**
 * Returns a statement that aborts its batch with the name of the guard unless it holds.
 *
 * It checks the state of the database at its place in the batch, and writes no row: a trigger of
 * the table `guards` refuses the insertion with the guard's name.
 */
export function checkGuard(guard: Check): Statement {
  return insertFirstFailing([caseOf(guard)]);
}

/**
 * Replaces the guards among the steps of a transaction by statements that check them, as
 * {@link checkGuard}. Guards that follow each other share a statement, which aborts the batch with
 * the name of the first that does not hold.
 */
export function withChecks(steps: readonly (Guard | Statement)[]): Statement[] {
  const statements: Statement[] = [];
  let guards: Guard[] = [];
  for (const step of steps) {
    if (isGuard(step)) {
      guards.push(step);
    } else {
      statements.push(...checkGuards(guards), step);
      guards = [];
    }
  }
  return [...statements, ...checkGuards(guards)];
}

/** How many parameters D1 binds in one statement. */
const MAX_PARAMETERS = 100;

/** Checks guards by one statement, or by more if they have too many parameters for one. */
function checkGuards(guards: readonly Check[]): Statement[] {
  const checks: BuiltSql[][] = [];
  let bound = MAX_PARAMETERS;
  for (const guard of guards) {
    const check = caseOf(guard);
    bound += check.values.length;
    if (bound > MAX_PARAMETERS) {
      checks.push([]);
      bound = check.values.length;
    }
    checks.at(-1)?.push(check);
  }
  return checks.map(insertFirstFailing);
}

function caseOf({ name, holds }: Check): BuiltSql {
  const { text, values } = 'text' in holds ? holds : buildSql(holds);
  return { text: `when not coalesce((${text}), 0) then ?`, values: [...values, name] };
}

function insertFirstFailing(checks: readonly BuiltSql[]): Statement {
  const cases = checks.map(({ text }) => text).join(' ');
  const failing = `select case ${cases} end as name`;
  return statementOf({
    text: `insert into guards (name) select name from (${failing}) where name is not null`,
    values: checks.flatMap(({ values }) => values),
  });
}

/** Returns the condition that a table has a row, for {@link Guard.holds}. */
export function hasRow(table: SQLiteTable, condition: SQL | undefined): SQL {
  return sql`exists (select 1 from ${table} where ${condition})`;
}
