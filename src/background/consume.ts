import { Cost } from '../db/database';
import type { Runtime } from '../env';
import { type LogFields, log, logFailure, withLogFields } from '../lib/log';
import { SECOND } from '../lib/time';

/** Maximum delay before a failed message is retried, in milliseconds. */
const MAX_DELAY = 60 * SECOND;

/** Work on a message that may continue while the next message is handled. */
export interface RemainingWork {
  /** Settles when the work is done. */
  done: Promise<void>;
  /** A number that grows as the work advances. */
  progress: () => number;
  /** How long the next message waits for progress, in milliseconds. */
  patience: number;
}

/** Keeps an invocation alive until a promise settles. */
export type WaitUntil = (work: Promise<void>) => void;

/**
 * Handles the messages of a queue one by one, and logs one line for each. A message that fails is retried later.
 * @param describe the log fields of a message
 * @param handle returns work that may outlast the message, or undefined if there is none
 * @param waitUntil takes over work that makes no progress: its message is acknowledged and never retried. Without it,
 *   all work is waited for
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
      const fields = () => ({ attempt: attempts, duration_ms: runtime.now() - start, ...cost.fields() });
      const succeed = () => log('job', { outcome: 'done', ...fields() });
      const fail = (error: unknown) => logFailure('job', error, { outcome: 'failed', ...fields() });
      try {
        const remaining = await handle(body, cost);
        const isStuck = remaining && waitUntil && !(await endsInTime(remaining, runtime));
        if (isStuck) waitUntil(remaining.done.then(succeed, fail));
        else await remaining?.done;
        message.ack();
        if (!isStuck) succeed();
      } catch (error) {
        message.retry({ delaySeconds: Math.min(2 ** attempts, MAX_DELAY / SECOND) });
        fail(error);
      }
    });
  }
}

/** Waits for work as long as it makes progress; false when it makes none. */
async function endsInTime({ done, progress, patience }: RemainingWork, runtime: Runtime): Promise<boolean> {
  const isOver = done.then(() => true);
  for (let before = -1; before < progress(); ) {
    before = progress();
    if (await Promise.race([isOver, runtime.sleep(patience).then(() => false)])) return true;
  }
  return false;
}
