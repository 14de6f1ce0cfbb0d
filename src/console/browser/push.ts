import { addDevice, isOwnDevice, renewSubscription, WORKER } from './push-subscription';
import { run } from './send';

const NOT_SUPPORTED =
  'This browser cannot receive notifications. On an iPhone or iPad, first add this page to the home screen, ' +
  'and open it from there.';
const DENIED =
  'This browser blocks notifications of this site. Allow them in its settings, then ' +
  'load the page again.';
const NOT_ALLOWED = 'Notifications were not allowed in the browser. Try again, and allow them.';
const NOT_RENEWED =
  'The service has a new key for notifications, and this device could not take it. Load the page ' +
  'again, or remove the device and add it again.';

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

/**
 * Renews the subscription of this browser, on every page, and makes the section work in which a
 * member has this browser notified.
 */
export async function startPush(): Promise<void> {
  const renewal = renewSubscription().then(
    () => null,
    () => NOT_RENEWED,
  );
  const section = document.querySelector<HTMLElement>('[data-push]');
  if (!section) return;
  const isSupported =
    'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;
  if (!isSupported) return showState(section, NOT_SUPPORTED);
  if (Notification.permission === 'denied') return showState(section, DENIED);
  const form = section.querySelector<HTMLElement>('[data-push-form]');
  const button = form?.querySelector('button');
  const name = form?.querySelector('input');
  if (button && name) button.addEventListener('click', () => run(button, () => notifyHere(name)));
  const fault = await renewal;
  if (fault !== null) showState(section, fault);
  else if (await isOwnDevice()) showState(section, 'You are notified on this device.');
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

async function notifyHere(name: HTMLInputElement): Promise<void> {
  if (!name.reportValidity()) return;
  if ((await Notification.requestPermission()) !== 'granted') throw new Error(NOT_ALLOWED);
  await addDevice(await register(), name.value);
  location.reload();
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
