import { send } from './send';

/** The service worker that shows notifications: `console/push-worker`. */
export const WORKER = '/console/assets/push-worker.js';

const NO_SERVICE = 'The browser could not reach its push service. Try again later.';

/**
 * The key in `localStorage` of the endpoint that a renewal replaces, until the service knows the
 * new one. It is also the name of the lock.
 */
const REPLACED = 'countersign-push-replaced';

/** A device of the member, as the service lists it. */
interface KnownDevice {
  id: string;
  /** SHA-256 of the endpoint of its subscription, in base64url. */
  digest: string;
}

/** The key of the service with which browsers subscribe; null where nobody may subscribe. */
export function pushKey(): string | null {
  return document.querySelector<HTMLMetaElement>('meta[name="push-key"]')?.content ?? null;
}

/** The service worker of this browser; undefined if it never had one. */
export async function findWorker(): Promise<ServiceWorkerRegistration | undefined> {
  return navigator.serviceWorker?.getRegistration(WORKER);
}

/** Whether this browser is notified for somebody. */
export async function isSubscribed(): Promise<boolean> {
  return Boolean(await (await findWorker())?.pushManager?.getSubscription());
}

/** Whether this browser is a device of the member who is signed in. */
export async function isOwnDevice(): Promise<boolean> {
  const subscription = await (await findWorker())?.pushManager.getSubscription();
  return Boolean(subscription && (await findDevice(subscription.endpoint)));
}

/**
 * Subscribes this browser as a new device of the member. Another member who was notified on it is
 * notified on it no more.
 */
export async function addDevice(
  registration: ServiceWorkerRegistration,
  name: string,
): Promise<void> {
  const key = pushKey() ?? '';
  const old = await registration.pushManager.getSubscription();
  // It is another member's, who used this browser before, or has another key.
  await old?.unsubscribe();
  localStorage.removeItem(REPLACED);
  const subscription = await subscribe(registration, key);
  await send('POST', '/console/me/push', { name, ...fieldsOf(subscription), key });
}

/**
 * Replaces the subscription of this browser if it was made with an old key of the service, so that
 * it is served when the old key ends. If that fails halfway, the next page goes on with it.
 */
export async function renewSubscription(): Promise<void> {
  const key = pushKey();
  const registration = key === null ? undefined : await findWorker();
  if (key === null || !registration?.pushManager) return;
  await navigator.locks.request(REPLACED, () => renew(registration, key));
}

async function renew(registration: ServiceWorkerRegistration, key: string): Promise<void> {
  const current = await registration.pushManager.getSubscription();
  const unfinished = localStorage.getItem(REPLACED);
  const isCurrent = current === null || hasKey(current, key);
  if (isCurrent && unfinished === null) return;
  const replaced = unfinished ?? current?.endpoint ?? '';
  const device = await findDevice(replaced);
  // It belongs to another member, who goes on with it.
  if (!device) return;
  localStorage.setItem(REPLACED, replaced);
  if (!isCurrent) await current.unsubscribe();
  const subscription = await subscribe(registration, key);
  const fields = { old_endpoint: replaced, ...fieldsOf(subscription), key };
  await send('POST', `/console/me/push/${device.id}`, fields);
  localStorage.removeItem(REPLACED);
}

/** Whether a subscription was made with a key of the service, as far as the browser says. */
function hasKey({ options }: PushSubscription, key: string): boolean {
  const { applicationServerKey: madeWith } = options;
  return madeWith === null || toBase64Url(madeWith) === key;
}

function subscribe(
  registration: ServiceWorkerRegistration,
  key: string,
): Promise<PushSubscription> {
  const options = { userVisibleOnly: true, applicationServerKey: key };
  return registration.pushManager.subscribe(options).catch(() => {
    throw new Error(NO_SERVICE);
  });
}

/** The subscription as the service takes it. */
function fieldsOf(subscription: PushSubscription) {
  const { endpoint, keys } = subscription.toJSON();
  return { endpoint, p256dh: keys?.p256dh, auth: keys?.auth };
}

/** Finds the device with an endpoint among those of the member who is signed in. */
async function findDevice(endpoint: string): Promise<KnownDevice | undefined> {
  const { devices } = await send<{ devices: KnownDevice[] }>('GET', '/console/me/push');
  const bytes = new TextEncoder().encode(endpoint);
  const digest = toBase64Url(await crypto.subtle.digest('SHA-256', bytes));
  return devices.find((device) => device.digest === digest);
}

function toBase64Url(buffer: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(buffer)));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
