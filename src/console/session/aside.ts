import type { Context as HonoContext } from 'hono';
import { MINUTE } from '../../lib/time';
import { type Id, parseId } from '../../lib/typeid';
import { readCookie, writeCookie } from './cookies';

const COOKIE = 'countersign-aside';

/** A cookie of more ids would be longer than browsers take. */
const MAX_ASIDE = 90;

/** How much of the mark of a member stands in the cookie. */
const MARK_LENGTH = 12;

/** A request that is set aside, and until which minute. */
type Aside = [id: Id<'perm'>, minute: number];

/**
 * The requests that this member has set aside in this browser, and that are still aside: they come
 * last.
 * @param sender the mark of the member
 */
export function readAside(c: HonoContext, sender: string): Id<'perm'>[] {
  return readEntries(c, sender).map(([id]) => id);
}

/**
 * Sets a request aside, with those that already are.
 * @param until when it is no longer aside, in milliseconds
 */
export function writeAside(c: HonoContext, sender: string, id: Id<'perm'>, until: number): void {
  const others = readEntries(c, sender).filter(([other]) => other !== id);
  const entry: Aside = [id, Math.ceil(until / MINUTE)];
  const entries = [entry, ...others].slice(0, MAX_ASIDE);
  const last = Math.max(...entries.map(([, minute]) => minute)) * MINUTE;
  const texts = entries.map(
    ([each, minute]) => `${each.replace(/^perm_/, '')}-${minute.toString(36)}`,
  );
  const value = [sender.slice(0, MARK_LENGTH), ...texts].join('.');
  writeCookie(c, COOKIE, value, last - c.var.runtime.now());
}

function readEntries(c: HonoContext, sender: string): Aside[] {
  const [mark, ...texts] = readCookie(c, COOKIE)?.split('.') ?? [];
  if (mark !== sender.slice(0, MARK_LENGTH)) return [];
  return texts.slice(0, MAX_ASIDE).flatMap((text): Aside[] => {
    const [id, minute] = text.split('-');
    const parsed = parseId('perm', `perm_${id}`);
    const end = Number.parseInt(minute ?? '', 36);
    return parsed && end * MINUTE > c.var.runtime.now() ? [[parsed, end]] : [];
  });
}
