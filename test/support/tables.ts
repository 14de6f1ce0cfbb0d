import { isNotNeighbour, neighbourStatements } from './neighbour';

/** The number of rows of each table of a database, without those of the neighbour. */
export async function countRows(database: D1Database): Promise<Record<string, number>> {
  const names = await listTables(database);
  const results = await database.batch<{ rows: number }>(
    names.map((name) =>
      database.prepare(`select count(*) as rows from ${name} where ${isNotNeighbour(name)}`),
    ),
  );
  return Object.fromEntries(names.map((name, i) => [name, results[i]?.results[0]?.rows ?? 0]));
}

/** The rows of each table of a database, without those of the neighbour. */
export async function readTables(
  database: D1Database,
): Promise<Map<string, Record<string, unknown>[]>> {
  const names = await listTables(database);
  const results = await database.batch<Record<string, unknown>>(
    names.map((name) => database.prepare(`select * from ${name} where ${isNotNeighbour(name)}`)),
  );
  return new Map(names.map((name, i) => [name, results[i]?.results ?? []]));
}

/** All rows of a database, without the times at which credentials were last used. */
export async function dumpTables(database: D1Database): Promise<Record<string, unknown[]>> {
  const tables = [...(await readTables(database))];
  return Object.fromEntries(
    tables.map(([name, rows]) => [
      name,
      rows.map(({ last_used_at: _, last_activity_at: __, ...row }) => row),
    ]),
  );
}

/** Empties every table of a database but for the neighbour's rows (see `neighbour.ts`). */
export async function emptyTables(database: D1Database): Promise<void> {
  const tables = await listTables(database);
  const deletions = tables.map((name) => database.prepare(`delete from ${name}`));
  await database.batch([...deletions, ...neighbourStatements(database)]);
}

/** Tables that triggers of `permissions` change. */
const TRIGGERED = [
  'connection_calls',
  'pending_permissions',
  'permission_contents',
  'permission_events',
  'reviews',
  'series',
  'votes',
];

/** Saves all rows of a database; returns a function that restores them. */
export async function saveTables(database: D1Database): Promise<() => Promise<void>> {
  // Those are restored last.
  const tables = [
    ...(await listTables(database)).filter((name) => !TRIGGERED.includes(name)),
    ...TRIGGERED,
  ];
  const run = (statements: string[]) =>
    database.batch(statements.map((sql) => database.prepare(sql)));
  await run(
    tables.flatMap((name) => [
      `drop table if exists _${name}`,
      `create table _${name} as select * from ${name}`,
    ]),
  );
  return async () => {
    await run(
      tables.flatMap((name) => [
        `delete from ${name}`,
        `insert into ${name} select * from _${name}`,
      ]),
    );
  };
}

/** The names of the tables. They are read once: tests add no tables but with an underscore. */
const tablesOf = new WeakMap<D1Database, Promise<string[]>>();

function listTables(database: D1Database): Promise<string[]> {
  const names = tablesOf.get(database) ?? readNames(database);
  tablesOf.set(database, names);
  return names;
}

async function readNames(database: D1Database): Promise<string[]> {
  const { results } = await database
    .prepare(`select name from sqlite_schema where type = 'table' and name not like '\\_%' escape '\\'
      and name not like 'sqlite%' and name <> 'd1_migrations' order by name`)
    .all<{ name: string }>();
  return results.map(({ name }) => name);
}
