import type { WebhookConfig, WebhookMessage } from '../env';
import { logFailure } from '../lib/log';
import { SECOND } from '../lib/time';

/** The queues of webhooks: slow ones have a queue of their own. */
export type WebhookQueues = Pick<WebhookConfig, 'queue' | 'slowQueue'>;

/** A queue message, and how it is sent. */
export interface OutgoingMessage {
  body: WebhookMessage;
  isSlow: boolean;
  /** Milliseconds until a consumer gets it. */
  delay?: number;
}

/**
 * Sends a message that makes a worker deliver: `background/webhook-queue.ts` handles it. A failure is only logged,
 * because the sweep finds whatever got no message.
 * @param isSlow whether the webhook is new, or its last attempt failed or was slow
 * @param delay milliseconds until a consumer gets the message
 */
export async function enqueueWebhook(
  queues: WebhookQueues,
  body: WebhookMessage,
  { isSlow = false, delay = 0 }: { isSlow?: boolean; delay?: number } = {},
): Promise<void> {
  await enqueueWebhooks(queues, [{ body, isSlow, delay }]);
}

/** Sends up to 100 messages. A failure is only logged, as in {@link enqueueWebhook}. */
export async function enqueueWebhooks(queues: WebhookQueues, messages: readonly OutgoingMessage[]): Promise<void> {
  const sends = batchByQueue(queues, messages).map(async ([queue, batch]) => {
    try {
      await queue.sendBatch(batch);
    } catch (error) {
      logFailure('webhook_not_enqueued', error);
    }
  });
  await Promise.all(sends);
}

/** Sorts messages into one batch for each queue that gets any. */
export function batchByQueue({ queue, slowQueue }: WebhookQueues, messages: readonly OutgoingMessage[]) {
  const batchOf = (areSlow: boolean) =>
    messages
      .filter(({ isSlow }) => isSlow === areSlow)
      .map(({ body, delay = 0 }) => ({ body, delaySeconds: Math.ceil(delay / SECOND) }));
  const batches = [[queue, batchOf(false)] as const, [slowQueue, batchOf(true)] as const];
  return batches.filter(([, batch]) => batch.length > 0);
}
