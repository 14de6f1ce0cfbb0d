import type { SQL } from 'drizzle-orm';
import type { Context as HonoContext } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { sessions } from '../db/schema';
import { newId, type RequestContext } from '../http/context';
import { hashCredential } from '../http/credentials';
import { SESSION_LIFETIME } from '../ledger/authority';
import type { RecordWriter } from '../ledger/ledger';
import { equalBytes, fromBase64Url, toBase64Url } from '../lib/bytes';
import { makeCredential } from '../lib/credential';
import type { Keyring } from '../lib/secrets';
import { SECOND } from '../lib/time';
import type { Id } from '../lib/typeid';

const COOKIE = 'countersign';

/** A new session: its secret for the cookie, and `store`, which makes the statement that stores it. */
export async function makeSession(
  { var: { config, runtime, origin } }: RequestContext,
  shard: string,
  { account, member }: { account: number | SQL; member: Id<'member'> },
) {
  const secret = makeCredential('session', shard, runtime.random);
  const [hash] = await hashCredential(config.keyring, secret);
  const now = runtime.now();
  const row = { id: newId(runtime, 'sess'), member, ...origin, lastSeenAt: now, createdAt: now };
  return {
    id: row.id,
    secret,
    store: (write: RecordWriter) => write.insert(sessions).values({ ...row, hash, account }),
  };
}

/** The value of the session cookie; undefined without one. */
export function sessionCookie(c: HonoContext): string | undefined {
  return getCookie(c, COOKIE, 'host');
}

export function setSessionCookie(c: HonoContext, secret: string): void {
  const maxAge = SESSION_LIFETIME / SECOND;
  setCookie(c, COOKIE, secret, { prefix: 'host', path: '/', httpOnly: true, secure: true, sameSite: 'Lax', maxAge });
}

export function clearSessionCookie(c: HonoContext): void {
  deleteCookie(c, COOKIE, { prefix: 'host', path: '/', secure: true });
}

/** The CSRF token of a session: forms and scripts send it back, which another site cannot. */
export async function csrfToken(keyring: Keyring, secret: string): Promise<string> {
  const [mac] = await keyring.mac('csrf', secret);
  return toBase64Url(mac);
}

/** Whether a text is the CSRF token of a session. */
export async function isCsrfToken(keyring: Keyring, secret: string, text: string): Promise<boolean> {
  const given = fromBase64Url(text);
  return given !== null && (await keyring.mac('csrf', secret)).some((mac) => equalBytes(mac, given));
}
