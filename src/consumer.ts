import { Cost } from './db/database';
import type { Runtime } from './env';
import { type LogFields, log, logFailure, withLogFields } from './lib/log';
import { SECOND } from './lib/time';

/** Until a message that failed comes again, in milliseconds, at most. */
const MAX_DELAY = 60 * SECOND;
/** For so long the next message waits for what could go on without it, in milliseconds. */
const PATIENCE = 250;

/** What is left to do for a message, and may go on while the next one has its turn. */
export interface Rest {
  rest: Promise<void>;
}

/** Keeps an invocation alive until something is over. */
export type GoOn = (rest: Promise<void>) => void;

/**
 * Does what the messages of a queue hint at, each by itself: one that fails comes again later. Of each the log tells in
 * one line, when it is over.
 * @param describe what the log tells of a message
 * @param goOn takes a rest that lasts; its message is done with then, and does not come again. Without it each is waited for
 */
export async function consume<M>(
  batch: MessageBatch<M>,
  runtime: Runtime,
  describe: (message: M) => LogFields,
  work: (message: M, cost: Cost) => Promise<Rest | undefined>,
  goOn?: GoOn,
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
        const { rest } = (await work(body, cost)) ?? {};
        const lasts = rest && goOn && !(await endsSoon(rest, runtime));
        if (lasts) goOn(rest.then(succeed, fail));
        else await rest;
        message.ack();
        if (!lasts) succeed();
      } catch (error) {
        message.retry({ delaySeconds: Math.min(2 ** attempts, MAX_DELAY / SECOND) });
        fail(error);
      }
    });
  }
}

async function endsSoon(rest: Promise<void>, runtime: Runtime): Promise<boolean> {
  return Promise.race([rest.then(() => true), runtime.sleep(PATIENCE).then(() => false)]);
}
