import { run, send } from './send';

/** The service worker that shows notifications: `console/push-worker`. */
export const WORKER = '/console/assets/push-worker.js';

const NOT_SUPPORTED =
  'This browser cannot be notified. On an iPhone or iPad, first add this page to the home screen, ' +
  'and open it from there.';
const DENIED =
  'This browser is set not to show notifications of this site. Allow them in its settings, then ' +
  'load the page again.';
const NOT_ALLOWED = 'The browser was not allowed to show notifications. Try again, and allow them.';
const NOT_RENEWED =
  'This device was notified with an old key, and could not be given the new one. Remove it, load ' +
  'the page again, and add it again.';
const NO_SERVICE = 'The browser could not reach its push service. Try again later.';

declare global {
  interface Window {
    /** Trusted Types, which some browsers do not have. */
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL: () => string },
      ): { createScriptURL(url: string): unknown };
    };
  }
}

/** A device of the member, as the page knows it. */
interface KnownDevice {
  id: string;
  /** SHA-256 of the endpoint of its subscription, in base64url. */
  digest: string;
}

/**
 * Makes the section work in which a member has this browser notified. Says whether it is, and
 * renews a subscription that was made with an old key of the service.
 */
export async function startPush(): Promise<void> {
  const section = document.querySelector<HTMLElement>('[data-push-key]');
  if (!section) return;
  const form = section.querySelector<HTMLElement>('[data-push-form]');
  const isSupported =
    'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;
  if (!isSupported) return showState(section, NOT_SUPPORTED);
  if (Notification.permission === 'denied') return showState(section, DENIED);
  const key = section.dataset.pushKey ?? '';
  const button = form?.querySelector('button');
  const name = form?.querySelector('input');
  if (button && name) {
    button.addEventListener('click', () => run(button, () => addDevice(name, key)));
  }
  const registration = await navigator.serviceWorker.getRegistration(WORKER);
  const subscription = await registration?.pushManager.getSubscription();
  const device = subscription && (await findDevice(subscription));
  if (!registration || !device) return;
  showState(section, 'You are notified on this device.');
  const madeWith = keyOf(subscription);
  if (madeWith === null || madeWith === key) return;
  await renew(registration, subscription, { id: device.id, key }).catch(() =>
    showState(section, NOT_RENEWED),
  );
}

/** Says something about this device in the place of the form that adds it. */
function showState(section: HTMLElement, text: string): void {
  const state = section.querySelector<HTMLElement>('[data-push-state]');
  const form = section.querySelector<HTMLElement>('[data-push-form]');
  if (form) form.hidden = true;
  if (!state) return;
  state.textContent = text;
  state.hidden = false;
}

async function addDevice(name: HTMLInputElement, key: string): Promise<void> {
  if (!name.reportValidity()) return;
  if ((await Notification.requestPermission()) !== 'granted') throw new Error(NOT_ALLOWED);
  const registration = await register();
  const old = await registration.pushManager.getSubscription();
  // It is another member's, who used this browser before, or has another key.
  await old?.unsubscribe();
  const subscription = await subscribe(registration, key);
  await send('POST', '/console/me/push', { name: name.value, ...fieldsOf(subscription), key });
  location.reload();
}

/** Replaces a subscription by one with the present key, so that it is served when the old key ends. */
async function renew(
  registration: ServiceWorkerRegistration,
  old: PushSubscription,
  { id, key }: { id: string; key: string },
): Promise<void> {
  await old.unsubscribe();
  const subscription = await subscribe(registration, key);
  const fields = { old_endpoint: old.endpoint, ...fieldsOf(subscription), key };
  await send('POST', `/console/me/push/${id}`, fields);
}

/** Registers the service worker, and waits until it is active. */
async function register(): Promise<ServiceWorkerRegistration> {
  const registration = await navigator.serviceWorker.register(workerScript() as string);
  const worker = registration.installing ?? registration.waiting;
  if (registration.active || !worker) return registration;
  await new Promise<void>((resolve) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated' || worker.state === 'redundant') resolve();
    });
  });
  return registration;
}

let script: unknown;

/** The script of the worker. A page may make a policy of Trusted Types only once. */
function workerScript(): unknown {
  script ??=
    window.trustedTypes
      ?.createPolicy('service-worker', { createScriptURL: () => WORKER })
      .createScriptURL(WORKER) ?? WORKER;
  return script;
}

async function subscribe(
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

/**
 * The key of the service with which a subscription was made, in base64url; null if the browser does
 * not say.
 */
function keyOf({ options: { applicationServerKey: key } }: PushSubscription): string | null {
  return key && toBase64Url(key);
}

async function findDevice({ endpoint }: PushSubscription): Promise<KnownDevice | undefined> {
  const list = document.querySelector<HTMLElement>('[data-devices]');
  const known: KnownDevice[] = JSON.parse(list?.dataset.devices ?? '[]');
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint));
  return known.find((device) => device.digest === toBase64Url(digest));
}

function toBase64Url(buffer: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(buffer)));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
