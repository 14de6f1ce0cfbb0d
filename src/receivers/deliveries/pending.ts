import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { DELIVERY_STATUSES, deliveries, receivers } from '../../db/schema';
import type { InternalWriter } from '../../ledger/ledger';
import { DELIVERY_LIFETIME } from '../../outbox/feed';

// Sources of pending deliveries, as SQL to which conditions can be appended. A pending delivery is
// in one index until its first attempt, and in two after an attempt that failed or was postponed,
// so that one that succeeds at once is written to one index only. SQLite uses an index only for a
// condition that is spelled as in the index.

/** How often a worker attempted or postponed a delivery. */
const TRIES = sql`${deliveries.attempts} + ${deliveries.postponements}`;
const IS_PENDING = sql`${deliveries.status} = ${codeOf(DELIVERY_STATUSES, 'pending')}`;

/**
 * Deliveries that wait for their first attempt and were not postponed, by receiver and id. They are
 * due from their creation on.
 */
export const FROM_FIRST_ATTEMPTS = sql`${deliveries} indexed by deliveries_first_attempts
  where ${IS_PENDING} and ${TRIES} = 0`;

/** Deliveries that wait for a retry or were postponed, by receiver and id. */
export const FROM_RETRIES = sql`${deliveries} indexed by deliveries_retries
  where ${IS_PENDING} and ${TRIES} > 0`;

/** Deliveries that wait for a retry or were postponed, by receiver and due time. */
export const FROM_RETRIES_BY_DUE_TIME = sql`${deliveries} indexed by deliveries_retries_due
  where ${deliveries.dueAt} is not null and ${TRIES} > 0`;

/** SQL to append to a source: limits it to the deliveries that will be sent to a receiver. */
export function isPendingFor(receiver: number | SQL): SQL {
  return sql`and ${deliveries.receiver} = ${receiver}
    and ${deliveries.disableCount} = ${disableCountOf(receiver)}`;
}

/**
 * SQL to append to a source: limits it to the deliveries that were pending when a receiver was
 * disabled.
 */
export function isCanceledFor(receiver: number): SQL {
  return sql`and ${deliveries.receiver} = ${receiver}
    and ${deliveries.disableCount} < ${disableCountOf(receiver)}`;
}

function disableCountOf(receiver: number | SQL): SQL {
  return sql`(select ${receivers.disableCount} from ${receivers} where ${receivers.number} = ${receiver})`;
}

/**
 * Makes the select list of new deliveries that are due now, in the order of the table's columns.
 * @param given the columns that they do not share; those that are not given are null
 */
export function newDeliveryColumns(
  given: Pick<
    Record<keyof typeof deliveries.$inferInsert, SQL>,
    'receiver' | 'id' | 'disableCount' | 'event'
  > &
    Partial<Record<keyof typeof deliveries.$inferInsert, SQL>>,
  now: number,
): SQL {
  const columns: Partial<Record<keyof typeof deliveries.$inferInsert, SQL>> = {
    ...{
      status: codeOf(DELIVERY_STATUSES, 'pending'),
      attempts: sql`0`,
      postponements: sql`0`,
      dueAt: sql`${now}`,
      createdAt: sql`${now}`,
    },
    ...given,
  };
  const names = Object.keys(getTableColumns(deliveries)) as (keyof typeof columns)[];
  return sql.join(
    names.map((name) => columns[name] ?? sql`null`),
    sql`, `,
  );
}

/**
 * Builds the statement that makes active receivers due now, because they have new deliveries. A
 * receiver that a worker has claimed keeps its due time, at which the claim expires: the worker
 * looks for new deliveries before it ends.
 */
export function markDue(
  write: Pick<InternalWriter, 'update'>,
  which: SQL | undefined,
  now: number,
) {
  return write
    .update(receivers)
    .set({
      dueAt: sql`iif(
        ${receivers.lease} is null,
        min(coalesce(${receivers.dueAt}, ${now}), ${now}),
        ${receivers.dueAt}
      )`,
      eraseAt: sql`coalesce(${receivers.eraseAt}, ${now + DELIVERY_LIFETIME})`,
    })
    .where(and(which, eq(receivers.isActive, true)));
}
