import { type SQL, sql } from 'drizzle-orm';

/** The rows that a page examines, and the condition by which it lists some of them. */
interface ExaminedRows {
  /** A statement that selects the columns, in the order of the list. */
  rows: SQL;
  /** Their name in `joinsAndWhere`. */
  alias: string;
  /** The names of the columns to select. */
  columns: readonly string[];
  /** The joins, and the WHERE that the listed rows match. */
  joinsAndWhere: SQL;
}

/**
 * Selects up to `limit` matching rows among the first `maxExamined` rows, with `is_end = 0`. If
 * fewer match and `maxExamined` rows exist, adds the last examined row with `is_end = 1`; the next
 * page starts after it.
 *
 * SQLite examines the rows one after the other, and stops as soon as the page is full. If it does
 * not get full, it reads the rows once more for their end.
 */
export function selectExamined(
  { rows, alias, columns, joinsAndWhere }: ExaminedRows,
  { limit, maxExamined }: { limit: number; maxExamined: number },
): SQL {
  const names = sql.raw(columns.join(', '));
  const listedNames = sql.raw(columns.map((name) => `${alias}.${name}`).join(', '));
  return sql`
    with page as materialized (
      select ${listedNames}
      from (${rows} limit ${maxExamined}) as ${sql.raw(alias)} ${joinsAndWhere} limit ${limit}
    )
    select ${names}, 0 as is_end from page
    union all
    select ${names}, 1 from (
      select ${names} from (${rows} limit ${maxExamined})
      limit iif((select count(*) from page) < ${limit}, 1, 0) offset ${maxExamined - 1}
    )`;
}
