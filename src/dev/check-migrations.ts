import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ROOT } from './project.ts';

const MIGRATIONS = join(ROOT, 'migrations');

/** What of the migrations does not fit src/db/schema.ts, or the rules of this project; empty when all is well. */
function findFaults(): string[] {
  const pending = findPendingMigration();
  if (pending) return [pending];
  const migrated = buildDatabase(readMigrations());
  const described = buildDatabase([runDrizzle('export').stdout]);
  return [...compareDatabases(migrated, described), ...findRowidTables(migrated)];
}

/** Lets drizzle-kit compare the schema with a copy of the migrations: it says when there is nothing to add. */
function findPendingMigration(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  try {
    cpSync(MIGRATIONS, folder, { recursive: true });
    // drizzle-kit takes a relative folder only, and ends with code 0 whatever happens.
    const { stdout, stderr } = runDrizzle('generate', '--out', relative(ROOT, folder));
    if (stdout.includes('No schema changes')) return null;
    const added = readdirSync(folder).filter((name) => name.endsWith('.sql') && !listMigrations().includes(name));
    const missing = added.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
    return `src/db/schema.ts has no migration yet for:\n\n${missing || stderr}\n\nMake one with: npx drizzle-kit generate`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function runDrizzle(command: string, ...options: string[]) {
  const program = join(ROOT, 'node_modules/drizzle-kit/bin.cjs');
  return spawnSync(
    process.execPath,
    [program, command, '--dialect', 'sqlite', '--schema', 'src/db/schema.ts', ...options],
    { cwd: ROOT, encoding: 'utf8' },
  );
}

/** The migrations in the order in which wrangler applies them. */
function listMigrations(): string[] {
  return readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith('.sql'))
    .sort();
}

function readMigrations(): string[] {
  return listMigrations().map((name) => readFileSync(join(MIGRATIONS, name), 'utf8'));
}

function buildDatabase(scripts: string[]): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  for (const script of scripts) database.exec(script);
  return database;
}

/** Migrations are finished by hand, so what they make may differ from what drizzle-kit believes that they make. */
function compareDatabases(migrated: DatabaseSync, described: DatabaseSync): string[] {
  const actual = describeDatabase(migrated);
  const expected = describeDatabase(described);
  return [
    ...actual.filter((part) => !expected.includes(part)).map((part) => `Only in the migrations: ${part}`),
    ...expected.filter((part) => !actual.includes(part)).map((part) => `Only in src/db/schema.ts: ${part}`),
  ];
}

/** Every column and index of a database, each as a line. Triggers and views are not drizzle's. */
function describeDatabase(database: DatabaseSync): string[] {
  const columns = database
    .prepare(
      `select t.name || '.' || c.name || ' ' || lower(c.type) || iif(c."notnull", ' not null', '')
         || coalesce(' default ' || c.dflt_value, '') || iif(c.pk, ' key ' || c.pk, '') as part
       from pragma_table_list t, pragma_table_xinfo(t.name) c
       where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\'`,
    )
    .all();
  const indexes = database.prepare(`select sql as part from sqlite_master where type = 'index' and sql is not null`);
  return [...columns, ...indexes.all()].map(({ part }) => String(part).replace(/\s+/g, ' '));
}

/**
 * Tables that SQLite would store twice, in the order of a hidden number and again in that of their key: all whose key is
 * not one integer. drizzle-kit cannot express WITHOUT ROWID.
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
      ({ name }) => `The table ${name} must end with WITHOUT ROWID: its primary key is not a single integer column.`,
    );
}

const faults = findFaults();
for (const fault of faults) console.error(fault);
if (faults.length === 0) console.log('Migrations and schema are in step.');
else process.exitCode = 1;
