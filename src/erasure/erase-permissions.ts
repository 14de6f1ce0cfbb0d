import { and, sql } from 'drizzle-orm';
import { numberList } from '../db/columns';
import type { Database } from '../db/database';
import { auditEntries, permissions } from '../db/schema';
import { LOG_SPAN_SQL } from '../ledger/append';
import { isNotMoving, movingGuard } from '../ledger/hold';
import { toHex } from '../lib/bytes';
import { idBytes } from '../lib/typeid';
import { hasNoRow } from './delete-rows';
import { DELETE_LIMIT } from './erase-agents';
import { runErasure } from './run-erasure';

/**
 * Erases a slice of the permissions whose last audit entry was erased while their token lived, and
 * whose token has ended since. A token that was used or revoked after that has an entry again, with
 * which retention erases its permission. Safe to stop at any point and to repeat.
 * @returns whether there may be more to erase
 */
export async function erasePermissions(database: Database, now: number): Promise<boolean> {
  const [due] = await database.load([
    database
      .select({ account: permissions.account, id: permissions.id })
      .from(permissions)
      .where(
        sql`${permissions.eraseAt} is not null and ${permissions.eraseAt} <= ${now} and ${isNotMoving(permissions.account)}`,
      )
      .orderBy(permissions.eraseAt)
      .limit(DELETE_LIMIT),
  ]);
  if (due.length === 0) return false;
  const keys = JSON.stringify(due.map(({ account, id }) => [account, toHex(idBytes(id))]));
  const isDue = sql`(${permissions.account}, ${permissions.id}) in (
    select value ->> 0, unhex(value ->> 1) from json_each(${keys})
  )`;
  const hasNoEntry = hasNoRow(
    auditEntries,
    sql`${auditEntries.pos} = ${permissions.account} * ${LOG_SPAN_SQL} + ${permissions.lastEntry}`,
  );
  const statements = [
    database.build.delete(permissions).where(and(isDue, hasNoEntry)),
    database.build.update(permissions).set({ eraseAt: null }).where(isDue),
  ];
  const accounts = numberList(new Set(due.map(({ account }) => account)));
  await runErasure(database, statements, movingGuard(accounts));
  return due.length === DELETE_LIMIT;
}
