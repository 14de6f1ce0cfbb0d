/**
 * Shows beside Inbox in the menu what the title of the inbox says after it was loaded again. The
 * inbox with a filter, or of what waits for others, says nothing about the whole, and a count with
 * a plus sign is one of a page.
 */
export function showWaitingCount(title: string): void {
  if (location.pathname !== '/console' || location.search !== '') return;
  const [, count = '', plus] = /^\((\d+)(\+?)\) /.exec(title) ?? [];
  if (plus !== '+') writeWaitingCount(count);
}

/** Shows a count beside Inbox in the menu; nothing for an empty text. */
export function writeWaitingCount(count: string): void {
  const shown = document.querySelector<HTMLElement>('[data-waiting-count]');
  if (!shown?.parentElement) return;
  shown.textContent = count;
  shown.parentElement.hidden = count === '';
}
