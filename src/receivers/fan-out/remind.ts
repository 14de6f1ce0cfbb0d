import { and, eq, isNotNull, isNull, lte, sql } from 'drizzle-orm';
import { isAtHome } from '../../db/at-home';
import { codeOf, numberList } from '../../db/columns';
import type { Reader } from '../../db/database';
import { eventFeeds, PERMISSION_STATUSES, permissionEvents } from '../../db/schema';
import type { Runtime } from '../../env';
import type { Ledger } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import { idBytes } from '../../lib/typeid';
import { reminderTime } from './reminder-time';

/** Maximum number of requests that one call of {@link remindReviewers} looks at. */
const SLICE = 100;

/**
 * Makes the reminders of pending requests that are due: the next worker notifies those who have not
 * voted. A request that has ended gets none.
 * @returns whether there may be more
 */
export async function remindReviewers(context: {
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
}): Promise<boolean> {
  const { reader, ledger, runtime } = context;
  const now = runtime.now();
  const [due] = await reader.load([
    reader
      .select({
        account: permissionEvents.account,
        permission: permissionEvents.permission,
        reminders: permissionEvents.reminders,
        request: requestSql(now),
      })
      .from(permissionEvents)
      .where(
        and(isNotNull(permissionEvents.remindAt), lte(permissionEvents.remindAt, now), isAtHome),
      )
      .orderBy(permissionEvents.remindAt)
      .limit(SLICE),
  ]);
  if (due.length === 0) return false;
  const rows = due.map(({ account, permission, reminders, request }) => {
    const next = request && reminders === 0 ? reminderTime(request, 2) : null;
    return [account, toHex(idBytes(permission)), request ? 1 : 0, next];
  });
  const accounts = numberList(
    new Set(due.filter(({ request }) => request).map(({ account }) => account)),
  );
  await ledger.write({
    changes: (write) => [
      write
        .update(permissionEvents)
        .set({
          isPending: sql`reminder.value ->> 2`,
          reminders: sql`${permissionEvents.reminders} + 1`,
          remindAt: sql`reminder.value ->> 3`,
        })
        .from(sql`json_each(${JSON.stringify(rows)}) as reminder`)
        .where(
          and(
            eq(permissionEvents.account, sql`reminder.value ->> 0`),
            eq(permissionEvents.permission, sql`unhex(reminder.value ->> 1)`),
            sql`${permissionEvents.remindAt} <= ${now}`,
          ),
        ),
      write
        .update(eventFeeds)
        .set({ dueAt: now })
        .where(and(sql`${eventFeeds.account} in ${accounts}`, isNull(eventFeeds.dueAt))),
    ],
  });
  return due.length === SLICE;
}

/** Selects when the request of the row was made and expires; null if it has ended. */
function requestSql(now: number) {
  return sql<{ createdAt: number; expiresAt: number } | null>`(
    select json_object('createdAt', created_at, 'expiresAt', expires_at) from permissions
    where permissions.account = permission_events.account and permissions.id = permission_events.permission
      and permissions.status = ${codeOf(PERMISSION_STATUSES, 'pending')} and permissions.expires_at > ${now}
  )`
    .mapWith((text: string) => JSON.parse(text) as { createdAt: number; expiresAt: number })
    .as('request');
}
