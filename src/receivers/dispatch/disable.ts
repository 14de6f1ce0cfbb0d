import { sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import { codeOf } from '../../db/columns';
import { RECEIVER_KINDS, receivers } from '../../db/schema';
import { endDevices } from '../../outbox/end-devices';
import { closeFeed, markFeed } from '../../outbox/feed';
import type { DispatchContext } from '../context';
import type { ClaimedReceiver } from '../sender';
import { isClaimed } from './claim';
import { type RecordedBatch, writeUpdates } from './record';

const channel = alias(receivers, 'channel');

/**
 * Records the last batch of attempts to a receiver, disables it, and releases the claim: the next
 * worker cancels its pending deliveries. A device is ended instead, because only its browser can
 * make a new subscription.
 * @returns whether the receiver is disabled: not if it was deleted, reset or claimed by another
 *   worker meanwhile, nor if it was a device, which is ended now
 */
export async function disableReceiver(
  { ledger, runtime }: DispatchContext,
  claimed: ClaimedReceiver,
  { updates, isSlow, failingSince }: RecordedBatch,
  disabledReason: string,
): Promise<boolean> {
  const { account, kind } = claimed.receiver;
  if (kind === 'push') {
    await ledger.write({ changes: (write) => endDevices(write, account, isClaimed(claimed)) });
    return false;
  }
  const now = runtime.now();
  const [, disabled] = await ledger.write({
    changes: (write) => [
      writeUpdates(write, claimed, updates),
      write
        .update(receivers)
        .set({
          isSlow,
          failingSince,
          lease: null,
          dueAt: now,
          isActive: false,
          disabledReason,
          hasCanceled: true,
          disableCount: sql`${receivers.disableCount} + 1`,
          // People are notified of disabled webhooks only: a disabled channel may be the only one.
          isNoticeDue: sql`${receivers.kind} = ${codeOf(RECEIVER_KINDS, 'webhook')} and exists (
            select 1 from ${receivers} as ${channel}
            where ${channel.account} = ${account} and ${channel.kind} > 0 and ${channel.isActive}
          )`,
          updatedAt: now,
        })
        .where(isClaimed(claimed))
        .returning({ number: receivers.number }),
      closeFeed(write, account),
      markFeed(write, account, now),
    ],
  });
  return disabled.length > 0;
}
