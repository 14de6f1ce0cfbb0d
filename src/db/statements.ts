import { getTableColumns, Param, Placeholder, type SQL, sql } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type Mapping, resultMapper } from './result-mapper';

/** A built statement. `Database.run` runs it as part of a batch. */
export type Statement = BatchItem<'sqlite'>;

/** A select statement. `Reader.load` runs it. */
export type Query = Statement;

/** One or more statements. */
export type Batch = readonly [Statement, ...Statement[]];

/** Drizzle's internal form of a statement. */
interface Prepared extends Mapping {
  getQuery(): { sql: string; params: unknown[] };
}

/** Has Drizzle build the SQL of a statement. */
export function prepare(statement: Statement): Prepared {
  return (statement as unknown as { _prepare(): Prepared })._prepare();
}

/** A client that cannot run statements, so that only `Database.run` can. */
const inertClient = { prepare: () => null } as unknown as D1Database;

/** Builds the statements of all databases. */
export const builder: DrizzleD1Database = drizzle(inertClient);

/**
 * Prepares a query with placeholders: Drizzle builds its SQL once, and each request only binds the
 * values. It saves CPU time where every request runs the query.
 * @returns makes the query with the values of its placeholders, by name
 */
export function prepareQuery<Q extends Query>(
  build: (select: DrizzleD1Database['select']) => Q,
): (values: Values) => Q {
  return fixText(build(builder.select.bind(builder)));
}

/**
 * Prepares a write with placeholders, as {@link prepareQuery} prepares a query: when it is made for
 * the first time.
 * @param build makes the statement; all builders must be alike
 * @returns makes the statement with the values of its placeholders, by name
 */
export function prepareWrite<B, S extends Statement>(
  build: (builder: B) => S,
): (builder: B, values: Values) => S {
  let prepared: ((values: Values) => S) | undefined;
  return (given, values) => {
    prepared ??= fixText(build(given));
    return prepared(values);
  };
}

/** A placeholder for each column of a table, by the names of the columns in the schema. */
export function placeholdersOf<T extends SQLiteTable>(
  table: T,
): Record<keyof T['_']['columns'], Placeholder> {
  const names = Object.keys(getTableColumns(table));
  const placeholders = names.map((name) => [name, sql.placeholder(name)]);
  return Object.fromEntries(placeholders) as Record<keyof T['_']['columns'], Placeholder>;
}

/** SQL that was built: its text, and the values of its parameters. */
export interface BuiltSql {
  text: string;
  values: unknown[];
}

/** Builds SQL that has no placeholders. */
export function buildSql(sql: SQL): BuiltSql {
  return prepareSql(() => sql)({});
}

/**
 * Prepares SQL with placeholders, such as a condition: when it is used for the first time.
 * @returns makes the SQL with the values of its placeholders, by name
 */
export function prepareSql(make: () => SQL): (values: Values) => BuiltSql {
  let built: BuiltSql | undefined;
  return (values) => {
    built ??= textOf(make());
    return { text: built.text, values: fillPlaceholders(built.values, values) };
  };
}

function textOf(sql: SQL): BuiltSql {
  const { sql: text, params: values } = prepare(builder.run(sql)).getQuery();
  return { text, values };
}

/** The statement of SQL that was built. */
export function statementOf({ text, values }: BuiltSql): Statement {
  const prepared: Prepared = {
    getQuery: () => ({ sql: text, params: values }),
    mapResult: (result) => result,
  };
  return { _prepare: () => prepared } as unknown as Statement;
}

/** The values of placeholders by their names. */
type Values = Record<string, unknown>;

function fixText<S extends Statement>(statement: S): (values: Values) => S {
  const prepared = prepare(statement);
  const { sql, params } = prepared.getQuery();
  const mapResult = resultMapper(prepared);
  return (values) => {
    const bound: Prepared = {
      getQuery: () => ({ sql, params: fillPlaceholders(params, values) }),
      mapResult,
    };
    return { _prepare: () => bound } as unknown as S;
  };
}

/** As Drizzle's function, which cannot bind null to a column with a type of its own. */
function fillPlaceholders(params: unknown[], values: Values): unknown[] {
  return params.map((param) => fillPlaceholder(param, values));
}

function fillPlaceholder(param: unknown, values: Values): unknown {
  if (param instanceof Placeholder) return placeholderValue(param, values);
  if (!(param instanceof Param && param.value instanceof Placeholder)) return param;
  const value = placeholderValue(param.value, values);
  return value === null ? null : param.encoder.mapToDriverValue(value);
}

function placeholderValue({ name }: Placeholder, values: Values): unknown {
  if (!(name in values)) throw new Error(`the placeholder ${name} has no value`);
  return values[name];
}
