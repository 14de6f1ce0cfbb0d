/**
 * Makes the buttons work that copy a text. `data-copy` is the id of the element that has the text.
 */
export function startCopying(): void {
  // Only pages with a secure connection may copy.
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const text = document.getElementById(button.dataset.copy ?? '')?.textContent ?? '';
      const isCopied = await navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      );
      button.textContent = isCopied ? 'Copied' : 'Not copied: select it and copy it yourself';
    });
  }
}
