import { and, eq, sql } from 'drizzle-orm';
import { deliveries, webhooks } from '../../db/schema';
import { VOID_ERROR } from '../deliveries/delivery';
import type { DispatchContext } from './context';
import { LEASE, type LeasedWebhook } from './lease';

/** Deliveries that one statement voids. */
const VOIDED = 500;

/**
 * Writes down a slice of what waited for a webhook that was switched off, and never will be sent.
 * @returns whether there may be more
 */
export async function settleVoid(
  { ledger, runtime }: DispatchContext,
  { row, token }: LeasedWebhook,
): Promise<boolean> {
  const now = runtime.now();
  const isVoid = sql`(${deliveries.webhook}, ${deliveries.id}) in (
    select webhook, id from deliveries indexed by deliveries_due
    where webhook = ${row.number} and due_at is not null
      and generation < (select generation from webhooks where number = ${row.number}) limit ${VOIDED}
  )`;
  const [voided] = await ledger.change({
    note: null,
    changes: (write) => [
      write
        .update(deliveries)
        .set({ status: 'failed', dueAt: null, lastError: VOID_ERROR, completedAt: now })
        .where(isVoid)
        .returning({ webhook: deliveries.webhook }),
      write
        .update(webhooks)
        .set({
          hasVoid: sql`exists (
          select 1 from deliveries indexed by deliveries_due where webhook = ${row.number} and due_at is not null
            and generation < webhooks.generation
        )`,
          dueAt: now + LEASE,
        })
        .where(and(eq(webhooks.number, row.number), eq(webhooks.lease, token))),
    ],
    answer: null,
  });
  return voided.length === VOIDED;
}
