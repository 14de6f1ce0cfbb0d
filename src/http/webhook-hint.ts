import type { WebhookConfig, WebhookMessage } from '../env';
import { logFailure } from '../lib/log';

/**
 * Tells a queue that there is something to deliver. A hint that is lost is made good by the sweep.
 * @param isSlow whether the webhook's last attempt failed or took long
 * @param delay milliseconds until it is due
 */
export async function sendHint(
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
