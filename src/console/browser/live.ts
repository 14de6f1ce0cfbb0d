import { SECOND } from '../../lib/time';

/**
 * Says when the parts of the page that update themselves no longer do, because the connection or
 * the session is gone.
 */
export function watchConnection(): void {
  const status = document.querySelector('#connection');
  if (!status) return;
  const say = (text: string) => {
    if (status.textContent !== text) status.textContent = text;
  };
  document.addEventListener('htmx:after:request', (event) => {
    const response = (event as CustomEvent<{ ctx?: { response?: { status: number } } }>).detail?.ctx
      ?.response;
    if (!response) return;
    if (response.status === 401)
      say('Your session has ended: sign in again on a new tab. What you typed stays here.');
    else if (response.status === 429)
      say('Too many requests: this page updates itself again in a minute.');
    else if (response.status >= 400) say('The service does not answer. Trying again…');
    else say('');
  });
  const lost = () => say('There is no connection. Trying again…');
  document.addEventListener('htmx:error', lost);
  addEventListener('offline', lost);
  addEventListener('online', () => say(''));
}

/** Switches the buttons of a decision off once its request has ended. */
export function endDecision(): void {
  document.addEventListener('htmx:after:swap', () => {
    if (!document.querySelector('#live-state [data-ended]')) return;
    const form = document.querySelector<HTMLFormElement>('#decide');
    for (const field of form?.elements ?? [])
      if (field instanceof HTMLButtonElement) field.disabled = true;
  });
}

/** If there is no connection, says that the form was not sent. Returns whether it said so. */
export function warnIfOffline(): boolean {
  if (navigator.onLine) return false;
  const status = document.querySelector('#connection');
  if (status)
    status.textContent =
      'There is no connection, so nothing was sent. What you typed stays here: try again.';
  return true;
}

/** How long after its last movement a pointer counts as moving. */
const MOVING = 15 * SECOND;

/**
 * Skips the loads of a part that updates itself while somebody uses it, so that a press meets what
 * they see. `data-pauses` says when: `moving`, while a mouse moves over the part; `pointing`, while
 * the pointer is over the part or something in it has the focus.
 */
export function pauseLiveParts(): void {
  let movedAt = 0;
  document.addEventListener('pointermove', ({ pointerType }) => {
    if (pointerType === 'mouse') movedAt = Date.now();
  });
  document.addEventListener('htmx:config:request', (event) => {
    const part = event.target;
    if (!(part instanceof HTMLElement)) return;
    const isOver = part.matches(':hover');
    const { pauses } = part.dataset;
    const isMoving = isOver && Date.now() - movedAt < MOVING;
    const isInUse = isOver || part.contains(document.activeElement);
    if ((pauses === 'moving' && isMoving) || (pauses === 'pointing' && isInUse))
      event.preventDefault();
  });
}

/** The key in the tab's storage: what somebody opened in parts that update themselves. */
const OPEN = 'countersign-open';

/**
 * Keeps open what somebody opened in a part that updates itself, also when they come back to the
 * page: what the service sends lacks the attribute `open`.
 */
export function keepOpen(): void {
  const open = new Set<string>(JSON.parse(sessionStorage.getItem(OPEN) ?? '[]'));
  const openAgain = () => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>('[hx-get] details'))
      if (open.has(details.id)) details.open = true;
  };
  const remember = ({ target }: Event) => {
    if (!(target instanceof HTMLDetailsElement) || !target.closest('[hx-get]')) return;
    if (target.open) open.add(target.id);
    else open.delete(target.id);
    sessionStorage.setItem(OPEN, JSON.stringify([...open]));
  };
  openAgain();
  // The event does not bubble.
  document.addEventListener('toggle', remember, { capture: true });
  document.addEventListener('htmx:after:swap', openAgain);
}

/**
 * Keeps the check boxes of a part that updates itself as they are. An update lacks the attribute
 * `checked`, and would uncheck the boxes that were checked when the page was loaded. Setting the
 * state once makes a box ignore the attribute.
 */
export function keepChecks(): void {
  for (const box of document.querySelectorAll<HTMLInputElement>(
    '[hx-get] input[type="checkbox"]',
  )) {
    const { checked } = box;
    box.checked = checked;
  }
}
