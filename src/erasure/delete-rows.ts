import { type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';

/** Which rows of a table to delete. */
interface Selection {
  where: SQL | undefined;
  limit: number;
  /** The name of the index by which SQLite has to find the rows; without it SQLite chooses. */
  index?: string;
}

/** Builds the statement that deletes up to `limit` rows of a table. */
export function deleteRows(table: SQLiteTable, { where, limit, index }: Selection): SQL {
  const key = sql.join(primaryKeyOf(table), sql`, `);
  return sql`delete from ${table} where (${key}) in (
    select ${key} from ${table} ${indexedBy(index)} where ${where} limit ${limit})`;
}

/** Builds the condition that a table has no row of a kind. */
export function hasNoRow(table: SQLiteTable, where: SQL, index?: string): SQL {
  return sql`not exists (select 1 from ${table} ${indexedBy(index)} where ${where})`;
}

function indexedBy(index: string | undefined): SQL {
  return index === undefined ? sql`` : sql`indexed by ${sql.identifier(index)}`;
}

function primaryKeyOf(table: SQLiteTable) {
  const { columns, primaryKeys } = getTableConfig(table);
  return primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
}
