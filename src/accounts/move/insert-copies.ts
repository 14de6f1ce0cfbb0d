import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import type { Database } from '../../db/database';
import { MOVED_NUMBERS, moveNumbers } from '../../db/schema';
import type { Statement } from '../../db/statements';
import { insertRows, numbersInRows, type Renumbering } from './insert-rows';
import type { MovedTable, NumberedKind } from './moved-table';
import type { CopiedRow } from './row-json';

/**
 * Maximum characters of rows in one statement: D1 takes 2 MB, and a character may have three bytes.
 */
const STATEMENT_CHARACTERS = 500_000;

/**
 * Makes the statements that insert copied rows on the new shard. The first ones assign numbers of
 * that shard to the agents and receivers in the rows.
 */
export function insertCopies(
  database: Database,
  copied: [MovedTable, CopiedRow[]][],
  renumbering: Renumbering,
): Statement[] {
  const { build } = database;
  const all = copied.map(([table, rows]) => [table, rows.map(({ row }) => row)] as const);
  const numbers = MOVED_NUMBERS.flatMap((kind) => {
    const found = new Set(all.flatMap(([table, rows]) => numbersInRows(table, rows, kind)));
    return found.size === 0 ? [] : assignNumbers(database, kind, [...found], renumbering.newNumber);
  });
  const inserts = all.flatMap(([table, rows]) =>
    chunk(rows).map((part) => build.run(insertRows(table, part, renumbering))),
  );
  return [...numbers, ...inserts];
}

/**
 * Makes the statements that assign numbers of the new shard to agents or receivers that have none
 * there yet.
 *
 * They also insert a placeholder row with the highest of these numbers and delete it again: SQLite
 * then never assigns the numbers to other rows.
 */
function assignNumbers(
  { build }: Database,
  kind: NumberedKind,
  numbers: number[],
  account: number,
): Statement[] {
  const code = codeOf(MOVED_NUMBERS, kind);
  const name = `${kind}s`;
  const table = sql.raw(name);
  const last = sql`coalesce((select seq from sqlite_sequence where name = ${name}), 0)`;
  const placeholder: Record<NumberedKind, SQL> = {
    agent: sql`(number, account, id, name, key_prefix, metadata, is_active, created_at, updated_at)
      select becomes, 0, zeroblob(16), '', '', '{}', 0, 0, 0`,
    receiver: sql`(number, account, id, url, events, is_active, secret, starts_after, created_at, updated_at)
      select becomes, 0, zeroblob(16), '', '[]', 0, x'', 0, 0, 0`,
  };
  return [
    sql`insert into ${moveNumbers} (account, kind, number, becomes)
      select ${account}, ${code}, value, ${last} + row_number() over (order by value)
      from json_each(${JSON.stringify(numbers)})
      where value not in (select number from ${moveNumbers} where account = ${account} and kind = ${code})`,
    sql`insert into ${table} ${placeholder[kind]}
      from ${moveNumbers} where account = ${account} and kind = ${code} and becomes > ${last}
      order by becomes desc limit 1`,
    sql`delete from ${table} where account = 0`,
  ].map((statement) => build.run(statement));
}

/**
 * Divides rows into JSON arrays that are each small enough for one statement, unless a single row
 * is larger.
 */
function chunk(rows: readonly string[]): string[] {
  const chunks: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    if (size + row.length > STATEMENT_CHARACTERS) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)?.push(row);
    size += row.length;
  }
  return chunks.map((chunk) => `[${chunk.join()}]`);
}
