import type { Context as HonoContext } from 'hono';
import * as z from 'zod';
import { lazy } from '../../lib/lazy';
import { MINUTE } from '../../lib/time';
import { clearCookie, readCookie, writeCookie } from './cookies';

const COOKIE = 'countersign-told';

/**
 * The deeds of forms that the next page tells about. `approval` and `denial` are
 * decisions that a person made; `approved` and `denied` say that they settled the request.
 */
export const DEEDS = [
  'approval',
  'denial',
  'revoked',
  'denied',
  'saved',
  'joined',
  'joined_with_provider',
  'created',
  'deleted',
  'ended',
  'resumed',
  'sent',
  'approved',
  'skipped',
] as const;
export type Deed = (typeof DEEDS)[number];

/** A request about which another page says what was done. */
export interface ToldRequest {
  id: string;
  name: string;
}

/** The deed of a form. */
export interface Told {
  deed: Deed;
  /** To how many things. */
  count: number;
  /** To which request, if the page is about another one. */
  request: ToldRequest | null;
}

const Stored = lazy(() =>
  z
    .string()
    .transform((text, issues) => {
      try {
        return JSON.parse(text);
      } catch {
        issues.addIssue('is not JSON');
        return z.NEVER;
      }
    })
    .pipe(
      z.object({
        path: z.string(),
        deed: z.enum(DEEDS),
        count: z.number(),
        request: z.object({ id: z.string(), name: z.string() }).nullable(),
      }),
    ),
);

/** Sends the browser on after a form, to a page that says once what the form did. */
export function redirectAndTell(
  c: HonoContext,
  address: string,
  deed: Deed,
  more: Partial<Pick<Told, 'count' | 'request'>> = {},
): Response {
  tellNext(c, address, deed, more);
  return c.redirect(address, 303);
}

/**
 * Lets the page at an address say once what was done. A cookie tells it, so that no address that
 * somebody else wrote can make the page say so.
 */
export function tellNext(
  c: HonoContext,
  address: string,
  deed: Deed,
  { count = 1, request = null }: Partial<Pick<Told, 'count' | 'request'>> = {},
): void {
  const { pathname: path } = new URL(address, c.req.url);
  writeCookie(c, COOKIE, JSON.stringify({ path, deed, count, request }), MINUTE);
}

/** Reads the deed of the form that led to the page of this request; null if none did. */
export function readTold(c: HonoContext): Told | null {
  const text = readCookie(c, COOKIE);
  if (text === undefined || c.req.query('part') !== undefined) return null;
  const stored = Stored().safeParse(text).data;
  return stored?.path === c.req.path ? stored : null;
}

/** Lets no further page say what was told. */
export function forgetTold(c: HonoContext): void {
  clearCookie(c, COOKIE);
}
