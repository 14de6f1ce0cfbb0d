/**
 * Shows a message below a button, and scrolls it into the window. It replaces the message before
 * it.
 * @param content texts and elements; none removes the message
 */
export function showMessage(button: Element, ...content: (string | Node)[]): void {
  const message = document.querySelector<HTMLElement>('#message');
  if (!message) return;
  // In a row of buttons it has the line below all of them.
  const row = button.closest('.actions, .bar, li');
  if (row) row.append(message);
  else button.after(message);
  message.replaceChildren(...content);
  if (content.length > 0) message.scrollIntoView({ block: 'nearest' });
}
