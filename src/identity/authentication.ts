import { and, eq, isNull, lt, or } from 'drizzle-orm';
import { type Database, loadNonNull, type Query, type Reader } from '../db/database';
import { agents, sessions } from '../db/schema';
import { listShards, openShard } from '../db/shards';
import { Problem } from '../errors';
import type { MemberRef, Principal, RequestContext, Scope, UserPrincipal } from '../http/context';
import { type CredentialReference, SESSION_IDLE_TIME, SESSION_LIFETIME } from '../ledger/authority';
import { equalBytes, sha256 } from '../lib/bytes';
import { parseCredential } from '../lib/credential';
import type { Id } from '../lib/typeid';
import {
  activeAccount,
  activeMember,
  callerByHashes,
  callerBySession,
  failAuthentication,
  findAgentKey,
  findMovedCredential,
  findSession,
  findUserToken,
  hashCredential,
  isStale,
  type PreloadQueries,
  recordMemberSeen,
  recordTokenUsed,
} from './credentials';
import { authenticateIdentity, isIdentityToken } from './oidc/authenticate';
import { limitToRole, ROLE_SCOPES } from './roles';

/** An authenticated caller, the database of their account, and the rows of each preload query. */
export interface Authentication {
  principal: Principal;
  /** Identifies the credential for the ledger, which checks it again when it writes. */
  reference: CredentialReference;
  database: Database;
  /** The rows of each query that `queries` made, in their order. */
  loaded: unknown[];
}

/**
 * The credential of `Authorization: Bearer …` (RFC 6750 section 2.1).
 * @throws Problem as {@link failAuthentication}
 */
export async function bearerCredential(c: RequestContext): Promise<string> {
  const match = /^Bearer +(\S+)$/i.exec(c.req.header('Authorization') ?? '');
  return (
    match?.[1] ??
    failAuthentication(c, 'Send a credential as `Authorization: Bearer <credential>`.')
  );
}

/**
 * Whether a credential is the operator token. Compares digests, so that the time taken reveals
 * nothing about the token.
 */
export async function isOperatorToken(c: RequestContext, credential: string): Promise<boolean> {
  return equalBytes(await sha256(credential), await sha256(c.var.config.adminToken));
}

/**
 * Whether a credential has the form of a user token, an agent key or a JWT of the identity
 * provider. Any other is refused without a database query.
 */
export function isWellFormed(c: RequestContext, credential: string): boolean {
  return parseBearer(credential) !== null || isIdentityToken(c, credential);
}

function parseBearer(credential: string) {
  return parseCredential(credential, 'user', 'agent');
}

/**
 * Finds the caller who presents a credential. Takes one round trip, and one more for each time the
 * account was moved to another shard; none for a malformed credential. For JWTs see
 * {@link authenticateIdentity}.
 * @param queries makes the preload's queries, which run in the same round trip
 * @param mayCreateAccount whether a person who signs in for the first time with the identity
 *   provider gets an account
 * @throws Problem as {@link failAuthentication} for a credential that is unknown, expired or
 *   malformed; `account_inactive`, also for a suspended member; `agent_inactive`; `unavailable`
 *   while the account moves to another shard
 */
export async function authenticate(
  c: RequestContext,
  credential: string,
  queries: PreloadQueries = async () => [],
  mayCreateAccount = true,
): Promise<Authentication> {
  const form = parseBearer(credential);
  if (!form && isIdentityToken(c, credential))
    return authenticateIdentity(c, credential, queries, mayCreateAccount);
  if (!form) return failAuthentication(c);
  const hashes = await hashCredential(c.var.config.keyring, credential);
  const found = await findCaller(
    c,
    form.shard,
    hashes,
    () => (form.kind === 'user' ? findUserToken(hashes) : findAgentKey(hashes)),
    (database) => queries(database, callerByHashes(form.kind, hashes)),
  );
  if (!found) return failAuthentication(c);
  const { database, shard, row, loaded } = found;
  const now = c.var.runtime.now();
  if (row.expiresAt !== null && row.expiresAt <= now) return failAuthentication(c);
  const account = activeAccount(row);
  if ('scopes' in row) {
    recordTokenUsed(
      database,
      { account: account.number, token: row.token, lastUsedAt: row.lastUsedAt },
      now,
    );
    const member = activeMember(row);
    if (row.tokenMember !== null && !member) return failAuthentication(c);
    if (member) {
      const seen = { account: account.number, member: member.id, lastSeenAt: row.memberLastSeenAt };
      recordMemberSeen(database, seen, now);
    }
    const own = row.scopes as Scope[];
    const scopes = member ? limitToRole(own, member.role) : own;
    const reference = {
      kind: 'user_token' as const,
      account: account.number,
      hash: row.hash,
      member,
    };
    const { token, expiresAt } = row;
    return {
      principal: { kind: 'user', shard, account, member, token, scopes, expiresAt },
      reference,
      database,
      loaded,
    };
  }
  if (!row.agentIsActive) {
    throw new Problem(
      'agent_inactive',
      'The agent is inactive. Its account can set `is_active` to true again.',
    );
  }
  if (isStale(row.lastActivityAt, now)) {
    const isOlder = or(isNull(agents.lastActivityAt), lt(agents.lastActivityAt, now));
    const isAgent = and(eq(agents.number, row.agentNumber), isOlder);
    database.piggyback(database.build.update(agents).set({ lastActivityAt: now }).where(isAgent));
  }
  const agent = { number: row.agentNumber, id: row.agentId, owner: row.agentOwner };
  return {
    principal: { kind: 'agent', shard, account, agent },
    reference: { kind: 'agent_key', account: account.number, hash: row.hash },
    database,
    loaded,
  };
}

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
}

/**
 * Finds the caller whose session a cookie names. Takes round trips as {@link authenticate} does. A
 * session that was started with a user token has the scopes of the token, limited to the member's
 * role, and ends with the token.
 * @param secret the value of the cookie
 * @param queries makes the preload's queries, which run in the same round trip
 * @returns null if the session is unknown, has expired or has ended
 * @throws Problem `account_inactive`, also for a suspended member; `unavailable` while the account
 *   moves
 */
export async function authenticateSession(
  c: RequestContext,
  secret: string,
  queries: PreloadQueries = async () => [],
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
  recordSessionUsed(database, account.number, row, now);
  if (member) {
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
    database,
    loaded,
  };
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
  );
  database.piggyback(database.build.update(sessions).set({ lastSeenAt: now }).where(isOlder));
}

/**
 * Finds a credential on the shard that it names, or on the shard to which its account was moved;
 * null if it is unknown. An account may have moved several times, so each shard may name another
 * one.
 * @param home the shard that the credential names
 * @param find finds the caller's row on a shard
 * @param preload makes queries that run in the same round trip
 */
export async function findCaller<Q extends Query>(
  c: RequestContext,
  home: string,
  hashes: Uint8Array[],
  find: (reader: Reader) => Q,
  preload: (database: Database) => Promise<(Query | null)[]> = async () => [],
): Promise<FoundCaller<Q> | null> {
  let shard = home;
  for (const _ of listShards(c.env)) {
    const database = openShard(c.env, shard, c.var.cost);
    if (!database) return null;
    const queries = await preload(database);
    const [rows, [moved], ...loaded] = await loadNonNull(database, [
      find(database),
      findMovedCredential(hashes),
      ...queries,
    ]);
    const [row] = rows as RowOf<Q>[];
    if (row) return { database, shard, row, loaded };
    if (!moved) return null;
    shard = moved.shard;
  }
  return null;
}

type RowOf<Q extends Query> = Q['_']['result'][number];

/** A caller's row, and the shard on which it is. */
interface FoundCaller<Q extends Query> {
  database: Database;
  shard: string;
  row: RowOf<Q>;
  loaded: unknown[];
}
