import type { Runtime } from '../../env';
import { formatTime, SECOND } from '../../lib/time';
import type { WebhookRow } from '../webhook';
import type { Outcome } from './attempt';
import type { DueDelivery } from './due';
import { GRACE } from './limits';
import type { ChunkResult, DeliveryResult } from './record-attempt';
import { DISABLE_AFTER, nextWait } from './schedule';
import type { Sender } from './sender';

/** An invocation has six connections at a time. */
const CONNECTIONS = 6;
/** A receiver that takes longer is slow, in milliseconds, and so is a name that takes longer to be looked up. */
const SLOW = SECOND;
const GONE = 410;

const NOT_KEPT = 'The audit entry is not kept any more.';

/**
 * Sends deliveries to one webhook, a few at a time. One that is not known as slow is left alone as soon as an attempt
 * fails or takes long; the rest is for the queue of those that are.
 * @param turnEnd when the turn is over that this is a part of, in milliseconds since the epoch
 */
export async function sendChunk(
  runtime: Runtime,
  sender: Sender,
  { isSlow, failingSince }: Pick<WebhookRow, 'isSlow' | 'failingSince'>,
  due: readonly DueDelivery[],
  turnEnd: number,
): Promise<ChunkResult> {
  const end = turnEnd + GRACE;
  const waiting = due.values();
  const chunk: ChunkResult = { results: [], isSlow, failingSince, disabledReason: null };
  let hasTrouble = sender.delay > SLOW;
  let isJudged = hasTrouble;
  const work = async () => {
    // Asked before the next is taken: what is taken is sent.
    while (!(chunk.disabledReason || (hasTrouble && !isSlow) || runtime.now() >= end)) {
      const { value: delivery, done } = waiting.next();
      if (done) return;
      const outcome = await sender.send(delivery);
      chunk.results.push(judge(runtime, delivery, outcome));
      if (!outcome) continue;
      isJudged = true;
      hasTrouble ||= outcome.error !== null || outcome.duration > SLOW;
      chunk.failingSince = outcome.error === null ? null : (chunk.failingSince ?? outcome.at);
      chunk.disabledReason ??= findEnd(outcome, chunk.failingSince);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return isJudged ? { ...chunk, isSlow: hasTrouble } : chunk;
}

/** Why a webhook is switched off after an attempt; null where it is not. */
function findEnd({ at, statusCode, error }: Outcome, failingSince: number | null): string | null {
  if (statusCode === GONE) return 'The receiver answered 410: it is gone.';
  if (error === null || failingSince === null || at - failingSince < DISABLE_AFTER) return null;
  return `Every attempt has failed since ${formatTime(failingSince)}.`;
}

/** What becomes of a delivery after an attempt, or without one where what it tells of is gone. */
function judge(runtime: Runtime, delivery: DueDelivery, outcome: Outcome | null): DeliveryResult {
  const { id, failures } = delivery;
  const now = runtime.now();
  if (!outcome) {
    const nothing = { statusCode: null, duration: null, failures, dueAt: null, completedAt: now };
    return { id, status: 'failed', attempts: delivery.attempts, error: NOT_KEPT, ...nothing };
  }
  const { at, statusCode, error, duration, retryAfter } = outcome;
  const attempts = delivery.attempts + 1;
  const common = { id, attempts, statusCode, error, duration };
  if (error === null) return { ...common, status: 'succeeded', dueAt: null, failures, completedAt: now };
  const failed = { ...common, failures: [...(failures ?? []), { at, statusCode, error, duration }] };
  const wait = statusCode === GONE ? null : nextWait(runtime, attempts, retryAfter);
  return wait === null
    ? { ...failed, status: 'failed', dueAt: null, completedAt: now }
    : { ...failed, status: 'pending', dueAt: now + wait, completedAt: null };
}
