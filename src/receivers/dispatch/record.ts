import { and, eq, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { DELIVERY_STATUSES, deliveries, receivers } from '../../db/schema';
import type { InternalWriter } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import { idBytes } from '../../lib/typeid';
import type { DispatchContext } from '../context';
import { type DueDelivery, findDueDeliveries } from '../deliveries/due';
import { FROM_FIRST_ATTEMPTS, FROM_RETRIES_BY_DUE_TIME, isPendingFor } from '../deliveries/pending';
import type { ClaimedReceiver } from '../sender';
import { isClaimed } from './claim';
import { CLAIM_DURATION } from './limits';
import type { ReceiverHealth } from './send-batch';
import type { DeliveryUpdate } from './update-delivery';

/** The updates of a batch that are to be recorded, and the health of the receiver after it. */
export interface RecordedBatch extends ReceiverHealth {
  updates: readonly DeliveryUpdate[];
}

/**
 * Records the attempts of a batch, and renews the claim. It never throws.
 * @returns whether the worker may continue: not if the receiver was disabled, deleted, reset or
 *   claimed by another worker meanwhile, nor if the database failed. After a failure `unrecorded`
 *   has the updates, to be recorded later
 */
export async function recordAttempts(
  { ledger, runtime }: DispatchContext,
  claimed: ClaimedReceiver,
  updates: readonly DeliveryUpdate[],
): Promise<{ mayContinue: boolean; unrecorded: readonly DeliveryUpdate[] }> {
  const renewed = { dueAt: runtime.now() + CLAIM_DURATION };
  try {
    const [, [stillClaimed]] = await ledger.write({
      changes: (write) => [
        writeUpdates(write, claimed, updates),
        write
          .update(receivers)
          .set(renewed)
          .where(isClaimed(claimed))
          .returning({ hasCanceled: receivers.hasCanceled }),
      ],
    });
    return { mayContinue: stillClaimed !== undefined && !stillClaimed.hasCanceled, unrecorded: [] };
  } catch {
    // Nothing is lost or hidden: `finishPage` or `disableReceiver` writes these updates next, and
    // throws if that fails too.
    return { mayContinue: false, unrecorded: updates };
  }
}

/** The pending work of a receiver after a page of deliveries. */
interface Remaining {
  /** Further due deliveries; null if the claim was released. */
  due: DueDelivery[] | null;
  /** When a worker has to look at the receiver again; null if it has no pending delivery. */
  dueAt: number | null;
}

/**
 * Finishes a page of deliveries, those that were read together: records its last batch of attempts
 * and the receiver's health, and renews the claim with the next page or releases it.
 *
 * The claim is renewed if more deliveries are due. It is released if none is, if `isOver`, or if
 * the receiver was disabled meanwhile: the next worker then cancels its deliveries.
 * @param options `isOver`: whether this worker has to stop. `limit`: the size of the next page
 * @returns null if the receiver was deleted, reset or claimed by another worker meanwhile
 */
export async function finishPage(
  { reader, ledger, runtime }: DispatchContext,
  claimed: ClaimedReceiver,
  { updates, isSlow, failingSince }: RecordedBatch,
  { isOver, limit }: { isOver: boolean; limit: number },
): Promise<Remaining | null> {
  const now = runtime.now();
  const { number, lease } = claimed.receiver;
  const hasFirstAttempt = sql`exists (select 1 from ${FROM_FIRST_ATTEMPTS} ${isPendingFor(number)})`;
  const nextRetry = sql`(select min(${deliveries.dueAt}) from ${FROM_RETRIES_BY_DUE_TIME} ${isPendingFor(number)})`;
  const nextDue = sql`iif(${receivers.hasCanceled} or ${hasFirstAttempt}, ${now}, ${nextRetry})`;
  const isRenewed = isOver
    ? sql`0`
    : sql`not ${receivers.hasCanceled} and coalesce(${nextDue} <= ${now}, 0)`;
  const [, [stillClaimed], due] = await ledger.write({
    changes: (write) => [
      writeUpdates(write, claimed, updates),
      write
        .update(receivers)
        .set({
          isSlow,
          failingSince,
          lease: sql`iif(${isRenewed}, ${lease}, null)`,
          dueAt: sql`iif(${isRenewed}, ${now + CLAIM_DURATION}, ${nextDue})`,
        })
        .where(isClaimed(claimed))
        .returning({ lease: receivers.lease, dueAt: receivers.dueAt }),
    ],
    reads: [findDueDeliveries(reader, claimed.receiver, now, isOver ? 0 : limit)],
  });
  return stillClaimed ? { due: stillClaimed.lease && due, dueAt: stillClaimed.dueAt } : null;
}

/**
 * Returns the statement that updates the deliveries that are still pending: others were completed
 * or canceled meanwhile. The receiver's number comes from the JSON rows: as a parameter it would
 * make SQLite scan all deliveries of the receiver.
 */
export function writeUpdates(
  write: Pick<InternalWriter, 'update'>,
  { receiver }: ClaimedReceiver,
  updates: readonly DeliveryUpdate[],
) {
  const rows = updates.map((update) => ({
    ...update,
    id: toHex(idBytes(update.id)),
    receiver: receiver.number,
    status: DELIVERY_STATUSES.indexOf(update.status),
    failures: update.failures && JSON.stringify(update.failures),
  }));
  const value = (field: keyof (typeof rows)[number]): SQL =>
    sql`result.value ->> ${sql.raw(`'${field}'`)}`;
  return write
    .update(deliveries)
    .set({
      status: value('status'),
      attempts: value('attempts'),
      dueAt: value('dueAt'),
      lastStatusCode: value('statusCode'),
      lastError: value('error'),
      duration: value('duration'),
      failures: value('failures'),
      completedAt: value('completedAt'),
      slackMessage: value('slackMessage'),
      postponements: value('postponements'),
      digestGroup: value('digestGroup'),
    })
    .from(sql`json_each(${JSON.stringify(rows)}) as result`)
    .where(
      and(
        eq(deliveries.receiver, value('receiver')),
        eq(deliveries.id, sql`unhex(${value('id')})`),
        sql`${deliveries.status} = ${codeOf(DELIVERY_STATUSES, 'pending')}`,
      ),
    );
}
