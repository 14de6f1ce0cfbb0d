import { getTableColumns, type SQL, sql, type Table } from 'drizzle-orm';
import type { MovedTable } from './moved-table';

// Rows and keys go from the old shard to the new one as JSON arrays of column values. JSON has no
// bytes, so they are written in hexadecimal.

/** A row to copy: its columns and its key, each a JSON array, with the numbers of the old shard. */
export interface CopiedRow {
  row: string;
  key: string;
}

/** The names of the columns of a {@link CopiedRow}, in their order. */
export function copiedColumns({ table, columnRules = {} }: MovedTable): string[] {
  const names = Object.values(getTableColumns(table)).map(({ name }) => name);
  return names.filter((name) => columnRules[name] !== 'left out');
}

/** SQL of a value that goes into JSON. */
export function encode(table: Table, name: string, value: SQL): SQL {
  return isBlob(table, name) ? sql`iif(${value} is null, null, hex(${value}))` : value;
}

/** SQL of the value that {@link encode} put into JSON. */
export function decode(table: Table, name: string, value: SQL): SQL {
  return isBlob(table, name) ? sql`unhex(${value})` : value;
}

function isBlob(table: Table, name: string): boolean {
  return Object.values(getTableColumns(table)).some(
    (column) => column.name === name && column.getSQLType() === 'blob',
  );
}

/** SQL of the ids of some permissions: `ids` is a JSON array of them in hexadecimal. */
export function permissionIds(ids: string): SQL {
  return sql`(select unhex(value) from json_each(${ids}))`;
}

/** SQL of the names of columns, with commas between them. */
export function list(names: readonly string[]): SQL {
  return sql.join(names.map(identifier), sql`, `);
}

/** SQL of the name of a column. */
export function identifier(name: string): SQL {
  return sql`${sql.identifier(name)}`;
}
