import { getTableColumns, type SQL, sql, type Table } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { MOVED_NUMBERS } from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';
import {
  type Kind,
  type MovedAccount,
  type MovedTable,
  type NumberedKind,
  raw,
} from './moved-table';

/** A row to copy: its columns and its key, each a JSON array, with the numbers of the old shard. */
export interface CopiedRow {
  row: string;
  key: string;
}

/**
 * SQL that selects rows of an account in the order of their keys, as `copied_row` and `copied_key`:
 * see {@link CopiedRow}.
 *
 * Nested tables take two selects, for the rest of one parent and for the parents after it: with a
 * bound on the whole key, SQLite would start from the first row of the table each time.
 * @param after the key after which to start; null for the first row
 * @param limit the maximum number of rows
 */
export function selectRows(
  moved: MovedTable,
  moving: MovedAccount,
  after: string | null,
  limit: number,
): SQL {
  const { ownRows, only, isNested, key, firstKey } = moved;
  const [first = '', ...rest] = key;
  const from = after ?? firstKey?.(moving) ?? null;
  const isCopied = only ? sql`and ${only(moving)}` : sql``;
  const select = (condition: SQL) => sql`
    select ${encodedRow(moved)}, ${encodedKey(moved)} from ${moved.table} where ${condition} ${isCopied}
    order by ${list(key)} limit ${raw(limit)}`;
  if (!isNested)
    return select(
      from === null ? ownRows(moving) : sql`${ownRows(moving)} and ${isAfterKey(moved, key, from)}`,
    );
  const parents = sql`select parent from (${ownRows(moving)})`;
  if (from === null) return select(sql`${identifier(first)} in (${parents})`);
  const parent = keyValue(moved, first, from);
  return sql`
    select * from (${select(sql`${identifier(first)} = ${parent} and ${isAfterKey(moved, rest, from)}`)})
    union all
    select * from (${select(sql`${identifier(first)} in (${parents} where parent > ${parent})`)})
    limit ${raw(limit)}`;
}

/**
 * SQL that selects the rows of some permissions, in the columns of {@link selectRows}.
 * @param ids the ids of the permissions in hexadecimal, a JSON array
 */
export function selectRowsOfPermissions(moved: MovedTable, moving: MovedAccount, ids: string): SQL {
  const { permission = 'id', ownRows, rowsOfPermissions } = moved;
  const wanted = permissionIds(ids);
  const narrowed = rowsOfPermissions ? sql`and ${rowsOfPermissions(moving, wanted)}` : sql``;
  return sql`select ${encodedRow(moved)}, ${encodedKey(moved)} from ${moved.table}
    where ${ownRows(moving)} ${narrowed} and ${identifier(permission)} in ${wanted}`;
}

/**
 * SQL that deletes some permissions on the new shard, with the rows that a trigger deletes with
 * them.
 */
export function deletePermissions(ids: string, { to }: Renumbering): SQL {
  return sql`delete from permissions where account = ${raw(to)} and id in ${permissionIds(ids)}`;
}

function permissionIds(ids: string): SQL {
  return sql`(select unhex(value) from json_each(${ids}))`;
}

/** The account's numbers on the old shard and on the new one. */
export interface Renumbering {
  from: number;
  to: number;
}

/** SQL that inserts rows (a JSON array) on the new shard. */
export function insertRows(moved: MovedTable, rows: string, renumbering: Renumbering): SQL {
  const { table, copyAs = {} } = moved;
  const names = copiedColumns(moved);
  const values = names.map((name, i) =>
    translate(decode(table, name, sql`value ->> ${raw(i)}`), copyAs[name], renumbering),
  );
  const inserts = sql`insert into ${table} (${list(names)})
    select ${sql.join(values, sql`, `)} from json_each(${rows})`;
  if (!moved.replaces) return inserts;
  // `insert or replace` would count a pending permission twice: it fires no trigger for the old row.
  const given = names.map((name) => sql`${identifier(name)} = excluded.${identifier(name)}`);
  return sql`${inserts} where true on conflict do update set ${sql.join(given, sql`, `)}`;
}

/**
 * Returns the numbers of agents or webhooks that rows contain, each once. Each needs a number on
 * the new shard.
 */
export function numbersInRows(
  moved: MovedTable,
  rows: readonly string[],
  kind: NumberedKind,
): number[] {
  const { copyAs = {} } = moved;
  const places = copiedColumns(moved).flatMap((name, i) => (copyAs[name] === kind ? [i] : []));
  if (places.length === 0) return [];
  const found = rows.flatMap((row) => {
    const values = JSON.parse(row) as (number | null)[];
    return places.flatMap((place) => values[place] ?? []);
  });
  return [...new Set(found)].filter((number) => number > 0);
}

function encodedRow(moved: MovedTable): SQL {
  const { table, copyAs = {} } = moved;
  const values = copiedColumns(moved).map((name) => {
    const kind = copyAs[name];
    return encode(table, name, typeof kind === 'object' ? kind : identifier(name));
  });
  return sql`json_array(${sql.join(values, sql`, `)}) as copied_row`;
}

function encodedKey({ table, key }: MovedTable): SQL {
  const values = key.map((name) => encode(table, name, identifier(name)));
  return sql`json_array(${sql.join(values, sql`, `)}) as copied_key`;
}

/** The condition that some key columns of a row sort after the same columns of a JSON key. */
function isAfterKey(moved: MovedTable, names: readonly string[], json: string): SQL {
  const values = names.map((name) => keyValue(moved, name, json));
  return sql`${tuple(names)} > (${sql.join(values, sql`, `)})`;
}

function keyValue({ table, key }: MovedTable, name: string, json: string): SQL {
  return decode(table, name, sql`${json} ->> ${raw(key.indexOf(name))}`);
}

function columnNames(table: Table): string[] {
  return Object.values(getTableColumns(table)).map(({ name }) => name);
}

function copiedColumns({ table, copyAs = {} }: MovedTable): string[] {
  return columnNames(table).filter((name) => copyAs[name] !== 'left out');
}

function translate(value: SQL, kind: Kind | undefined, { from, to }: Renumbering): SQL {
  if (kind === 'account') return raw(to);
  if (kind === 'position') return sql`${value} + ${raw((to - from) * LOG_SPAN)}`;
  if (kind !== 'agent' && kind !== 'webhook') return value;
  // Null and 0 mean no agent.
  return sql`iif(${value} > 0, (
    select becomes from move_numbers
    where move_numbers.account = ${raw(to)} and kind = ${codeOf(MOVED_NUMBERS, kind)} and number = ${value}
  ), ${value})`;
}

function isBlob(table: Table, name: string): boolean {
  return Object.values(getTableColumns(table)).some(
    (column) => column.name === name && column.getSQLType() === 'blob',
  );
}

/** Encodes bytes as hexadecimal, because JSON has no bytes. */
function encode(table: Table, name: string, value: SQL): SQL {
  return isBlob(table, name) ? sql`iif(${value} is null, null, hex(${value}))` : value;
}

function decode(table: Table, name: string, value: SQL): SQL {
  return isBlob(table, name) ? sql`unhex(${value})` : value;
}

function tuple(names: readonly string[]): SQL {
  return sql`(${list(names)})`;
}

function list(names: readonly string[]): SQL {
  return sql.join(names.map(identifier), sql`, `);
}

function identifier(name: string): SQL {
  return sql`${sql.identifier(name)}`;
}
