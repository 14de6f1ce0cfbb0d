import { logFailure } from '../../lib/log';
import type { DispatchContext } from '../context';
import type { DueDelivery } from '../deliveries/due';
import { payloadOf } from '../deliveries/payload';
import { type ClaimedWebhook, GONE, NOT_KEPT, type Target } from '../target';
import { findUrlFault } from '../url-fault';
import { readSigningKeys, signMessage } from './secret';

const USER_AGENT = 'Countersign-Webhooks/1.0';

/**
 * Checks the URL of a claimed webhook, its host's addresses included, and reads its signing keys.
 */
export async function openWebhook(
  { runtime, config }: DispatchContext,
  { webhook, account }: ClaimedWebhook,
): Promise<Target> {
  const now = runtime.now();
  const { url } = webhook;
  const keys = await readSigningKeys(config.keyring, webhook, now);
  const error = keys
    ? await findUrlFault({ runtime, config }, url)
    : 'The secret of the webhook can no longer be read. Rotate it.';
  return {
    delay: runtime.now() - now,
    gone: [GONE],
    divide: (deliveries) => deliveries.map((delivery) => [delivery]),
    prepare: async (deliveries) => {
      const [delivery] = deliveries;
      if (!delivery) throw new Error('There is nothing to send');
      const body = readPayload(delivery, account, runtime.now());
      if (body === null) return { kind: 'dropped', reason: NOT_KEPT };
      if (error !== null) return { kind: 'refused', error };
      // A redelivery has the same `webhook-id` as the first delivery, by which receivers recognize
      // it.
      const signature = await signMessage(
        keys ?? [],
        delivery.original ?? delivery.id,
        runtime.now(),
        body,
      );
      const headers = {
        'Content-Type': 'application/json',
        'User-Agent': USER_AGENT,
        ...signature,
      };
      return { kind: 'requests', requests: [{ url, headers, body }] };
    },
  };
}

/**
 * The payload of a delivery; null if its audit entry or its permission is no longer kept, or is
 * damaged.
 */
function readPayload(
  delivery: DueDelivery,
  account: ClaimedWebhook['account'],
  now: number,
): string | null {
  try {
    return payloadOf(delivery, account, now);
  } catch {
    // Without the error, whose message would quote the entry.
    logFailure('entry_unreadable', 'the stored entry cannot be read', {
      position: delivery.entryPosition,
    });
    return null;
  }
}
