import type { Runtime } from '../../env';
import type { JsonObject } from '../../lib/json';
import { logFailure } from '../../lib/log';
import { findTargetFault, isLoopback } from '../../lib/target';
import { payloadOf } from '../payload';
import { readSigningKeys, signMessage } from '../secret';
import type { ClaimedWebhook, DispatchContext, DueDelivery } from './claim';
import { findNameFault } from './name-lookup';

const USER_AGENT = 'Countersign-Webhooks/1.0';

/** What all attempts of one claim have in common. */
export interface Target {
  url: string;
  /** The signing keys: at least one if `error` is null. */
  keys: CryptoKey[];
  /** Why nothing may be sent to the webhook; null if something may. */
  error: string | null;
  account: ClaimedWebhook['account'];
  /** Milliseconds that it took to check the URL. */
  delay: number;
}

/** An attempt that is ready to be sent, or that fails without a request. */
export type PreparedAttempt = { delivery: DueDelivery } & (
  | { kind: 'request'; url: string; headers: Record<string, string>; body: string }
  /** Nothing may be sent to the webhook: the attempt fails with this error, and is retried later. */
  | { kind: 'refused'; error: string }
  /** The audit entry is no longer kept: the delivery fails without an attempt. */
  | { kind: 'expired' }
);

/** Checks the URL of a claimed webhook, its host's addresses included, and reads its signing keys. */
export async function openTarget(
  { runtime, config }: DispatchContext,
  { webhook, account }: ClaimedWebhook,
): Promise<Target> {
  const now = runtime.now();
  const { url } = webhook;
  const keys = await readSigningKeys(config.keyring, webhook, now);
  const error = keys
    ? await findUrlFault({ runtime, config }, url)
    : 'The secret of the webhook can no longer be read. Rotate it.';
  return { url, keys: keys ?? [], error, account, delay: runtime.now() - now };
}

/** Prepares one attempt: writes the payload of the delivery, and signs it with the current time. */
export async function prepareAttempt(
  runtime: Runtime,
  { url, keys, error, account }: Target,
  delivery: DueDelivery,
): Promise<PreparedAttempt> {
  const now = runtime.now();
  const body = readPayload(delivery, account, now);
  if (body === null) return { delivery, kind: 'expired' };
  if (error !== null) return { delivery, kind: 'refused', error };
  // A redelivery has the same `webhook-id` as the first delivery, by which receivers recognize it.
  const signature = await signMessage(keys, delivery.original ?? delivery.id, now, body);
  const headers = { 'Content-Type': 'application/json', 'User-Agent': USER_AGENT, ...signature };
  return { delivery, kind: 'request', url, headers, body };
}

/** The payload of a delivery; null if its audit entry is no longer kept, or is damaged. */
function readPayload(delivery: DueDelivery, account: Target['account'], now: number): string | null {
  const { details, entryId } = delivery;
  try {
    const parsed = details === null ? null : (JSON.parse(details) as JsonObject);
    return payloadOf({ ...delivery, details: parsed }, account, now);
  } catch {
    // Without the error, whose message would quote the entry.
    logFailure('entry_unreadable', 'the stored entry cannot be read', { entry: entryId });
    return null;
  }
}

/** Why nothing may be sent to a URL; null if something may. */
async function findUrlFault(
  { runtime, config }: Pick<DispatchContext, 'runtime' | 'config'>,
  url: string,
): Promise<string | null> {
  const { allowInsecure, looksUpNames } = config.webhooks;
  const fault = findTargetFault(url, allowInsecure);
  if (fault) return `The URL ${fault}.`;
  const { hostname } = new URL(url);
  return looksUpNames && !isLoopback(hostname) ? findNameFault(runtime, hostname) : null;
}
