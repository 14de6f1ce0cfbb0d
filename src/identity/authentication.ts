import { and, eq, isNull, lt, or } from 'drizzle-orm';
import type { Database } from '../db/database';
import { agents } from '../db/schema';
import { Problem } from '../errors';
import type { Principal, RequestContext, Scope } from '../http/context';
import type { CredentialReference } from '../ledger/authority';
import { isNotHeld } from '../ledger/hold';
import { equalBytes, sha256 } from '../lib/bytes';
import { parseCredential } from '../lib/credential';
import {
  activeAccount,
  activeMember,
  callerByHashes,
  failAuthentication,
  findAgentKey,
  findUserToken,
  hashCredential,
  isStale,
  nextRecordAt,
  type PreloadQueries,
  recordMemberSeen,
  recordTokenUsed,
} from './credentials';
import { findCaller } from './find-caller';
import { authenticateIdentity, isIdentityToken } from './oidc/authenticate';
import { forgetCaller, rememberCaller } from './remembered-callers';
import { limitToRole } from './roles';

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
 * nothing about the token but its length.
 */
export async function isOperatorToken(c: RequestContext, credential: string): Promise<boolean> {
  const { adminToken } = c.var.config;
  if (credential.length !== adminToken.length) return false;
  return equalBytes(await sha256(credential), await sha256(adminToken));
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
 * Finds the caller who presents a credential. Takes round trips as {@link findCaller} says; none
 * for a malformed credential. For JWTs see {@link authenticateIdentity}.
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
  { mayCreateAccount = true } = {},
): Promise<Authentication> {
  const form = parseBearer(credential);
  if (!form && isIdentityToken(c, credential))
    return authenticateIdentity(c, credential, queries, { mayCreateAccount });
  if (!form) return failAuthentication(c);
  const hashes = await hashCredential(c.var.config.keyring, credential);
  const found = await findCaller(
    c,
    form.shard,
    hashes,
    () => (form.kind === 'user' ? findUserToken(hashes) : findAgentKey(hashes)),
    (database) => queries(database, callerByHashes(form.kind, hashes)),
  );
  // It is remembered again below if it is still good.
  forgetCaller(c, hashes[0]);
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
    const principal = { kind: 'user' as const, shard, account, member, token, scopes, expiresAt };
    const records = member ? [row.lastUsedAt, row.memberLastSeenAt] : [row.lastUsedAt];
    rememberCaller(c, hashes[0], { principal, reference, until: nextRecordAt(records, now) });
    return { principal, reference, database, loaded };
  }
  if (!row.agentIsActive) {
    throw new Problem(
      'agent_inactive',
      'The agent is inactive. Its account can set `is_active` to true again.',
    );
  }
  if (isStale(row.lastActivityAt, now)) {
    const isOlder = or(isNull(agents.lastActivityAt), lt(agents.lastActivityAt, now));
    const isAgent = and(eq(agents.number, row.agentNumber), isOlder, isNotHeld(account.number));
    database.piggyback(database.build.update(agents).set({ lastActivityAt: now }).where(isAgent));
  }
  const agent = { number: row.agentNumber, id: row.agentId, owner: row.agentOwner };
  const principal = { kind: 'agent' as const, shard, account, agent };
  const reference = { kind: 'agent_key' as const, account: account.number, hash: row.hash };
  const until = nextRecordAt([row.lastActivityAt], now);
  rememberCaller(c, hashes[0], { principal, reference, until });
  return { principal, reference, database, loaded };
}
