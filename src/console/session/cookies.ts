import type { Context as HonoContext } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Config } from '../../env';
import { isLoopback } from '../../lib/target';
import { SECOND } from '../../lib/time';

/**
 * Whether the cookies go without the prefix `__Host-` and `Secure`: only where the console is
 * served by `http` on this machine. WebKit refuses both there.
 */
function isPlain({ publicUrl }: Pick<Config, 'publicUrl'>): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'http:' && isLoopback(hostname);
}

/** The value of a cookie of the console; undefined without one. */
export function readCookie(c: HonoContext, name: string): string | undefined {
  return isPlain(c.var.config) ? getCookie(c, name) : getCookie(c, name, 'host');
}

/**
 * Sets a cookie of the console, which scripts cannot read. Lax, because the identity provider and
 * links in mails bring people from other sites.
 * @param lifetime in milliseconds
 */
export function writeCookie(c: HonoContext, name: string, value: string, lifetime: number): void {
  const attributes = {
    path: '/',
    httpOnly: true,
    sameSite: 'Lax',
    maxAge: lifetime / SECOND,
  } as const;
  if (isPlain(c.var.config)) setCookie(c, name, value, attributes);
  else setCookie(c, name, value, { ...attributes, prefix: 'host', secure: true });
}

/** Deletes a cookie of the console. */
export function clearCookie(c: HonoContext, name: string): void {
  if (isPlain(c.var.config)) deleteCookie(c, name, { path: '/' });
  else deleteCookie(c, name, { path: '/', prefix: 'host', secure: true });
}
