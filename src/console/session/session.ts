import type { Context as HonoContext } from 'hono';
import type { UserPrincipal } from '../../http/context';
import { SESSION_LIFETIME } from '../../identity/sessions/session';
import { equalBytes, fromBase64Url, toBase64Url } from '../../lib/bytes';
import type { Keyring } from '../../lib/secrets';
import { deriveVapidKeys } from '../../receivers/channels/push/vapid';
import { clearCookie, readCookie, writeCookie } from './cookies';

const COOKIE = 'countersign';

/** The value of the session cookie; undefined without one. */
export function sessionCookie(c: HonoContext): string | undefined {
  return readCookie(c, COOKIE);
}

export function setSessionCookie(c: HonoContext, secret: string): void {
  writeCookie(c, COOKIE, secret, SESSION_LIFETIME);
}

export function clearSessionCookie(c: HonoContext): void {
  clearCookie(c, COOKIE);
}

/** The CSRF token of a session: forms and scripts send it back, which another site cannot. */
export async function csrfToken(keyring: Keyring, secret: string): Promise<string> {
  const [mac] = await keyring.mac('csrf', secret);
  return toBase64Url(mac);
}

/** Whether a text is the CSRF token of a session. */
export async function isCsrfToken(
  keyring: Keyring,
  secret: string,
  text: string,
): Promise<boolean> {
  const given = fromBase64Url(text);
  return (
    given !== null && (await keyring.mac('csrf', secret)).some((mac) => equalBytes(mac, given))
  );
}

/**
 * Marks forms as those of a person, whatever the session: a member, or the user token of an
 * account.
 */
export async function senderMark(keyring: Keyring, principal: UserPrincipal): Promise<string> {
  const [mac] = await senderMacs(keyring, principal);
  return toBase64Url(mac);
}

/** Whether a text marks the forms of a person. */
export async function isSenderMark(
  keyring: Keyring,
  principal: UserPrincipal,
  text: string,
): Promise<boolean> {
  const given = fromBase64Url(text);
  return (
    given !== null && (await senderMacs(keyring, principal)).some((mac) => equalBytes(mac, given))
  );
}

function senderMacs(keyring: Keyring, { member, token }: UserPrincipal) {
  return keyring.mac('form-sender', `${member?.id ?? token}`);
}

/** The values that pages of a session hold for their forms and scripts: see `SignedIn`. */
export async function pageMarks(keyring: Keyring, secret: string, principal: UserPrincipal) {
  const [csrf, sender, pushKey] = await Promise.all([
    csrfToken(keyring, secret),
    senderMark(keyring, principal),
    findPushKey(keyring, principal),
  ]);
  return { csrf, sender, pushKey };
}

async function findPushKey(
  keyring: Keyring,
  { member, token }: UserPrincipal,
): Promise<string | null> {
  if (!member || token !== null) return null;
  const [{ publicKey }] = await deriveVapidKeys(keyring);
  return publicKey;
}
