import { and, eq, type SQL, sql } from 'drizzle-orm';
import { webhooks } from '../../db/schema';
import type { InternalWriter } from '../../ledger/ledger';
import { DELIVERY_LIFETIME } from '../../outbox/feed';

// A pending delivery is in one index until its first attempt, and in two after an attempt that failed: a delivery that
// succeeds at once is written to one index only. SQLite uses an index only for a condition that is spelled as in the index.

/** Deliveries that wait for their first attempt. They are due from their creation on. */
export const FIRST_ATTEMPTS = sql`deliveries indexed by deliveries_fresh where status = 0 and attempts = 0`;

/** Deliveries that wait for a retry, by webhook and id. */
export const RETRIES = sql`deliveries indexed by deliveries_retried where status = 0 and attempts > 0`;

/** Deliveries that wait for a retry, by webhook and due time. */
export const RETRIES_BY_DUE_TIME = sql`deliveries indexed by deliveries_due where due_at is not null and attempts > 0`;

/** Selects the deliveries that will be sent to a webhook. Follows one of the conditions above. */
export function isPendingFor(webhook: number | SQL): SQL {
  return sql`and deliveries.webhook = ${webhook}
    and deliveries.generation = (select generation from webhooks where number = ${webhook})`;
}

/** Selects the deliveries that were pending when a webhook was disabled. Follows one of the conditions above. */
export function isCanceledFor(webhook: number): SQL {
  return sql`and deliveries.webhook = ${webhook}
    and deliveries.generation < (select generation from webhooks where number = ${webhook})`;
}

/** Marks active webhooks as having a delivery that is due. A webhook that a worker has claimed keeps its due time. */
export function markDue(write: Pick<InternalWriter, 'update'>, which: SQL | undefined, now: number) {
  return write
    .update(webhooks)
    .set({
      dueAt: sql`iif(lease is null, min(coalesce(due_at, ${now}), ${now}), due_at)`,
      eraseAt: sql`coalesce(erase_at, ${now + DELIVERY_LIFETIME})`,
    })
    .where(and(which, eq(webhooks.isActive, true)));
}
