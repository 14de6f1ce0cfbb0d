import { sql } from 'drizzle-orm';
import { deliveries, receivers } from '../../db/schema';
import type { DispatchContext } from '../context';
import { CANCELED_ERROR } from '../deliveries/delivery';
import { FROM_FIRST_ATTEMPTS, FROM_RETRIES, isCanceledFor } from '../deliveries/pending';
import type { ClaimedReceiver } from '../sender';
import { isClaimed } from './claim';
import { CLAIM_DURATION } from './limits';

/** Maximum number of deliveries that one slice cancels. */
const SLICE = 500;

/**
 * Records as failed a slice of the deliveries that were pending when their receiver was disabled,
 * and renews the claim.
 * @returns whether there may be more
 */
export async function recordCanceled(
  { ledger, runtime }: DispatchContext,
  claimed: ClaimedReceiver,
): Promise<boolean> {
  const { number } = claimed.receiver;
  const now = runtime.now();
  const key = sql`${deliveries.receiver}, ${deliveries.id}`;
  const isInSlice = sql`(${key}) in (
    select ${key} from ${FROM_FIRST_ATTEMPTS} ${isCanceledFor(number)}
    union all select ${key} from ${FROM_RETRIES} ${isCanceledFor(number)} limit ${SLICE}
  )`;
  const [canceled] = await ledger.write({
    changes: (write) => [
      write
        .update(deliveries)
        .set({ status: 'failed', dueAt: null, lastError: CANCELED_ERROR, completedAt: now })
        .where(isInSlice)
        .returning({ receiver: deliveries.receiver }),
      write
        .update(receivers)
        .set({
          hasCanceled: sql`exists (select 1 from ${FROM_FIRST_ATTEMPTS} ${isCanceledFor(number)})
            or exists (select 1 from ${FROM_RETRIES} ${isCanceledFor(number)})`,
          dueAt: now + CLAIM_DURATION,
        })
        .where(isClaimed(claimed)),
    ],
  });
  return canceled.length === SLICE;
}
