import { integer, sqliteTable } from 'drizzle-orm/sqlite-core';
import { codeColumn, idColumn } from './columns';
import { PERMISSION_STATUSES } from './schema';

/**
 * The columns of the table `permissions` that withdraw the pending requests of a connection, as a
 * table of their own. The ledger changes `expires_at` without an audit entry: the sweep writes the
 * entries.
 */
export const connectionRequests = sqliteTable('permissions', {
  account: integer('account').notNull(),
  permission: idColumn('perm')('id').notNull(),
  status: codeColumn(PERMISSION_STATUSES)('status').notNull(),
  expiresAt: integer('expires_at').notNull(),
  createdAt: integer('created_at').notNull(),
  updatedAt: integer('updated_at').notNull(),
  connectionId: idColumn('conn')('connection_id'),
});
