import type { SQL } from 'drizzle-orm';
import type { Context as HonoContext } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Database, Statement } from '../../db/database';
import { sessions } from '../../db/schema';
import { makeActivityRecord } from '../../http/activity';
import { newId, type RequestContext, type UserPrincipal } from '../../http/context';
import { hashCredential } from '../../http/credentials';
import { SERVICE_AUTHORITY, SESSION_LIFETIME } from '../../ledger/authority';
import { Ledger, type RecordWriter } from '../../ledger/ledger';
import { equalBytes, fromBase64Url, toBase64Url } from '../../lib/bytes';
import { makeCredential } from '../../lib/credential';
import type { Keyring } from '../../lib/secrets';
import { SECOND } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { type Challenge, useChallenge } from './challenge';

const COOKIE = 'countersign';

/** Whom a session belongs to: a member, or the user token with which somebody signed in. */
type SessionOwner = { member: Id<'member'>; token?: null } | { token: Id<'utok'>; member?: null };

/** A new session: its secret for the cookie, and `store`, which makes the statement that stores it. */
export async function makeSession(
  { var: { config, runtime, origin } }: RequestContext,
  shard: string,
  { account, member = null, token = null }: { account: number | SQL } & SessionOwner,
) {
  const secret = makeCredential('session', shard, runtime.random);
  const [hash] = await hashCredential(config.keyring, secret);
  const now = runtime.now();
  const row = { id: newId(runtime, 'session'), member, token, ...origin, lastSeenAt: now, createdAt: now };
  return {
    id: row.id,
    secret,
    store: (write: RecordWriter) => write.insert(sessions).values({ ...row, hash, account }),
  };
}

/** A sign-in that has been verified. */
interface SignIn {
  database: Database;
  shard: string;
  /** The number of the account. */
  account: number;
  member: Id<'member'>;
  /** The account's number as SQL: NULL, so that the transaction aborts, if the member can no longer sign in in this way. */
  accountIfAllowed: SQL<number>;
  /** Can be used for one sign-in. */
  challenge: Challenge;
  /** Makes statements that change something in the same transaction. */
  changes?: (write: RecordWriter) => Statement[];
}

/**
 * Signs a member in: stores a session with its activity record.
 * @returns the secret of the session's cookie
 * @throws ConstraintError if the challenge was used before, or the member can no longer sign in; nothing was written
 */
export async function beginSession(c: RequestContext, signIn: SignIn): Promise<string> {
  const { database, shard, account, member, accountIfAllowed, challenge, changes } = signIn;
  const session = await makeSession(c, shard, { account, member });
  const activity = { actor: member, action: 'session.created' as const, target: session.id, changes: [] };
  await new Ledger(database, SERVICE_AUTHORITY).change({
    record: makeActivityRecord(c.var, { account: accountIfAllowed, ...activity }),
    changes: (write) => [useChallenge(write, account, challenge), ...(changes?.(write) ?? []), session.store(write)],
    answer: null,
  });
  return session.secret;
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

/** Marks forms as those of a person, whatever the session: a member, or the user token of an account. */
export async function senderMark(keyring: Keyring, principal: UserPrincipal): Promise<string> {
  const [mac] = await senderMacs(keyring, principal);
  return toBase64Url(mac);
}

/** Whether a text marks the forms of a person. */
export async function isSenderMark(keyring: Keyring, principal: UserPrincipal, text: string): Promise<boolean> {
  const given = fromBase64Url(text);
  return given !== null && (await senderMacs(keyring, principal)).some((mac) => equalBytes(mac, given));
}

function senderMacs(keyring: Keyring, { member, token }: UserPrincipal) {
  return keyring.mac('form-sender', `${member?.id ?? token}`);
}
