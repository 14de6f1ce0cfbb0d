import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ROOT } from '../project.ts';

/** The folder of the migrations. */
export const MIGRATIONS_FOLDER = join(ROOT, 'migrations');

/** One file of migrations/. */
export interface Migration {
  /** The name of the file, such as `0000_initial.sql`. */
  name: string;
  sql: string;
}

/** Reads the migrations of a folder, in the order in which wrangler applies them. */
export function readMigrations(folder = MIGRATIONS_FOLDER): Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({ name, sql: readFileSync(join(folder, name), 'utf8') }));
}

/** The number with which the name of a migration begins. */
export function numberOf({ name }: Pick<Migration, 'name'>): number {
  return Number.parseInt(name, 10);
}

/**
 * Why a migration removes what an earlier version of the service used, or restricts it: the text of
 * its line `-- contract: …`. Null for a migration without this line, which only adds.
 */
export function contractionReason({ sql }: Migration): string | null {
  return /^-- contract:[ \t]*(\S.*)$/m.exec(sql)?.[1] ?? null;
}

/**
 * Makes an empty database in memory and applies migrations to it.
 * @throws Error that names the migration which cannot be applied
 */
export function buildDatabase(migrations: readonly Migration[]): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  for (const { name, sql } of migrations) {
    try {
      database.exec(sql);
    } catch (error) {
      throw new Error(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return database;
}
