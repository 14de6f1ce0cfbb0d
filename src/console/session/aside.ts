import type { Context as HonoContext } from 'hono';
import { type Id, parseId } from '../../lib/typeid';
import { readCookie, writeCookie } from './cookies';

const COOKIE = 'countersign-aside';

/** A cookie of more ids would be longer than browsers take. */
const MAX_ASIDE = 100;

/** The requests that this browser has set aside for today: they come last. */
export function readAside(c: HonoContext): Id<'perm'>[] {
  const ids = readCookie(c, COOKIE)?.split('.') ?? [];
  return ids.slice(0, MAX_ASIDE).flatMap((id) => parseId('perm', `perm_${id}`) ?? []);
}

/**
 * Sets a request aside in this browser, with those that already are.
 * @param lifetime how long they stay aside, in milliseconds
 */
export function writeAside(c: HonoContext, id: Id<'perm'>, lifetime: number): void {
  const ids = [...new Set([id, ...readAside(c)])].slice(0, MAX_ASIDE);
  writeCookie(c, COOKIE, ids.map((each) => each.replace(/^perm_/, '')).join('.'), lifetime);
}
