import type { DeliveryMessage } from '../env';
import type { DispatchContext } from './context';
import { claimReceiver } from './dispatch/claim';
import { deliver } from './dispatch/deliver';
import { fanOut } from './fan-out/fan-out';

// The way of an event from the commit to the sent message. A receiver is a row of the table
// `receivers`: a webhook, a channel or a device of a member.
//
// 1. `ledger/marks.ts` marks the account's feed (`outbox/feed.ts`) as due, in the transaction that
//    appends the audit entry. After the commit the ledger calls `notifyReceivers`
//    (`http/open-context.ts`), which sends a queue message. `background/delivery-queue.ts` passes
//    it to `handleMessage`, which takes steps 2 to 4.
// 2. `fan-out/` turns events into deliveries. `fan-out.ts` takes them slice by slice:
//    - `pending-events.ts` finds the events that wait. `permission-events.ts` takes as many as are
//      handled at once, and loads their permissions.
//    - `plan-notifications.ts` plans whom channels and devices notify.
//    - `draft-deliveries.ts` drafts a delivery for each webhook that wants an event, and for each
//      recipient in the plan.
//    - `write-deliveries.ts` writes the drafts in one transaction.
//    It sends a queue message for each receiver but one, to which this worker delivers itself.
//    A message in somebody's quiet hours waits in `held_messages` until
//    `fan-out/release-held.ts` makes it a delivery.
// 3. `dispatch/claim.ts` gives the receiver to one worker, with the deliveries that are due.
// 4. `dispatch/deliver.ts` sends them, with types that keep the order: ClaimedReceiver →
//    PreparedAttempt → AttemptResult → DeliveryUpdate.
//    - `cancel.ts` records as failed what was pending when the receiver was disabled.
//    - `open-sender.ts` opens the sender to the receiver, which prepares each attempt:
//      `webhooks/open.ts` reads or builds the payload and signs it,
//      `channels/{email,slack,push}/open.ts` compose the message.
//    - `send.ts` makes the attempt; `send-batch.ts` makes six at a time.
//    - `update-delivery.ts` decides the new state of the delivery: succeeded, pending until a
//      retry, or failed.
//    - `record.ts` records this, and renews or releases the claim; `disable.ts` disables a receiver
//      that is gone or fails for days.
//
// Queue messages can be lost. Every minute the tasks in `tasks.ts` send one for whatever is due.

/** Deliveries that are being sent. */
interface Sending {
  /** Resolves when the worker has finished with the receiver. */
  done: Promise<void>;
  /** How many receivers the account has. */
  accountReceivers: number;
}

/**
 * Creates the deliveries of an account's pending events if the message names no receiver, and
 * begins to send those of one receiver.
 * @returns null if there is nothing to send
 */
export async function handleMessage(
  context: DispatchContext,
  { account, receiver }: DeliveryMessage,
): Promise<Sending | null> {
  const number = receiver ?? (await fanOut(context, account));
  if (number === null) return null;
  const claimed = await claimReceiver(context, { account, number });
  if (!claimed) return null;
  return { done: deliver(context, claimed), accountReceivers: claimed.accountReceivers };
}
