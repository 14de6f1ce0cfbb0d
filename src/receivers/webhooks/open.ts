import { logFailure } from '../../lib/log';
import type { DispatchContext } from '../context';
import type { DueDelivery } from '../deliveries/due';
import { payloadOf } from '../deliveries/payload';
import { type ClaimedReceiver, GONE, NOT_KEPT, type Sender } from '../sender';
import { findUrlFault } from '../url-fault';
import { readSigningKeys, signMessage } from './secret';

const USER_AGENT = 'Countersign-Webhooks/1.0';

/**
 * Opens the sender to a claimed webhook: checks its URL, the addresses of the host included, and
 * reads its signing keys.
 */
export async function openWebhookSender(
  { runtime, config }: DispatchContext,
  { receiver: webhook, account }: ClaimedReceiver,
): Promise<Sender> {
  const now = runtime.now();
  const { url } = webhook;
  const keys = await readSigningKeys(config.keyring, webhook, now);
  const fault = keys
    ? await findUrlFault({ runtime, config }, url)
    : 'The secret of the webhook can no longer be read. Rotate it.';
  return {
    openDuration: runtime.now() - now,
    goneStatuses: [GONE],
    divide: (deliveries) => deliveries.map((delivery) => [delivery]),
    prepare: async (deliveries) => {
      const [delivery] = deliveries;
      if (!delivery) throw new Error('There is nothing to send');
      const body = readPayload(delivery, account, runtime.now());
      if (body === null) return { kind: 'dropped', reason: NOT_KEPT };
      if (fault !== null) return { kind: 'refused', error: fault };
      // A redelivery has the same `webhook-id` as the first delivery, by which the server
      // recognizes it.
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
  account: ClaimedReceiver['account'],
  now: number,
): string | null {
  try {
    return payloadOf(delivery, account, now);
  } catch {
    // Does not log the error: its message would quote the entry.
    logFailure('entry_unreadable', 'the stored entry cannot be read', {
      position: delivery.entryPosition,
    });
    return null;
  }
}
