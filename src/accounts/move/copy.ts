import { type SQL, sql } from 'drizzle-orm';
import { type Database, loadNonNull } from '../../db/database';
import { LOG_SPAN } from '../../ledger/append';
import { insertCopies } from './insert-copies';
import { deletePermissions, type Renumbering } from './insert-rows';
import { type MovedAccount, type MovedTable, raw } from './moved-table';
import { LOG, PERMISSION_TABLES } from './moved-tables';
import type { CopiedRow } from './row-json';
import { selectRows, selectRowsOfPermissions } from './select-rows';
import { type Move, takeTurn, updateMove } from './turns';

/** A move of which rows are copied. */
export interface Copying {
  source: Database;
  target: Database;
  departure: Move;
  arrival: Move;
}

/** The most that one slice copies: rows, or entries of the log, and characters in them. */
export interface CopyLimits {
  rows: number;
  characters: number;
}

/**
 * Copies the next rows of a table, if any are left, and stores in the same transaction how far
 * the copy has come.
 */
export async function copyTable(
  { source, target: database, departure, arrival }: Copying,
  table: MovedTable,
  limits: CopyLimits,
): Promise<void> {
  const limit = limits.rows;
  const query = selectRows(table, movedAccountOf(departure, arrival), arrival.after, limit);
  const [found] = await source.load([
    source
      .select({
        row: sql<string>`copied_row`,
        key: sql<string>`copied_key`,
        found: sql<number>`found`,
      })
      .from(
        sql`(
        select *, row_number() over () as place, count(*) over () as found,
          sum(length(copied_row)) over (rows unbounded preceding) as characters
        from (${query})
      )`,
      )
      .where(sql`place = 1 or characters <= ${limits.characters}`),
  ]);
  const isLast = found.length === (found[0]?.found ?? 0) && found.length < limit;
  const progress = isLast
    ? { step: arrival.step + 1, after: null }
    : { after: found.at(-1)?.key ?? null };
  await takeTurn(database, arrival, [
    ...insertCopies(database, [[table, found]], renumberingOf(departure, arrival)),
    updateMove(database, arrival, progress),
  ]);
}

/**
 * Copies the next entries of the log, and once more the permissions that they are about.
 * @returns whether there were new entries, and whether they reach the end of the log
 */
export async function copyLog(
  { source, target: database, departure, arrival }: Copying,
  limits: CopyLimits,
): Promise<{ isNew: boolean; isEnd: boolean }> {
  const moving = movedAccountOf(departure, arrival);
  const [next] = await source.load([
    source
      .select({
        pos: sql<number>`pos`,
        permission: sql<string>`permission`,
        found: sql<number>`found`,
      })
      .from(sql`(${selectNextEntries(moving, limits.rows)})`)
      .where(sql`place = 1 or characters <= ${limits.characters / 2}`),
  ]);
  const last = next.at(-1);
  if (!last) return { isNew: false, isEnd: true };
  const ids = JSON.stringify([...new Set(next.map(({ permission }) => permission))]);
  const after = JSON.stringify([moving.logPosition]);
  const found = await loadCopies(source, [
    selectRows(LOG, moving, after, next.length),
    ...PERMISSION_TABLES.map((table) => selectRowsOfPermissions(table, moving, ids)),
  ]);
  const copied = [LOG, ...PERMISSION_TABLES].map((table, i): [MovedTable, CopiedRow[]] => [
    table,
    found[i] ?? [],
  ]);
  const renumbering = renumberingOf(departure, arrival);
  await takeTurn(database, arrival, [
    database.build.run(deletePermissions(ids, renumbering)),
    ...insertCopies(database, copied, renumbering),
    updateMove(database, arrival, { logPosition: last.pos }),
  ]);
  return { isNew: true, isEnd: next.length === last.found && last.found < limits.rows };
}

/**
 * Selects the next entries of the log, each with the number of characters that it and the contents
 * of its permission have together with those before it.
 */
function selectNextEntries({ number, logPosition }: MovedAccount, limit: number): SQL {
  return sql`
    select pos, hex(permission) as permission, row_number() over log as place, count(*) over () as found,
      sum(length(details) + coalesce(length(input), 0) + coalesce(length(preview), 0)) over log as characters
    from (
      select * from audit_entries
      where pos > ${raw(logPosition)} and pos < ${raw((number + 1) * LOG_SPAN)} order by pos limit ${raw(limit)}
    ) as entry
    left join permission_contents as contents
      on contents.account = ${raw(number)} and contents.id = entry.permission
    window log as (order by pos rows unbounded preceding)`;
}

/**
 * Loads the rows to copy that each query selects, in one round trip; in none if there are no
 * queries.
 */
function loadCopies(source: Database, queries: SQL[]): Promise<CopiedRow[][]> {
  const columns = { row: sql<string>`copied_row`, key: sql<string>`copied_key` };
  return loadNonNull(
    source,
    queries.map((query) => source.select(columns).from(sql`(${query})`)),
  );
}

function movedAccountOf(
  { account, id }: Move,
  { logPosition, openSince, reservedAt }: Move,
): MovedAccount {
  return { number: account, id, logPosition, openSince, reservedAt };
}

function renumberingOf(departure: Move, arrival: Move): Renumbering {
  return { oldNumber: departure.account, newNumber: arrival.account };
}
