import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { codeColumn, idColumn } from './columns';
import { OUTCOME_STATES } from './schema';

/**
 * The columns of the table `permissions` that a report changes, as a table of their own. The ledger
 * changes them without an audit entry: they say what a program says of its act. Every column is
 * named: see `connectionRequests`.
 */
export const permissionOutcomes = sqliteTable('permissions', {
  account: integer('account').notNull(),
  permission: idColumn('perm')('id').notNull(),
  state: codeColumn(OUTCOME_STATES)('outcome_state'),
  reportedAt: integer('outcome_reported_at'),
  summary: text('outcome_summary'),
  updatedAt: integer('updated_at').notNull(),
});
