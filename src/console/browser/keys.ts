import { showMessage } from './message';

/** Lets a list be worked through with the keyboard: see the dialog that `?` opens. */
export function startKeys(): void {
  if (!document.referrer.startsWith(`${location.origin}/`)) sessionStorage.removeItem(TOUCHED);
  addEventListener('pointerdown', () => sessionStorage.setItem(TOUCHED, 'yes'));
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Tab') sessionStorage.setItem(TOUCHED, 'yes');
    // A key that is held down must not decide on the page that it opens.
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target))
      return;
    if (event.key !== '?' && !isOn()) return;
    // Over the open dialog only the key that closes it counts.
    if (event.key !== '?' && document.querySelector('dialog[open]')) return;
    const action = ACTIONS[event.key.toLowerCase()];
    if (action?.()) event.preventDefault();
  });
  const box = document.querySelector<HTMLInputElement>('[data-single-keys]');
  if (box) {
    box.checked = isOn();
    box.addEventListener('change', () => localStorage.setItem(SETTING, box.checked ? 'on' : 'off'));
  }
  if (location.hash === EDIT) press('edit');
}

/**
 * Set once somebody has clicked, or pressed Tab, in this tab since they came from elsewhere.
 * Without it no key decides: another site could send people who are pressing keys to a request.
 */
const TOUCHED = 'countersign-touched';

/**
 * Keys of one letter can be switched off, because programs for speech input may type them (WCAG
 * 2.1.4).
 */
const SETTING = 'countersign-keys';

function isOn(): boolean {
  return localStorage.getItem(SETTING) !== 'off';
}

/**
 * With this fragment a request opens its limits. No element has it as its id: a browser that goes
 * to an element takes the focus away from the field.
 */
const EDIT = '#edit';

/** Each returns whether the page has something for the key. */
const ACTIONS: Record<string, () => boolean> = {
  j: () => move(1),
  k: () => move(-1),
  a: () => decide('approve'),
  d: () => decide('deny'),
  e: edit,
  u: () => press('up'),
  '?': () => {
    const dialog = document.querySelector<HTMLDialogElement>('#keys');
    if (!dialog) return false;
    if (dialog.open) dialog.close();
    else dialog.showModal();
    return true;
  },
};

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input:not([type="checkbox"]), textarea, select') !== null
  );
}

/** Moves the focus to the next or previous row of the list. */
function move(step: number): boolean {
  const all = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  // The rows of a group that is closed cannot be seen.
  const rows = all.filter((row) => row.checkVisibility());
  if (rows.length === 0) return false;
  const current = rows.findIndex((row) => row.contains(document.activeElement));
  const next = current < 0 ? 0 : Math.min(Math.max(current + step, 0), rows.length - 1);
  const row = rows[next];
  (row?.querySelector<HTMLElement>('a') ?? row)?.focus();
  return true;
}

/**
 * Approves or denies on the page of a request; in a list it only opens the request or the group.
 */
function decide(name: 'approve' | 'deny'): boolean {
  if (openRow('') || openGroup()) return true;
  if (sessionStorage.getItem(TOUCHED) !== null) return press(name);
  const button = document.querySelector(`[data-key="${name}"]`);
  if (!button) return false;
  showMessage(
    button,
    'You came here from another page. Press Tab or click once, then decide with the keys.',
  );
  return true;
}

function edit(): boolean {
  return openRow(EDIT) || openGroup() || press('edit');
}

/** Opens the request of the row that has the focus. */
function openRow(fragment: string): boolean {
  const link = document.activeElement?.closest('[data-row]')?.querySelector('a');
  if (!link) return false;
  location.assign(link.href + fragment);
  return true;
}

/** Opens the group whose line has the focus, and goes to its first request. */
function openGroup(): boolean {
  const group = document.activeElement?.closest('summary[data-row]')?.parentElement;
  if (!(group instanceof HTMLDetailsElement)) return false;
  group.open = true;
  return move(1);
}

/** Presses what has a key, or opens it and puts the focus into it. */
function press(name: string): boolean {
  const target = document.querySelector<HTMLElement>(`[data-key="${name}"]`);
  if (!target) return false;
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.querySelector<HTMLElement>('input, select, textarea')?.focus();
  } else {
    target.click();
  }
  return true;
}
