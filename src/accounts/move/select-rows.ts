import { type SQL, sql } from 'drizzle-orm';
import { isOfAccount, type MovedAccount, type MovedTable, raw } from './moved-table';
import { copiedColumns, decode, encode, identifier, list, permissionIds } from './row-json';

/**
 * SQL that selects rows of an account in the order of their keys, as `copied_row` and `copied_key`:
 * see {@link CopiedRow}.
 * @param afterKey the key after which to continue; null for the first row
 * @param limit the maximum number of rows
 */
export function selectRows(
  moved: MovedTable,
  moving: MovedAccount,
  afterKey: string | null,
  limit: number,
): SQL {
  const { ownRows, rowsToCopy, key } = moved;
  const select = (where: SQL) =>
    sql`${selectFrom(moved)} where ${where} ${rowsToCopy ? sql`and ${rowsToCopy(moving)}` : sql``}
      order by ${list(key)} limit ${raw(limit)}`;
  if ('parents' in ownRows) {
    const parents = ownRows.parents(moving);
    return selectNestedRows(moved, { parents, afterKey, limit, select });
  }
  if ('keyRange' in ownRows) {
    const { after, before } = ownRows.keyRange(moving);
    const isAfter = compareKey(moved, key, '>', afterKey ?? after);
    return select(sql`${isAfter} and ${compareKey(moved, key, '<', before)}`);
  }
  const isOwn = ownRows.condition(moving);
  if (afterKey === null) return select(isOwn);
  return select(sql`${isOwn} and ${compareKey(moved, key, '>', afterKey)}`);
}

/**
 * SQL that selects rows by their parents, which the first key column names.
 *
 * To continue after a key takes two selects: for the rest of its parent, and for the parents after
 * it. With one condition on the whole key, SQLite would start from the first row of the table each
 * time.
 * @param select makes the SQL that selects the rows for which a condition holds
 */
function selectNestedRows(
  moved: MovedTable,
  {
    parents,
    afterKey,
    limit,
    select,
  }: { parents: SQL; afterKey: string | null; limit: number; select: (where: SQL) => SQL },
): SQL {
  const [parentColumn = '', ...rest] = moved.key;
  const column = identifier(parentColumn);
  const allParents = sql`select parent from (${parents})`;
  if (afterKey === null) return select(sql`${column} in (${allParents})`);
  const parent = keyValue(moved, parentColumn, afterKey);
  const restOfParent = sql`${column} = ${parent} and ${compareKey(moved, rest, '>', afterKey)}`;
  const laterParents = sql`${column} in (${allParents} where parent > ${parent})`;
  return sql`
    select * from (${select(restOfParent)})
    union all
    select * from (${select(laterParents)})
    limit ${raw(limit)}`;
}

/**
 * SQL that selects the rows of some permissions, in the columns of {@link selectRows}.
 * @param ids the ids of the permissions in hexadecimal, a JSON array
 */
export function selectRowsOfPermissions(moved: MovedTable, moving: MovedAccount, ids: string): SQL {
  const { permissionColumn = 'id', rowsOfPermissions } = moved;
  const wanted = permissionIds(ids);
  const narrowed = rowsOfPermissions ? sql`and ${rowsOfPermissions(moving, wanted)}` : sql``;
  return sql`${selectFrom(moved)}
    where ${isOfAccount(moving)} ${narrowed} and ${identifier(permissionColumn)} in ${wanted}`;
}

/** SQL that selects `copied_row` and `copied_key`, up to its condition. */
function selectFrom(moved: MovedTable): SQL {
  const { table, key, columnRules = {} } = moved;
  const row = copiedColumns(moved).map((name) => {
    const rule = columnRules[name];
    return encode(table, name, typeof rule === 'object' ? rule : identifier(name));
  });
  const keyColumns = key.map((name) => encode(table, name, identifier(name)));
  return sql`select json_array(${sql.join(row, sql`, `)}) as copied_row,
    json_array(${sql.join(keyColumns, sql`, `)}) as copied_key from ${table}`;
}

/** The condition that some key columns of a row sort after, or before, those of a JSON key. */
function compareKey(
  moved: MovedTable,
  names: readonly string[],
  operator: '>' | '<',
  json: string,
): SQL {
  const values = names.map((name) => keyValue(moved, name, json));
  return sql`(${list(names)}) ${sql.raw(operator)} (${sql.join(values, sql`, `)})`;
}

/** The value of a key column in a JSON key. */
function keyValue({ table, key }: MovedTable, name: string, json: string): SQL {
  return decode(table, name, sql`${json} ->> ${raw(key.indexOf(name))}`);
}
