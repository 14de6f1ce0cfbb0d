import type { Config, Runtime } from '../../../env';
import { logFailure } from '../../../lib/log';
import { findTargetFault, isLoopback } from '../../../lib/target';
import { payloadOf } from '../payload';
import { readSigningKeys, signMessage } from '../secret';
import type { ClaimedWebhook, DispatchContext, DueDelivery } from './claim';
import { findNameFault } from './name-lookup';

const USER_AGENT = 'Countersign-Webhooks/1.0';
/** The status of a receiver that is gone (RFC 9110 section 15.5.11). */
export const GONE = 410;

export const NOT_KEPT = 'The audit entry or the permission is no longer kept.';

/** A request that sends a message. */
export interface RequestAttempt {
  url: string;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer>;
  /**
   * Decides from an answer whether the attempt failed, and why. Without it, the status decides:
   * `error` says so, and is null for a success.
   */
  judge?: (answer: { status: number; error: string | null; text: string }) => {
    error: string | null;
    /** The name that the receiver gave to the message. */
    receipt: string | null;
  };
}

/**
 * An attempt that is ready to be made, or that fails without one. It sends one message, usually for
 * one delivery. Several requests are made at the same time; if one of them fails, the attempt has
 * failed, and the next makes all of them again.
 */
export type PreparedAttempt =
  | { kind: 'requests'; requests: readonly RequestAttempt[] }
  /** A call of a binding of the Worker, which throws if the message is not sent. */
  | { kind: 'call'; call: () => Promise<void> }
  /** Nothing may be sent: the attempt fails with this error, and is retried later. */
  | { kind: 'refused'; error: string }
  /** There is nothing to send any more: the deliveries fail without an attempt. */
  | { kind: 'dropped'; reason: string }
  /**
   * The recipient got too many messages: the deliveries wait until a time, in milliseconds since
   * the epoch.
   */
  | { kind: 'postponed'; until: number; reason: string };

/** How a worker sends the deliveries of one claim. */
export interface Target {
  /** Milliseconds that it took to open the target. */
  delay: number;
  /** Divides due deliveries into those of one message each. */
  divide: (deliveries: readonly DueDelivery[]) => DueDelivery[][];
  /** The statuses of an answer that mean that the receiver is gone: it gets nothing more. */
  gone: readonly number[];
  /** Prepares the attempt that sends one message. */
  prepare: (deliveries: readonly DueDelivery[]) => Promise<PreparedAttempt>;
}

/** The services with which a worker delivers to a webhook or channel that it has claimed. */
export interface DeliveryContext extends DispatchContext {
  openChannel: (claimed: ClaimedWebhook) => Promise<Target>;
}

/** Opens a webhook or channel for the worker that has claimed it. */
export function openTarget(context: DeliveryContext, claimed: ClaimedWebhook): Promise<Target> {
  const { kind } = claimed.webhook;
  if (kind === 'webhook') return openWebhook(context, claimed);
  return context.openChannel(claimed);
}

/**
 * Checks the URL of a claimed webhook, its host's addresses included, and reads its signing keys.
 */
async function openWebhook(
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

/** Why nothing may be sent to a URL, judged by the addresses of its host too; null if it may. */
export async function findUrlFault(
  { runtime, config }: { runtime: Runtime; config: Pick<Config, 'webhooks'> },
  url: string,
): Promise<string | null> {
  const { allowInsecure, looksUpNames } = config.webhooks;
  const fault = findTargetFault(url, allowInsecure);
  if (fault) return `The URL ${fault}.`;
  const { hostname } = new URL(url);
  if (!looksUpNames || isLoopback(hostname)) return null;
  return findNameFault(runtime, hostname);
}
