import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { consume } from '../../src/background/consume';
import { watchLog } from '../support/log';
import { World } from '../support/world';

const log = watchLog();

/**
 * Takes a message whose work is over after some pauses of the consumer.
 * @param progressOf how far it is after so many pauses
 * @returns the pauses that the consumer waited, and what goes on behind its back
 */
async function take(pauses: number, progressOf: (pause: number) => number) {
  const { runtime } = new World();
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let waited = 0;
  const sleep = async () => {
    waited += 1;
    if (waited === pauses) resolve();
  };
  const batch = createMessageBatch('webhooks', [{ id: '0', timestamp: new Date(), attempts: 1, body: null }]);
  const behind: Promise<void>[] = [];
  await consume(
    batch,
    { ...runtime, sleep },
    () => ({}),
    async () => ({ done, progress: () => progressOf(waited), patience: 250 }),
    (work) => behind.push(work),
  );
  const { explicitAcks } = await getQueueResult(batch, createExecutionContext());
  expect(explicitAcks).toEqual(['0']);
  return { waited, behind, finish: resolve };
}

it('waits for work as long as it gets further', async () => {
  const { waited, behind } = await take(5, (pause) => pause);
  expect([waited, behind]).toEqual([5, []]);
  expect(log.of('job')).toHaveLength(1);
});

it('takes the next message while work gets no further, and tells of it when it is over', async () => {
  const { waited, behind, finish } = await take(100, (pause) => Math.min(pause, 2));
  expect([waited, behind.length, log.of('job')]).toEqual([3, 1, []]);
  finish();
  await Promise.all(behind);
  expect(log.of('job')).toMatchObject([{ outcome: 'done' }]);
});
