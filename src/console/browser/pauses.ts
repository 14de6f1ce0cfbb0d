/** Keeps a part that updates itself as it is while somebody points at it or works in it. */
export function pauseLiveParts(): void {
  document.addEventListener('htmx:config:request', (event) => {
    const part = event.target as HTMLElement;
    if (!('pauses' in part.dataset)) return;
    if (part.matches(':hover') || part.contains(document.activeElement)) event.preventDefault();
  });
}
