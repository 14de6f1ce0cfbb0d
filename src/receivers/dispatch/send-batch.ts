import type { Runtime } from '../../env';
import { DAY, formatTime, SECOND } from '../../lib/time';
import type { DueDelivery } from '../deliveries/due';
import type { ReceiverRow } from '../receiver';
import type { Sender } from '../sender';
import { OVERTIME } from './limits';
import { type MadeAttempt, sendAttempt } from './send';
import { type DeliveryUpdate, drawJitter, updateDelivery } from './update-delivery';

/** A Worker may have at most six open connections. */
const CONNECTIONS = 6;

/** An attempt, or a check of the URL, is slow if it takes longer than this, in milliseconds. */
const SLOW = SECOND;

/**
 * Milliseconds after which a receiver is disabled if every attempt since the first failure has
 * failed.
 */
const DISABLE_AFTER = 5 * DAY;

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
      const result = await sendAttempt(runtime, await sender.prepare(message));
      const jitter = drawJitter(runtime);
      for (const delivery of message)
        batch.updates.push(updateDelivery(runtime, delivery, result, { jitter, goneStatuses }));
      if (result.kind !== 'made') continue;
      const { attempt } = result;
      isJudged = true;
      hasTrouble ||= attempt.error !== null || attempt.duration > SLOW;
      batch.failingSince = attempt.error === null ? null : (batch.failingSince ?? attempt.at);
      batch.disabledReason ??= findDisabledReason(attempt, batch.failingSince, goneStatuses);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendNext));
  if (!isJudged) return batch;
  return { ...batch, isSlow: hasTrouble };
}

/**
 * Why a receiver is to be disabled after an attempt; null if it is not.
 * @param failingSince when the first attempt failed since the last success
 */
function findDisabledReason(
  { at, statusCode, error }: MadeAttempt,
  failingSince: number | null,
  goneStatuses: readonly number[],
): string | null {
  if (statusCode !== null && goneStatuses.includes(statusCode))
    return `The receiver answered ${statusCode}: it is gone.`;
  if (error === null || failingSince === null || at - failingSince < DISABLE_AFTER) return null;
  return `Every attempt has failed since ${formatTime(failingSince)}.`;
}
