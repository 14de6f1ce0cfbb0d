import { SECOND } from '../../lib/time';
import { isSubscribed } from './push-subscription';
import { writeWaitingCount } from './waiting-count';

/** The key of the choice in `localStorage`, and the name of the lock and of the notification. */
const CHOICE = 'countersign-notify';
/** How often an open page asks how many requests wait. */
const INTERVAL = 30 * SECOND;

const DENIED = 'This browser blocks notifications of this site. Allow them in its settings first.';

/**
 * Notifies the person that more requests wait, while a page of the console is open but out of
 * sight, and keeps the count in the menu current. Only for a person who chose it in this browser,
 * and only where the device gets no Web Push.
 */
export async function startNotifying(): Promise<void> {
  const person = document.querySelector<HTMLInputElement>('input[name="sender"]')?.value;
  if (!person || !('Notification' in window) || (await isSubscribed())) return;
  offerChoice(person);
  // However many pages are open, one at a time asks.
  if (isChosenBy(person)) await navigator.locks?.request(CHOICE, () => watch(person));
}

function isChosenBy(person: string): boolean {
  return localStorage.getItem(CHOICE) === person && Notification.permission === 'granted';
}

/** Shows the button that switches the notifications on and off. */
function offerChoice(person: string): void {
  const part = document.querySelector<HTMLElement>('[data-notify]');
  const button = part?.querySelector('button');
  const hint = part?.querySelector('p');
  if (!part || !button || !hint || Notification.permission === 'denied') return;
  part.hidden = false;
  if (isChosenBy(person)) button.textContent = button.dataset.off ?? '';
  button.addEventListener('click', async () => {
    if (isChosenBy(person)) localStorage.removeItem(CHOICE);
    else if ((await Notification.requestPermission()) === 'granted')
      localStorage.setItem(CHOICE, person);
    else {
      hint.textContent = DENIED;
      return;
    }
    location.reload();
  });
}

/** Asks until the person switches the notifications off, or is no longer the one signed in. */
async function watch(person: string): Promise<void> {
  let known: number | undefined;
  while (isChosenBy(person)) {
    const count = await refreshCount(person);
    if (count === 'not signed in') return;
    if (count !== undefined) {
      if (known !== undefined && count > known && document.hidden) notify(count);
      known = count;
    }
    await new Promise((resolve) => setTimeout(resolve, INTERVAL));
  }
}

/**
 * Loads how many requests wait, and shows it in the menu. Returns `not signed in` also if somebody
 * else is signed in now, and undefined if the service does not answer.
 */
async function refreshCount(person: string): Promise<number | 'not signed in' | undefined> {
  const headers = { Accept: 'application/json' };
  const answer = await fetch('/console/waiting', { headers }).catch(() => undefined);
  if (answer?.status === 401) return 'not signed in';
  if (!answer?.ok) return undefined;
  const { waiting, sender } = (await answer.json()) as { waiting: string | null; sender: string };
  if (sender !== person) return 'not signed in';
  writeWaitingCount(waiting ?? '');
  return Number.parseInt(waiting ?? '0', 10);
}

function notify(count: number): void {
  const title = count === 1 ? 'A request waits for you' : `${count} requests wait for you`;
  const notification = new Notification(title, {
    body: 'Countersign: open the inbox',
    icon: '/console/assets/favicon.svg',
    tag: CHOICE,
  });
  // A new tab, because somebody may have typed into this one.
  notification.onclick = () => open('/console', '_blank', 'noopener');
}
