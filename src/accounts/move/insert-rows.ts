import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { MOVED_NUMBERS } from '../../db/schema';
import { LOG_SPAN } from '../../ledger/append';
import { type ColumnRule, type MovedTable, type NumberedKind, raw } from './moved-table';
import { copiedColumns, decode, identifier, list, permissionIds } from './row-json';

/** The account's numbers: `oldNumber` on the shard that it leaves, `newNumber` on the other. */
export interface Renumbering {
  oldNumber: number;
  newNumber: number;
}

/** SQL that inserts copied rows (a JSON array of them) on the new shard. */
export function insertRows(moved: MovedTable, rows: string, renumbering: Renumbering): SQL {
  const { table, columnRules = {}, replaces } = moved;
  const names = copiedColumns(moved);
  const values = names.map((name, i) =>
    renumber(decode(table, name, sql`value ->> ${raw(i)}`), columnRules[name], renumbering),
  );
  const inserts = sql`insert into ${table} (${list(names)})
    select ${sql.join(values, sql`, `)} from json_each(${rows})`;
  if (!replaces) return inserts;
  // `insert or replace` would count a pending permission twice: it fires no trigger for the old
  // row.
  const given = names.map((name) => sql`${identifier(name)} = excluded.${identifier(name)}`);
  // SQLite needs WHERE to tell ON CONFLICT from a join.
  return sql`${inserts} where true on conflict do update set ${sql.join(given, sql`, `)}`;
}

/** SQL that converts a column's old value for the new shard. */
function renumber(
  value: SQL,
  rule: ColumnRule | undefined,
  { oldNumber, newNumber }: Renumbering,
): SQL {
  if (rule === 'account') return raw(newNumber);
  if (rule === 'position') return sql`${value} + ${raw((newNumber - oldNumber) * LOG_SPAN)}`;
  if (rule !== 'agent' && rule !== 'receiver') return value;
  const kind = codeOf(MOVED_NUMBERS, rule);
  // Null and 0 mean no agent.
  return sql`iif(${value} > 0, (
    select becomes from move_numbers
    where move_numbers.account = ${raw(newNumber)} and kind = ${kind} and number = ${value}
  ), ${value})`;
}

/**
 * SQL that deletes some permissions on the new shard, with the rows that a trigger deletes with
 * them.
 * @param ids the ids of the permissions in hexadecimal, a JSON array
 */
export function deletePermissions(ids: string, { newNumber }: Renumbering): SQL {
  return sql`delete from permissions
    where account = ${raw(newNumber)} and id in ${permissionIds(ids)}`;
}

/**
 * Returns the numbers of agents or receivers that rows contain, each once. Each needs a number on
 * the new shard.
 */
export function numbersInRows(
  moved: MovedTable,
  rows: readonly string[],
  kind: NumberedKind,
): number[] {
  const { columnRules = {} } = moved;
  const indexes = copiedColumns(moved).flatMap((name, i) =>
    columnRules[name] === kind ? [i] : [],
  );
  if (indexes.length === 0) return [];
  const found = rows.flatMap((row) => {
    const values = JSON.parse(row) as (number | null)[];
    return indexes.flatMap((index) => values[index] ?? []);
  });
  return [...new Set(found)].filter((number) => number > 0);
}
