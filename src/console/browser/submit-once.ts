/**
 * Sends each form once: a second click while the answer is on its way would repeat the change. When
 * the page is shown again, its forms can be sent again.
 * @param page the window
 * @param isHeldBack whether no form can be sent now, because the connection is lost: the browser
 *   would replace the page with its own error page, and what was typed would be gone
 */
export function submitOnce(page: EventTarget, isHeldBack: () => boolean): void {
  let sent = new WeakSet<object>();
  page.addEventListener('submit', (event) => {
    const form = event.target as unknown as Element;
    // A form that another listener held back, to sign it first, was not sent.
    if (event.defaultPrevented || form.getAttribute('method') !== 'post') return;
    if (sent.has(form) || isHeldBack()) event.preventDefault();
    else sent.add(form);
  });
  page.addEventListener('pageshow', () => {
    sent = new WeakSet();
  });
}
