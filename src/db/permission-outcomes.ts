import { integer, sqliteTable } from 'drizzle-orm/sqlite-core';
import { idColumn } from './columns';
import { outcomeColumns } from './schema';

/**
 * The columns of the table `permissions` that say what happened after the use, as a table of their
 * own: the ledger changes them without an audit entry, because they are the program's own word.
 */
export const permissionOutcomes = sqliteTable('permissions', {
  account: integer().notNull(),
  id: idColumn('perm')().notNull(),
  ...outcomeColumns,
  updatedAt: integer('updated_at').notNull(),
});
