import { type SQL, sql } from 'drizzle-orm';

/** Selects that one `union all` merges. D1 allows five. */
const MAX_TERMS = 3;

/**
 * Returns a select that merges selects, sorted by their only column. SQLite evaluates it lazily: it
 * reads the rows that are requested, and one more of each select. More than three selects are
 * merged in groups.
 * @param arms at least one select, of a column that an index sorts in this order
 * @param key the name of the column
 */
export function mergeSorted(arms: SQL[], key: string, order: 'asc' | 'desc'): SQL {
  const sorted = sql.raw(`order by ${key} ${order}`);
  if (arms.length <= MAX_TERMS) return sql`${sql.join(arms, sql.raw(' union all '))} ${sorted}`;
  const groups = Array.from({ length: Math.ceil(arms.length / MAX_TERMS) }, (_, i) => {
    return sql`select * from (${mergeSorted(arms.slice(i * MAX_TERMS, (i + 1) * MAX_TERMS), key, order)})`;
  });
  return mergeSorted(groups, key, order);
}
