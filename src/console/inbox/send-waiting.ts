import type { ConsoleContext } from '../session/access';

/** Answers with how many requests wait for the reader, in a few characters; null for none. */
export function sendWaiting(c: ConsoleContext): Response {
  const { waiting } = c.var.signedIn;
  return c.json({ waiting }, 200, { 'Cache-Control': 'no-store' });
}
