import type { DatabaseSync } from 'node:sqlite';

/** A column, as SQLite describes it. */
export interface Column {
  name: string;
  type: string;
  isRequired: boolean;
  hasDefault: boolean;
  /** Its place in the primary key, from 1; 0 outside of it. */
  keyPlace: number;
}

/** A table with all that restricts its rows. */
export interface Table {
  name: string;
  columns: Map<string, Column>;
  /** The constraints of the table in a normal form: UNIQUE, CHECK and foreign keys. */
  constraints: Set<string>;
}

/** An index or a trigger that has a name of its own. */
export interface NamedObject {
  name: string;
  table: string;
  /** Its definition, with every run of white space as one space. */
  sql: string;
}

/** The objects of a database that the statements of a program can refer to. */
export interface Schema {
  tables: Map<string, Table>;
  indexes: Map<string, NamedObject>;
  triggers: Map<string, NamedObject>;
}

/** Reads the schema of a database. */
export function readSchema(database: DatabaseSync): Schema {
  const names = database
    .prepare(
      `select name, sql from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
    )
    .all() as { name: string; sql: string }[];
  return {
    tables: byName(names.map(({ name, sql }) => readTable(database, name, sql))),
    indexes: byName(readNamed(database, 'index')),
    triggers: byName(readNamed(database, 'trigger')),
  };
}

/** The fields of `pragma_table_xinfo` that are used. */
interface ColumnRow {
  name: string;
  type: string;
  notnull: number;
  dflt_value: string | null;
  pk: number;
}

function readTable(database: DatabaseSync, name: string, sql: string): Table {
  const columns = database
    .prepare('select * from pragma_table_xinfo(?)')
    .all(name) as unknown as ColumnRow[];
  return {
    name,
    columns: byName(
      columns.map((column) => ({
        name: column.name,
        type: column.type.toLowerCase(),
        isRequired: column.notnull === 1,
        hasDefault: column.dflt_value !== null,
        keyPlace: column.pk,
      })),
    ),
    constraints: new Set([
      ...readUniques(database, name),
      ...readForeignKeys(database, name),
      ...readChecks(sql),
    ]),
  };
}

/** The UNIQUE constraints of a table; a unique index has a name of its own instead. */
function readUniques(database: DatabaseSync, table: string): string[] {
  const rows = database
    .prepare(
      `select group_concat(c.name, ', ' order by c.seqno) as columns
       from pragma_index_list(?) i, pragma_index_info(i.name) c where i.origin = 'u' group by i.name`,
    )
    .all(table);
  return rows.map(({ columns }) => `UNIQUE (${columns})`);
}

function readForeignKeys(database: DatabaseSync, table: string): string[] {
  const rows = database
    .prepare('select "from", "table", "to", on_update, on_delete from pragma_foreign_key_list(?)')
    .all(table);
  return rows.map(({ from, table, to, on_update: onUpdate, on_delete: onDelete }) => {
    const actions = `ON UPDATE ${onUpdate} ON DELETE ${onDelete}`;
    return `FOREIGN KEY (${from}) REFERENCES ${table} (${to}) ${actions}`;
  });
}

/** The CHECK constraints in the definition of a table, up to the parenthesis that closes each. */
function readChecks(sql: string): string[] {
  return [...sql.matchAll(/\bcheck\s*\(/gi)].map(({ index, 0: head }) => {
    let depth = 1;
    let end = index + head.length;
    while (depth > 0 && end < sql.length) depth += { '(': 1, ')': -1 }[sql[end++] as string] ?? 0;
    return `CHECK (${normalize(sql.slice(index + head.length, end - 1))})`;
  });
}

function readNamed(database: DatabaseSync, type: 'index' | 'trigger'): NamedObject[] {
  const rows = database
    .prepare(
      'select name, tbl_name as "table", sql from sqlite_master where type = ? and sql is not null',
    )
    .all(type) as unknown as NamedObject[];
  return rows.map((row) => ({ ...row, sql: normalize(row.sql) }));
}

function normalize(sql: string): string {
  return sql.replace(/\s+/g, ' ').trim();
}

function byName<T extends { name: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}
