import { Cost } from '../db/database';
import type { Runtime } from '../env';
import { type LogFields, log, logFailure, withLogFields } from '../lib/log';

/** Maximum seconds before a failed message is retried. */
const MAX_RETRY_DELAY = 60;

/** The work that a message has started, which may continue while the next message is handled. */
export interface RemainingWork {
  /** Resolves when the work is done, and rejects if it failed. */
  done: Promise<void>;
  /** A number that grows as the work advances. */
  progress: () => number;
  /** Milliseconds without progress after which the next message waits no longer. */
  progressTimeout: number;
}

/** Keeps the Worker running until a promise resolves or rejects. */
export type WaitUntil = (work: Promise<void>) => void;

/**
 * Handles the messages of a queue one by one, and logs one line for each. A message that fails is
 * retried later, with exponential back-off.
 * @param describe returns the log fields of a message
 * @param handle returns the work that remains to be waited for, or undefined if there is none
 * @param waitUntil takes over work that makes no progress: its message is acknowledged at once and
 *   never retried. Without it, the next message waits for all work
 */
export async function consume<M>(
  batch: MessageBatch<M>,
  runtime: Runtime,
  describe: (message: M) => LogFields,
  handle: (message: M, cost: Cost) => Promise<RemainingWork | undefined>,
  waitUntil?: WaitUntil,
): Promise<void> {
  for (const message of batch.messages) {
    const { id, attempts, body } = message;
    await withLogFields({ queue: batch.queue, message_id: id, ...describe(body) }, async () => {
      const cost = new Cost();
      const start = runtime.now();
      const fields = () => ({
        attempt: attempts,
        duration_ms: runtime.now() - start,
        ...cost.fields(),
      });
      const succeed = () => log('queue_message', { outcome: 'done', ...fields() });
      const fail = (error: unknown) =>
        logFailure('queue_message', error, { outcome: 'failed', ...fields() });
      try {
        const remaining = await handle(body, cost);
        const isStuck = remaining && waitUntil && !(await endsInTime(remaining, runtime));
        if (isStuck) waitUntil(remaining.done.then(succeed, fail));
        else await remaining?.done;
        message.ack();
        if (!isStuck) succeed();
      } catch (error) {
        message.retry({ delaySeconds: Math.min(2 ** attempts, MAX_RETRY_DELAY) });
        fail(error);
      }
    });
  }
}

/**
 * Waits until work is done, and returns true; or until it makes no progress for a while, and
 * returns false.
 */
async function endsInTime(
  { done, progress, progressTimeout }: RemainingWork,
  runtime: Runtime,
): Promise<boolean> {
  const isOver = done.then(() => true);
  for (let before = -1; before < progress(); ) {
    before = progress();
    if (await Promise.race([isOver, runtime.sleep(progressTimeout).then(() => false)])) return true;
  }
  return false;
}
