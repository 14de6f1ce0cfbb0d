import { and, type Column, eq, inArray, lt, type SQL, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import type { Database } from '../../db/database';
import { accounts, members, sessions, userTokens } from '../../db/schema';
import type { MemberRef, RequestContext, Scope, UserPrincipal } from '../../http/context';
import { SESSION_IDLE_TIME, SESSION_LIFETIME } from '../../ledger/authority';
import { isNotHeld } from '../../ledger/hold';
import { parseCredential } from '../../lib/credential';
import { formatTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import type { Authentication, authenticate } from '../authentication';
import {
  accountColumns,
  activeAccount,
  activeMember,
  type CallerSql,
  hashCredential,
  isStale,
  memberColumns,
  type PreloadQueries,
  prepareByHashes,
  recordMemberSeen,
  recordTokenUsed,
} from '../credentials';
import { findCaller, type RowOf } from '../find-caller';
import { limitToRole, ROLE_SCOPES } from '../roles';

/** A session of the console that was authenticated. */
export interface SessionAuthentication extends Authentication {
  principal: UserPrincipal;
  /**
   * The id of the session, and when the caller proved who they are, in milliseconds since the
   * epoch.
   */
  session: { id: Id<'session'>; authenticatedAt: number };
  /** How the console names the caller and the account. */
  names: { caller: string; account: string };
  /** The stop of the account, with who made it in words; null if it is not stopped. */
  stop: { at: string; by: string; reason: string | null } | null;
}

interface AuthenticationOptions {
  /** Makes the preload's queries, which run in the same round trip. */
  queries?: PreloadQueries;
  /** Whether the request keeps the session from ending as unused. */
  isUse?: boolean;
}

/**
 * Finds the caller whose session a cookie names. Takes round trips as {@link authenticate} does. A
 * session that was started with a user token has the scopes of the token, limited to the member's
 * role, and ends with the token.
 * @param secret the value of the cookie
 * @returns null if the session is unknown, has expired or has ended
 * @throws Problem `account_inactive`, also for a suspended member; `unavailable` while the account
 *   moves
 */
export async function authenticateSession(
  c: RequestContext,
  secret: string,
  { queries = async () => [], isUse = true }: AuthenticationOptions = {},
): Promise<SessionAuthentication | null> {
  const form = parseCredential(secret, 'session');
  if (!form) return null;
  const hashes = await hashCredential(c.var.config.keyring, secret);
  const found = await findCaller(
    c,
    form.shard,
    hashes,
    () => findSession(hashes),
    (database) => queries(database, callerBySession(hashes)),
  );
  const now = c.var.runtime.now();
  if (!found) return null;
  const { database, shard, row, loaded } = found;
  if (row.lastSeenAt <= now - SESSION_IDLE_TIME || row.createdAt <= now - SESSION_LIFETIME)
    return null;
  if (row.tokenId !== row.token || (row.expiresAt !== null && row.expiresAt <= now)) return null;
  const account = activeAccount(row);
  const member = activeMember(row);
  if (!member && (row.sessionMember !== null || row.token === null)) return null;
  if (isUse) recordSessionUsed(database, account.number, row, now);
  if (isUse && member) {
    const seen = { account: account.number, member: member.id, lastSeenAt: row.memberLastSeenAt };
    recordMemberSeen(database, seen, now);
  }
  const scopes = sessionScopes(row.scopes as Scope[] | null, member);
  // Those who may not read the account see only what they brought themselves.
  const mayRead = scopes.includes('account:read');
  const ownName = member ? (row.memberName ?? member.id) : row.tokenName;
  return {
    principal: {
      kind: 'user',
      shard,
      account,
      member,
      token: row.token,
      scopes,
      expiresAt: row.expiresAt,
    },
    reference: {
      kind: 'session',
      account: account.number,
      hash: row.hash,
      token: row.token,
      member,
    },
    session: { id: row.session, authenticatedAt: row.authenticatedAt ?? row.createdAt },
    names: {
      caller: (mayRead ? ownName : row.tokenName) ?? account.id,
      account: (mayRead ? row.accountName : null) ?? account.id,
    },
    stop: presentStop(row, mayRead),
    database,
    loaded,
  };
}

function presentStop(
  {
    accountStoppedAt,
    stoppedBy,
    stopReason,
    stopperName,
  }: Pick<
    RowOf<ReturnType<typeof findSession>>,
    'accountStoppedAt' | 'stoppedBy' | 'stopReason' | 'stopperName'
  >,
  mayRead: boolean,
): SessionAuthentication['stop'] {
  if (accountStoppedAt === null) return null;
  const name = mayRead ? stopperName : null;
  const by = name ?? stoppedBy ?? 'a token of the account';
  return { at: formatTime(accountStoppedAt), by, reason: stopReason };
}

/**
 * Those scopes of the session's user token that the member's role has; without a token all scopes
 * of the role.
 */
function sessionScopes(ofToken: Scope[] | null, member: MemberRef | null): readonly Scope[] {
  if (!member) return ofToken ?? [];
  return ofToken ? limitToRole(ofToken, member.role) : ROLE_SCOPES[member.role];
}

/** Records in the next write that a session and its user token were used, at most once a minute. */
function recordSessionUsed(
  database: Database,
  account: number,
  { session, lastSeenAt, token, lastUsedAt }: RowOf<ReturnType<typeof findSession>>,
  now: number,
): void {
  if (token !== null) recordTokenUsed(database, { account, token, lastUsedAt }, now);
  if (!isStale(lastSeenAt, now)) return;
  const isOlder = and(
    eq(sessions.account, account),
    eq(sessions.id, session),
    lt(sessions.lastSeenAt, now),
    isNotHeld(account),
  );
  database.piggyback(database.build.update(sessions).set({ lastSeenAt: now }).where(isOlder));
}

/**
 * The member whom a session belongs to, as SQL on the row and its user token; NULL if it belongs to
 * the account.
 */
const sessionMember = sql`coalesce(${sessions.member}, ${userTokens.member})`;

/**
 * Finds the session with one of the hashes, its account, its user token if it has one, and its
 * member.
 */
const findSession = prepareByHashes((select, hashes) =>
  select({
    ...accountColumns,
    ...memberColumns,
    hash: sessions.hash,
    session: aliased(sessions.id, 'session_id'),
    createdAt: sessions.createdAt,
    authenticatedAt: sessions.authenticatedAt,
    lastSeenAt: sessions.lastSeenAt,
    sessionMember: sql<Id<'member'> | null>`${sessionMember}`
      .mapWith(members.id)
      .as('session_member'),
    token: sessions.token,
    tokenId: sql<Id<'utok'> | null>`${userTokens.id}`.mapWith(userTokens.id).as('token_id'),
    tokenName: sql<string | null>`coalesce(${userTokens.name}, ${userTokens.prefix} || '…')`.as(
      'token_name',
    ),
    scopes: sql<string[] | null>`${userTokens.scopes}`
      .mapWith(userTokens.scopes)
      .as('token_scopes'),
    expiresAt: sql<number | null>`${userTokens.expiresAt}`.as('token_expires_at'),
    lastUsedAt: sql<number | null>`${userTokens.lastUsedAt}`.as('token_last_used_at'),
    memberName: sql<string | null>`coalesce(${members.name}, ${members.email})`.as('member_name'),
    stoppedBy: accounts.stoppedBy,
    stopReason: accounts.stopReason,
    stopperName: sql<string | null>`(
      select coalesce(stopper.name, stopper.email) from ${members} as stopper
      where stopper.account = ${accounts.number} and stopper.id = ${accounts.stoppedBy}
    )`.as('stopper_name'),
    accountName: sql<string | null>`coalesce(${accounts.name}, ${accounts.email})`.as(
      'account_name',
    ),
  })
    .from(sessions)
    .innerJoin(accounts, eq(accounts.number, sessions.account))
    .leftJoin(
      userTokens,
      and(eq(userTokens.account, sessions.account), eq(userTokens.id, sessions.token)),
    )
    .leftJoin(members, and(eq(members.account, sessions.account), eq(members.id, sessionMember)))
    .where(inArray(sessions.hash, hashes)),
);

/** The caller whose session has one of these hashes. */
function callerBySession(hashes: Uint8Array[]): CallerSql {
  const find = (value: Column | SQL) => sql`(
    select ${value} from ${sessions}
    left join ${userTokens} on ${userTokens.account} = ${sessions.account} and ${userTokens.id} = ${sessions.token}
    where ${inArray(sessions.hash, hashes)})`;
  return {
    account: find(sessions.account) as SQL<number>,
    id: find(sql`coalesce(${sessionMember}, ${sessions.token})`),
    member: find(sessionMember),
    agent: null,
  };
}
