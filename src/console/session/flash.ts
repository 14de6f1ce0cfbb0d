import type { Context as HonoContext } from 'hono';
import * as z from 'zod';
import { lazy } from '../../lib/lazy';
import { MINUTE } from '../../lib/time';
import { clearCookie, readCookie, writeCookie } from './cookies';

const COOKIE = 'countersign-flash';

/**
 * The kinds of flash messages: what the form before this page did. `approval` and `denial` are
 * decisions that a person made; `approved` and `denied` say that they settled the request.
 */
export const FLASH_KINDS = [
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
export type FlashKind = (typeof FLASH_KINDS)[number];

/** The request that a flash message on another page is about. */
export interface FlashRequest {
  id: string;
  name: string;
}

/** A flash message: the next page says once what a form did. */
export interface Flash {
  kind: FlashKind;
  /** To how many things. */
  count: number;
  /** To which request, if the page is about another one. */
  request: FlashRequest | null;
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
        kind: z.enum(FLASH_KINDS),
        count: z.number(),
        request: z.object({ id: z.string(), name: z.string() }).nullable(),
      }),
    ),
);

/** Redirects the browser after a form, to a page with a flash message. */
export function redirectWithFlash(
  c: HonoContext,
  address: string,
  kind: FlashKind,
  more: Partial<Pick<Flash, 'count' | 'request'>> = {},
): Response {
  setFlash(c, address, kind, more);
  return c.redirect(address, 303);
}

/**
 * Sets the flash message of the page at an address. It is in a cookie, so that no address that
 * somebody else wrote can make the page show one.
 */
export function setFlash(
  c: HonoContext,
  address: string,
  kind: FlashKind,
  { count = 1, request = null }: Partial<Pick<Flash, 'count' | 'request'>> = {},
): void {
  const { pathname: path } = new URL(address, c.req.url);
  writeCookie(c, COOKIE, JSON.stringify({ path, kind, count, request }), MINUTE);
}

/** Reads the flash message of the page of this request; null if it has none. */
export function readFlash(c: HonoContext): Flash | null {
  const text = readCookie(c, COOKIE);
  if (text === undefined || c.req.query('part') !== undefined) return null;
  const stored = Stored().safeParse(text).data;
  return stored?.path === c.req.path ? stored : null;
}

/** Removes the flash message that was shown. */
export function clearFlash(c: HonoContext): void {
  clearCookie(c, COOKIE);
}
