import { type SQL, sql } from 'drizzle-orm';

const MAX_TERMS = 3;

/**
 * Merges selects that are each sorted already into one sorted select, lazily: no more rows are read than asked for
 * and one of each. D1 allows five terms in a compound select, so that larger merges are nested.
 * @param arms selects of one column, named like `key`, whose indexes give them in order of it; at least one
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
