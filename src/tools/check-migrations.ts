import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { checkContractions } from './migrations/check-contractions.ts';
import { buildDatabase, MIGRATIONS_FOLDER, readMigrations } from './migrations/migration.ts';
import { ROOT } from './project.ts';
import { runTool } from './run-tool.ts';

/**
 * Lists where the migrations differ from src/db/schema.ts, lack WITHOUT ROWID, or break the version
 * before.
 */
function findFaults(): string[] {
  const pending = findPendingMigration();
  if (pending) return [pending];
  const migrations = readMigrations();
  const migrated = buildDatabase(migrations);
  const described = buildDatabase([{ name: 'src/db/schema.ts', sql: runDrizzle('export').stdout }]);
  return [
    ...compareDatabases(migrated, described),
    ...findRowidTables(migrated),
    ...checkContractions(migrations),
  ];
}

/**
 * Reports that the schema has changes without a migration; null if it has none. drizzle-kit finds
 * them when it generates a migration, here in a copy of the folder.
 */
function findPendingMigration(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  try {
    cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
    // drizzle-kit accepts relative paths only, and its exit code is always 0.
    const { stdout, stderr } = runDrizzle('generate', '--out', relative(ROOT, folder));
    if (stdout.includes('No schema changes')) return null;
    const known = readMigrations().map(({ name }) => name);
    const added = readdirSync(folder).filter(
      (name) => name.endsWith('.sql') && !known.includes(name),
    );
    const missing = added.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
    return `src/db/schema.ts has no migration yet for:\n\n${missing || stderr}\n\nMake one with: npx drizzle-kit generate`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function runDrizzle(command: string, ...options: string[]) {
  const schema = ['--dialect', 'sqlite', '--schema', 'src/db/schema.ts'];
  return runTool('drizzle-kit/bin.cjs', [command, ...schema, ...options]);
}

/**
 * Lists the differences, which drizzle-kit does not notice in migrations that were edited by hand.
 */
function compareDatabases(migrated: DatabaseSync, described: DatabaseSync): string[] {
  const actual = describeDatabase(migrated);
  const expected = describeDatabase(described);
  return [
    ...actual
      .filter((part) => !expected.includes(part))
      .map((part) => `Only in the migrations: ${part}`),
    ...expected
      .filter((part) => !actual.includes(part))
      .map((part) => `Only in src/db/schema.ts: ${part}`),
  ];
}

/**
 * Describes every column and index of a database in one line each. Drizzle does not manage triggers
 * and views.
 */
function describeDatabase(database: DatabaseSync): string[] {
  const columns = database
    .prepare(
      `select t.name || '.' || c.name || ' ' || lower(c.type) || iif(c."notnull", ' not null', '')
         || coalesce(' default ' || c.dflt_value, '') || iif(c.pk, ' key ' || c.pk, '') as part
       from pragma_table_list t, pragma_table_xinfo(t.name) c
       where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\'`,
    )
    .all();
  const indexes = database.prepare(
    `select sql as part from sqlite_master where type = 'index' and sql is not null`,
  );
  return [...columns, ...indexes.all()].map(({ part }) => String(part).replace(/\s+/g, ' '));
}

/**
 * Finds tables that need WITHOUT ROWID, which drizzle-kit cannot express. Without it, SQLite stores
 * the primary key twice, unless it is a single integer.
 */
function findRowidTables(database: DatabaseSync): string[] {
  return database
    .prepare(
      `select t.name from pragma_table_list t, pragma_table_info(t.name) c
       where t.schema = 'main' and t.type = 'table' and not t.wr and t.name not like 'sqlite\\_%' escape '\\'
       group by t.name having sum(c.pk > 0) <> 1 or sum(c.pk > 0 and lower(c.type) = 'integer') <> 1`,
    )
    .all()
    .map(
      ({ name }) =>
        `The table ${name} must end with WITHOUT ROWID: its primary key is not a single integer column.`,
    );
}

const faults = findFaults();
for (const fault of faults) console.error(fault);
if (faults.length === 0)
  console.log('The migrations match the schema, and none breaks the version before it.');
else process.exitCode = 1;
