/** Lets a list be worked through with the keyboard: see the dialog that `?` opens. */
export function startKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key !== '?' && !isOn()) return;
    const action = ACTIONS[event.key.toLowerCase()];
    if (action?.()) event.preventDefault();
  });
  const box = document.querySelector<HTMLInputElement>('[data-single-keys]');
  if (box) {
    box.checked = isOn();
    box.addEventListener('change', () => localStorage.setItem(SETTING, box.checked ? 'on' : 'off'));
  }
  // The key E of the inbox leads to the limits of a request.
  if (location.hash === '#limits') press('edit');
}

/** Keys of one letter can be switched off, because programs for speech input may type them (WCAG 2.1.4). */
const SETTING = 'countersign-keys';

function isOn(): boolean {
  return localStorage.getItem(SETTING) !== 'off';
}

/** Each returns whether the page has something for the key. */
const ACTIONS: Record<string, () => boolean> = {
  j: () => move(1),
  k: () => move(-1),
  a: () => press('approve'),
  d: () => press('deny'),
  e: () => press('edit'),
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
    target instanceof HTMLElement && target.closest('input:not([type="checkbox"]), textarea, select, dialog') !== null
  );
}

/** Moves the focus to the next or previous row of the list. */
function move(step: number): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  if (rows.length === 0) return false;
  const current = rows.findIndex((row) => row.contains(document.activeElement));
  const next = current < 0 ? 0 : Math.min(Math.max(current + step, 0), rows.length - 1);
  rows[next]?.querySelector<HTMLElement>('a')?.focus();
  return true;
}

/** Does what a key stands for: in the row that has the focus, or on the page. */
function press(name: string): boolean {
  const row = document.activeElement?.closest('[data-row]');
  const target = (row ?? document).querySelector<HTMLElement>(`[data-key="${name}"]`);
  if (!target) return false;
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.querySelector<HTMLElement>('input, select, textarea')?.focus();
  } else {
    target.click();
  }
  return true;
}
