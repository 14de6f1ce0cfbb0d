import { and, eq, sql } from 'drizzle-orm';
import { deliveries, webhooks } from '../../db/schema';
import { CANCELED_ERROR } from '../deliveries/delivery';
import { FRESH, isCanceledFor, RETRIED } from '../deliveries/waiting';
import type { DispatchContext } from './context';
import type { LeasedWebhook } from './lease';
import { LEASE } from './limits';

/** Deliveries that one statement voids. */
const VOIDED = 500;

/**
 * Writes down a slice of what waited for a webhook that was switched off, and never will be sent.
 * @returns whether there may be more
 */
export async function recordCanceled(
  { ledger, runtime }: DispatchContext,
  { row, token }: LeasedWebhook,
): Promise<boolean> {
  const now = runtime.now();
  const isVoid = sql`(${deliveries.webhook}, ${deliveries.id}) in (
    select webhook, id from ${FRESH} ${isCanceledFor(row.number)}
    union all select webhook, id from ${RETRIED} ${isCanceledFor(row.number)} limit ${VOIDED}
  )`;
  const [voided] = await ledger.write({
    changes: (write) => [
      write
        .update(deliveries)
        .set({ status: 'failed', dueAt: null, lastError: CANCELED_ERROR, completedAt: now })
        .where(isVoid)
        .returning({ webhook: deliveries.webhook }),
      write
        .update(webhooks)
        .set({
          hasVoid: sql`exists (select 1 from ${FRESH} ${isCanceledFor(row.number)})
            or exists (select 1 from ${RETRIED} ${isCanceledFor(row.number)})`,
          dueAt: now + LEASE,
        })
        .where(and(eq(webhooks.number, row.number), eq(webhooks.lease, token))),
    ],
  });
  return voided.length === VOIDED;
}
