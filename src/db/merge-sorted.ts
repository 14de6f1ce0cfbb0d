import { type SQL, sql } from 'drizzle-orm';

const MAX_TERMS = 3;

/**
 * Merges sorted selects into one sorted select. SQLite evaluates it lazily: it reads the rows that are requested, and
 * one more of each select. Larger merges are nested, because D1 allows five terms in a compound select.
 * @param arms at least one select of one column, named like `key`, that an index sorts
 */
export function mergeSorted(arms: SQL[], key: string, order: 'asc' | 'desc'): SQL {
  const sorted = sql.raw(`order by ${key} ${order}`);
  if (arms.length <= MAX_TERMS) return sql`${sql.join(arms, sql.raw(' union all '))} ${sorted}`;
  const groups: SQL[] = [];
  for (let i = 0; i < arms.length; i += MAX_TERMS) {
    groups.push(sql`select * from (${mergeSorted(arms.slice(i, i + MAX_TERMS), key, order)})`);
  }
  return mergeSorted(groups, key, order);
}
