import { Cost } from './db/database';
import type { Runtime } from './env';
import { type LogFields, log, logFailure, withLogFields } from './lib/log';
import { SECOND } from './lib/time';

/** Until a message that failed comes again, in milliseconds, at most. */
const MAX_DELAY = 60 * SECOND;

/**
 * Does what the messages of a queue hint at, each by itself: one that fails comes again later. Of each the log tells in
 * one line.
 * @param describe what the log tells of a message
 */
export async function consume<M>(
  batch: MessageBatch<M>,
  runtime: Runtime,
  describe: (message: M) => LogFields,
  work: (message: M, cost: Cost) => Promise<void>,
): Promise<void> {
  for (const message of batch.messages) {
    const { id, attempts, body } = message;
    await withLogFields({ queue: batch.queue, message_id: id, ...describe(body) }, async () => {
      const cost = new Cost();
      const start = runtime.now();
      const fields = () => ({ attempt: attempts, duration_ms: runtime.now() - start, ...cost.fields() });
      try {
        await work(body, cost);
        message.ack();
        log('job', { outcome: 'done', ...fields() });
      } catch (error) {
        message.retry({ delaySeconds: Math.min(2 ** attempts, MAX_DELAY / SECOND) });
        logFailure('job', error, { outcome: 'failed', ...fields() });
      }
    });
  }
}
