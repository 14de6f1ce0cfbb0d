import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { consume } from '../../src/background/consume';
import { watchLog } from '../support/log';
import { World } from '../support/world';

const log = watchLog();

/**
 * Consumes a message whose work ends after a number of pauses of the consumer.
 * @param progressOf the progress of the work after a number of pauses
 * @returns the number of pauses that the consumer waited, the work that it moved to the background,
 *   and a function that ends the work
 */
async function consumeMessage(pauses: number, progressOf: (pause: number) => number) {
  const { runtime } = new World();
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let waited = 0;
  const sleep = async () => {
    waited += 1;
    if (waited === pauses) resolve();
  };
  const batch = createMessageBatch('webhooks', [
    { id: '0', timestamp: new Date(), attempts: 1, body: null },
  ]);
  const background: Promise<void>[] = [];
  await consume(
    batch,
    { ...runtime, sleep },
    () => ({}),
    async () => ({ done, progress: () => progressOf(waited), progressTimeout: 250 }),
    (work) => background.push(work),
  );
  const { explicitAcks } = await getQueueResult(batch, createExecutionContext());
  expect(explicitAcks).toEqual(['0']);
  return { waited, background, finish: resolve };
}

it('the consumer waits for remaining work as long as the work makes progress', async () => {
  const { waited, background } = await consumeMessage(5, (pause) => pause);
  expect([waited, background]).toEqual([5, []]);
  expect(log.of('queue_message')).toHaveLength(1);
});

it('the consumer moves work without progress to the background, and logs the message when it ends', async () => {
  const { waited, background, finish } = await consumeMessage(100, (pause) => Math.min(pause, 2));
  expect([waited, background.length, log.of('queue_message')]).toEqual([3, 1, []]);
  finish();
  await Promise.all(background);
  expect(log.of('queue_message')).toMatchObject([{ outcome: 'done' }]);
});
