import { and, type SQL, sql } from 'drizzle-orm';
import { codeOf, numberList } from '../db/columns';
import type { Database } from '../db/database';
import { auditEntries, PERMISSION_STATUSES, permissions, TOKEN_STATUSES } from '../db/schema';
import { LOG_SPAN_SQL } from '../ledger/append';
import { isNotMoving, movingGuard } from '../ledger/hold';
import { toHex } from '../lib/bytes';
import { HOUR } from '../lib/time';
import { idBytes } from '../lib/typeid';
import { hasNoRow } from './delete-rows';
import { DELETE_LIMIT } from './erase-agents';
import { runErasure } from './run-erasure';

/**
 * Milliseconds until the next look at a request or token that is over, but whose `expire` entry is
 * not written yet.
 */
const RETRY_DELAY = HOUR;

/**
 * Erases a slice of the permissions that have outlived their last audit entry, and whose request or
 * token has ended since. Those that have an entry again are left to the erasure of that entry. Safe
 * to stop at any point and to repeat.
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
    database.build.delete(permissions).where(and(isDue, hasNoEntry, hasEnded(now))),
    database.build
      .update(permissions)
      .set({ eraseAt: sql`iif(${hasNoEntry}, ${now + RETRY_DELAY}, null)` })
      .where(isDue),
  ];
  const accounts = numberList(new Set(due.map(({ account }) => account)));
  await runErasure(database, statements, movingGuard(accounts));
  return due.length === DELETE_LIMIT;
}

/**
 * Whether the row of `permissions` can get no further audit entry, as SQL. The end of a request,
 * and of a token that was never used, is an entry: the row has ended once that is written. A token
 * that was used in part ends without one.
 */
export function hasEnded(now: number): SQL {
  return sql`(
    permissions.status <> ${codeOf(PERMISSION_STATUSES, 'pending')} and (
      permissions.token_status is null
      or permissions.token_status <> ${codeOf(TOKEN_STATUSES, 'active')}
      or (permissions.token_uses > 0 and permissions.token_expires_at <= ${now})
    )
  )`;
}
