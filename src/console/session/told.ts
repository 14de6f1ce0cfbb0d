import type { Context as HonoContext } from 'hono';
import { MINUTE } from '../../lib/time';
import { clearCookie, readCookie, writeCookie } from './cookies';

const COOKIE = 'countersign-told';

/** What a form can have done, of which the page that follows says more. */
export const DEEDS = [
  'voted',
  'revoked',
  'denied',
  'saved',
  'created',
  'deleted',
  'ended',
  'resumed',
  'sent',
] as const;
export type Deed = (typeof DEEDS)[number];

/** What a form did, and to how many things. */
export interface Told {
  deed: Deed;
  count: number;
}

/**
 * Sends the browser on after a form, to a page that says once what the form did. A cookie tells it,
 * so that no address that somebody else wrote can make the page say so.
 */
export function redirectAndTell(c: HonoContext, address: string, deed: Deed, count = 1): Response {
  const { pathname } = new URL(address, c.req.url);
  writeCookie(c, COOKIE, `${deed} ${count} ${pathname}`, MINUTE);
  return c.redirect(address, 303);
}

/** What the form did that led to the page of this request; null if none did. */
export function readTold(c: HonoContext): Told | null {
  const [text, count, path] = readCookie(c, COOKIE)?.split(' ') ?? [];
  const deed = DEEDS.find((each) => each === text);
  if (!deed || path !== c.req.path || c.req.query('part') !== undefined) return null;
  return { deed, count: Number(count) };
}

/** Lets no further page say what was told. */
export function forgetTold(c: HonoContext): void {
  clearCookie(c, COOKIE);
}
