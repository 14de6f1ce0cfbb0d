import { type SQL, sql } from 'drizzle-orm';
import { isAtHome } from '../../db/at-home';
import { aliased } from '../../db/columns';
import type { Reader } from '../../db/database';
import { permissionOutcomes } from '../../db/permission-outcomes';
import { permissions } from '../../db/schema';
import type { Runtime } from '../../env';
import type { Ledger } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import { MINUTE } from '../../lib/time';
import { idBytes } from '../../lib/typeid';
import { recordMissingOutcomes } from '../../outbox/feed';
import { DUE_MINUTE, isOverdue } from './outcome';

/** Maximum number of outcomes that one call of {@link markUnknown} marks. */
const SLICE = 200;

/**
 * Marks outcomes as unknown that nobody reported in time, the longest overdue first. In the same
 * transaction each becomes an event for the webhooks and channels of its account. (Reads and lists
 * show them as unknown from the time itself on.)
 * @returns whether there may be more
 */
export async function markUnknown({
  reader,
  ledger,
  runtime,
}: {
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
}): Promise<boolean> {
  const now = runtime.now();
  const [due] = await reader.load([
    reader
      .select({
        account: aliased(permissions.account, 'due_account'),
        id: aliased(permissions.id, 'due_id'),
      })
      .from(sql`permissions indexed by outcomes_awaited`)
      .where(
        sql`${DUE_MINUTE} <= ${Math.floor(now / MINUTE)} and ${isOverdue(now)} and ${isAtHome}`,
      )
      .orderBy(DUE_MINUTE)
      .limit(SLICE),
  ]);
  if (due.length === 0) return false;
  const keys = JSON.stringify(due.map(({ account, id }) => [account, toHex(idBytes(id))]));
  const isDue = (): SQL => sql`(account, id) in (
    select key.value ->> 0, unhex(key.value ->> 1) from json_each(${keys}) as key
  ) and ${isOverdue(now)}`;
  await ledger.write({
    changes: (write) => [
      ...recordMissingOutcomes(
        write,
        isDue(),
        [...new Set(due.map(({ account }) => account))],
        now,
      ),
      write.update(permissionOutcomes).set({ state: 'unknown' }).where(isDue()),
    ],
  });
  return due.length === SLICE;
}
