import { encryptNotification } from '@block65/webcrypto-web-push';
import { toBase64Url } from '../../../lib/bytes';
import { DAY, SECOND } from '../../../lib/time';
import { idBytes } from '../../../lib/typeid';
import type { DispatchContext } from '../../context';
import type { DueDelivery } from '../../deliveries/due';
import {
  type ClaimedReceiver,
  GONE,
  NOT_KEPT,
  type RequestAttempt,
  type Sender,
} from '../../sender';
import { findUrlFault } from '../../url-fault';
import { isAsking, isOfAccount } from '../channel';
import { divideByPerson, reasonNotToAsk } from '../due-messages';
import { readAccountMessage, readDisabledWebhook, readMessage, readPermission } from '../message';
import {
  composeAccount,
  composeDigest,
  composeDisabledWebhook,
  composePermission,
  type PushNotification,
} from './compose';
import { deviceConfig, openSubscription, type PushSubscription } from './device';
import { deriveVapidKeys, type VapidKey, vapidAuthorization } from './vapid';

/** The status of a subscription that the push service does not know (RFC 8030 section 7.3). */
const NOT_FOUND = 404;

/** How long a push service keeps what asks for no decision, for a device that is off. */
const LIFETIME = DAY;

const NO_KEY =
  'The device subscribed with a key that the service no longer has. It is served again once the ' +
  'member opens the console on it.';

/** Opens the sender to a device of a member, for the worker that has claimed it. */
export async function openPushSender(
  { config, runtime }: DispatchContext,
  { receiver: device }: ClaimedReceiver,
): Promise<Sender> {
  const startedAt = runtime.now();
  const { publicUrl, keyring } = config;
  const subscription = await openSubscription(keyring, device);
  const keys = await deriveVapidKeys(keyring);
  const key = keys.find(({ publicKey }) => publicKey === deviceConfig(device).key);
  const fault = subscription && (await findUrlFault({ runtime, config }, subscription.endpoint));
  return {
    openDuration: runtime.now() - startedAt,
    goneStatuses: [NOT_FOUND, GONE],
    divide: (deliveries) => divideByPerson(deliveries, dropReason),
    prepare: async (deliveries) => {
      const reason = deliveries.map(dropReason).find((found) => found !== null);
      if (reason) return { kind: 'dropped', reason };
      if (!subscription || !key) return { kind: 'dropped', reason: NO_KEY };
      if (fault !== null) return { kind: 'refused', error: fault };
      const vapid = { key, contact: publicUrl, now: runtime.now() };
      const headers = deliveryHeaders(deliveries, vapid.now);
      const notification = compose(deliveries, publicUrl);
      return {
        kind: 'requests',
        requests: [await encrypt(subscription, notification, headers, vapid)],
      };
    },
  };
}

/** Why a message is not sent any more; null if it is. */
function dropReason(delivery: DueDelivery): string | null {
  const { recipient, eventPayload, payload } = delivery;
  if (!recipient?.isActive) return 'The recipient is no longer an active member.';
  if (eventPayload === null && payload === null) return NOT_KEPT;
  return reasonNotToAsk(delivery);
}

function compose(deliveries: readonly DueDelivery[], publicUrl: string): PushNotification {
  const [delivery] = deliveries;
  if (!delivery) throw new Error('There is nothing to send');
  if (deliveries.length > 1)
    return composeDigest(deliveries.map((each) => readMessage(each, publicUrl)));
  const { event } = delivery;
  if (isOfAccount(event)) return composeAccount(readAccountMessage(delivery));
  if (event === 'webhook.disabled') return composeDisabledWebhook(readDisabledWebhook(delivery));
  return composePermission(readMessage(delivery, publicUrl));
}

/**
 * How a push service handles a message (RFC 8030 section 5): until when it keeps it, how much it
 * may wake the device, and which earlier message it replaces.
 */
function deliveryHeaders(deliveries: readonly DueDelivery[], now: number): Record<string, string> {
  const [{ aboutPermission } = {}, ...others] = deliveries;
  const topic = aboutPermission &&
    others.length === 0 && { Topic: toBase64Url(idBytes(aboutPermission)) };
  const ends = deliveries
    .filter(({ event }) => isAsking(event))
    .map((delivery) => Date.parse(readPermission(delivery).expires_at));
  if (ends.length > 0) return { ...timing(Math.max(...ends) - now, 'high'), ...topic };
  const isUrgent = deliveries.some(({ event }) => isOfAccount(event));
  return { ...timing(LIFETIME, isUrgent ? 'high' : 'normal'), ...topic };
}

function timing(lifetime: number, urgency: 'normal' | 'high') {
  return { TTL: `${Math.max(0, Math.floor(lifetime / SECOND))}`, Urgency: urgency };
}

/** Encrypts a notification (RFC 8291) into the request that the push service forwards. */
async function encrypt(
  { endpoint, p256dh, auth }: PushSubscription,
  notification: PushNotification,
  headers: Record<string, string>,
  { key, contact, now }: { key: VapidKey; contact: string; now: number },
): Promise<RequestAttempt> {
  const target = { endpoint, expirationTime: null, keys: { p256dh, auth } };
  const text = new TextEncoder().encode(JSON.stringify(notification));
  return {
    url: endpoint,
    headers: {
      ...headers,
      'Content-Type': 'application/octet-stream',
      'Content-Encoding': 'aes128gcm',
      Authorization: await vapidAuthorization(key, { endpoint, contact, now }),
    },
    body: await encryptNotification(target, text),
  };
}
