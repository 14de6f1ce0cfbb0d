import type { WebhookConfig, WebhookMessage } from '../env';
import { logFailure } from '../lib/log';

/**
 * Tells a queue that there is something to deliver. A hint that is lost is made good by the sweep.
 * @param isSlow whether the webhook has still to answer quickly, or did not the last time
 * @param delay milliseconds until it is due
 */
export async function enqueueWebhook(
  { queue, slowQueue }: Pick<WebhookConfig, 'queue' | 'slowQueue'>,
  message: WebhookMessage,
  { isSlow = false, delay = 0 }: { isSlow?: boolean; delay?: number } = {},
): Promise<void> {
  try {
    await (isSlow ? slowQueue : queue).send(message, { delaySeconds: Math.ceil(delay / 1_000) });
  } catch (error) {
    logFailure('webhook_hint_not_sent', error);
  }
}

/** Tells the queues that there is something to deliver to some webhooks of an account, which has no more than 50. */
export async function enqueueWebhooks(
  { queue, slowQueue }: Pick<WebhookConfig, 'queue' | 'slowQueue'>,
  { shard, account }: WebhookMessage,
  webhooks: readonly { number: number; isSlow: boolean }[],
): Promise<void> {
  const messagesOf = (lane: boolean) =>
    webhooks
      .filter(({ isSlow }) => isSlow === lane)
      .map(({ number }) => ({ body: { shard, account, webhook: number } }));
  const send = async (lane: Queue<WebhookMessage>, messages: MessageSendRequest<WebhookMessage>[]) => {
    try {
      if (messages.length > 0) await lane.sendBatch(messages);
    } catch (error) {
      logFailure('webhook_hint_not_sent', error);
    }
  };
  await Promise.all([send(queue, messagesOf(false)), send(slowQueue, messagesOf(true))]);
}
