import type { ConsoleContext } from '../session/access';

/**
 * Answers with how many requests wait for the reader, in a few characters, null for none; and with
 * the reader's mark, as somebody else may have signed in meanwhile.
 */
export function sendWaiting(c: ConsoleContext): Response {
  const { waiting, sender } = c.var.signedIn;
  return c.json({ waiting, sender }, 200, { 'Cache-Control': 'no-store' });
}
