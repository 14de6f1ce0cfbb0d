import { type SQL, sql } from 'drizzle-orm';

/**
 * Selects the listed ones among the first rows, as `id`, `place` and `is_end`: up to `limit`, and,
 * if there are fewer, the last of `maxExamined` rows with `is_end`. It tells where the next page
 * begins.
 *
 * SQLite examines the rows one after the other, and stops as soon as the page is full.
 * @param rows permissions in their order, with the columns `id` and `place`
 * @param isListed the joins and the condition of a statement that reads the rows as `permissions`
 */
export function selectExamined(
  rows: SQL,
  isListed: SQL,
  { limit, maxExamined }: { limit: number; maxExamined: number },
): SQL {
  return sql`
    with page as materialized (
      select permissions.id, permissions.place
      from (${rows} limit ${maxExamined}) as permissions ${isListed} limit ${limit}
    )
    select id, place, 0 as is_end from page
    union all
    select id, place, 1 from (
      select id, place from (${rows} limit ${maxExamined})
      limit iif((select count(*) from page) < ${limit}, 1, 0) offset ${maxExamined - 1}
    )`;
}
