import type { DeliveryConfig, DeliveryMessage } from '../env';
import { logFailure } from '../lib/log';
import { SECOND } from '../lib/time';

/**
 * The two queues of messages about receivers (`receivers/receiver.ts`): those for slow ones wait in
 * a queue of their own.
 */
export type DeliveryQueues = Pick<DeliveryConfig, 'queue' | 'slowQueue'>;

/** A queue message, and how it is sent. */
interface OutgoingMessage {
  body: DeliveryMessage;
  /** Whether the receiver is new, or its last attempt failed or was slow. */
  isSlow: boolean;
  /** Milliseconds until a consumer gets it, rounded up to seconds. */
  delay?: number;
}

/**
 * Sends a queue message. One that names a receiver makes a worker deliver to it; one that names
 * only an account makes a worker create the deliveries of the account's pending events.
 * `background/delivery-queue.ts` handles both.
 *
 * A failure is only logged, because a task of every minute finds whatever got no message.
 * @param options see {@link OutgoingMessage}
 */
export async function enqueueMessage(
  queues: DeliveryQueues,
  body: DeliveryMessage,
  { isSlow = false, delay = 0 }: Partial<Omit<OutgoingMessage, 'body'>> = {},
): Promise<void> {
  await enqueueMessages(queues, [{ body, isSlow, delay }]);
}

/** Sends messages, as {@link enqueueMessage} sends one. */
export async function enqueueMessages(
  queues: DeliveryQueues,
  messages: readonly OutgoingMessage[],
): Promise<void> {
  const sends = batchByQueue(queues, messages).map(async ([queue, batch]) => {
    try {
      await queue.sendBatch(batch);
    } catch (error) {
      logFailure('delivery_not_enqueued', error);
    }
  });
  await Promise.all(sends);
}

/**
 * Sends messages. Throws if a queue fails, so that the task that sends them stops and the
 * log says why.
 */
export async function enqueueOrThrow(
  queues: DeliveryQueues,
  messages: readonly OutgoingMessage[],
): Promise<void> {
  for (const [queue, batch] of batchByQueue(queues, messages)) await queue.sendBatch(batch);
}

/** A queue takes this many messages at once. */
const MAX_BATCH = 100;

/** Sorts messages into batches: pairs of a queue and some of its messages. */
function batchByQueue({ queue, slowQueue }: DeliveryQueues, messages: readonly OutgoingMessage[]) {
  const batchOf = (areSlow: boolean) =>
    messages
      .filter(({ isSlow }) => isSlow === areSlow)
      .map(({ body, delay = 0 }) => ({ body, delaySeconds: Math.ceil(delay / SECOND) }));
  const inBatches = (target: Queue<DeliveryMessage>, all: ReturnType<typeof batchOf>) =>
    Array.from(
      { length: Math.ceil(all.length / MAX_BATCH) },
      (_, i) => [target, all.slice(i * MAX_BATCH, (i + 1) * MAX_BATCH)] as const,
    );
  return [...inBatches(queue, batchOf(false)), ...inBatches(slowQueue, batchOf(true))];
}
