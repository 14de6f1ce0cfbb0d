import type { Runtime } from '../../env';
import { SECOND } from '../../lib/time';
import type { DueDelivery } from '../deliveries/due';
import type { ReceiverRow } from '../receiver';
import type { Sender } from '../sender';
import { OVERTIME } from './limits';
import {
  type DeliveryUpdate,
  drawJitter,
  findDisabledReason,
  updateDelivery,
} from './retry-schedule';
import { sendAttempt } from './send';

/** A Worker may have at most six open connections. */
const CONNECTIONS = 6;

/** An attempt, or a check of the URL, is slow if it takes longer than this, in milliseconds. */
const SLOW = SECOND;

/** How well the server of a receiver answers. */
export type ReceiverHealth = Pick<ReceiverRow, 'isSlow' | 'failingSince'>;

/** The results of a batch of attempts: for each delivery, and for their receiver. */
export interface CompletedBatch extends ReceiverHealth {
  updates: DeliveryUpdate[];
  /** Why the receiver is to be disabled; null if it is not. */
  disabledReason: string | null;
}

/**
 * Sends messages to one receiver, six at a time.
 *
 * It starts no further message once the receiver is to be disabled or the time is over. It sends
 * nothing more to a receiver that is not marked slow after an attempt that failed or was slow: the
 * consumer of the slow queue sends the rest. The result has an update for each delivery of a
 * message that was started, and for no other.
 * @param messages the deliveries of each message
 * @param deadline the planned end, in milliseconds since the epoch; messages may start until
 *   {@link OVERTIME} later
 */
export async function sendBatch(
  runtime: Runtime,
  sender: Sender,
  { isSlow, failingSince }: ReceiverHealth,
  messages: readonly DueDelivery[][],
  deadline: number,
): Promise<CompletedBatch> {
  const { goneStatuses } = sender;
  const waiting = messages.values();
  const batch: CompletedBatch = { updates: [], isSlow, failingSince, disabledReason: null };
  let hasTrouble = sender.openDuration > SLOW;
  let isJudged = hasTrouble;
  const mayStart = () =>
    batch.disabledReason === null && (isSlow || !hasTrouble) && runtime.now() < deadline + OVERTIME;
  const sendNext = async () => {
    // Checked before next(): a message taken from the iterator must be sent, as nothing puts it
    // back.
    while (mayStart()) {
      const { value: message, done } = waiting.next();
      if (done) return;
      const attempt = await sendAttempt(runtime, await sender.prepare(message));
      const jitter = drawJitter(runtime);
      for (const delivery of message)
        batch.updates.push(updateDelivery(runtime, delivery, attempt, { jitter, goneStatuses }));
      if (attempt.kind !== 'made') continue;
      const { outcome } = attempt;
      isJudged = true;
      hasTrouble ||= outcome.error !== null || outcome.duration > SLOW;
      batch.failingSince = outcome.error === null ? null : (batch.failingSince ?? outcome.at);
      batch.disabledReason ??= findDisabledReason(outcome, batch.failingSince, goneStatuses);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendNext));
  if (!isJudged) return batch;
  return { ...batch, isSlow: hasTrouble };
}
