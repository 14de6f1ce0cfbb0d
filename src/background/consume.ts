import { Cost } from '../db/database';
import type { Runtime } from '../env';
import { type LogFields, log, logFailure, withLogFields } from '../lib/log';
import { SECOND } from '../lib/time';

/** Until a message that failed comes again, in milliseconds, at most. */
const MAX_DELAY = 60 * SECOND;

/** What is left to do for a message, and may go on while the next one has its turn. */
export interface RemainingWork {
  rest: Promise<void>;
  /** How far it is: a number that grows. */
  progress: () => number;
  /** How long the next message waits while it gets no further, in milliseconds. */
  patience: number;
}

/** Keeps an invocation alive until something is over. */
export type WaitUntil = (rest: Promise<void>) => void;

/**
 * Does what the messages of a queue hint at, each by itself: one that fails comes again later. Of each the log tells in
 * one line, when it is over.
 * @param describe what the log tells of a message
 * @param goOn takes a rest that gets no further; its message is done with then, and does not come again. Without it each
 *   is waited for
 */
export async function consume<M>(
  batch: MessageBatch<M>,
  runtime: Runtime,
  describe: (message: M) => LogFields,
  work: (message: M, cost: Cost) => Promise<RemainingWork | undefined>,
  goOn?: WaitUntil,
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
        const left = await work(body, cost);
        const isStuck = left && goOn && !(await endsInTime(left, runtime));
        if (isStuck) goOn(left.rest.then(succeed, fail));
        else await left?.rest;
        message.ack();
        if (!isStuck) succeed();
      } catch (error) {
        message.retry({ delaySeconds: Math.min(2 ** attempts, MAX_DELAY / SECOND) });
        fail(error);
      }
    });
  }
}

/** Waits for a rest as long as it gets further. */
async function endsInTime({ rest, progress, patience }: RemainingWork, runtime: Runtime): Promise<boolean> {
  const isOver = rest.then(() => true);
  for (let before = -1; before < progress(); ) {
    before = progress();
    if (await Promise.race([isOver, runtime.sleep(patience).then(() => false)])) return true;
  }
  return false;
}
