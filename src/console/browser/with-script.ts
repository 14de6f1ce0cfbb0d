/** Shows what works only with the script. */
export function showScripted(): void {
  for (const element of document.querySelectorAll<HTMLElement>('[data-with-script]')) element.hidden = false;
}
