import type { ConsoleContext } from '../session/access';

/**
 * Answers with the count beside Inbox in the menu, such as `3` or `99+`, null if it has none; and
 * with the mark of the person signed in, so that an open page notices if it is somebody else now.
 */
export function sendWaiting(c: ConsoleContext): Response {
  const { waiting, sender } = c.var.signedIn;
  return c.json({ waiting, sender }, 200, { 'Cache-Control': 'no-store' });
}
