import { type Database, loadNonNull } from '../db/database';
import { listShards, openShard } from '../db/shards';
import { Problem } from '../errors';
import type { CredentialReference } from '../ledger/authority';
import { equalBytes, sha256 } from '../lib/bytes';
import { type CredentialKind, parseCredential } from '../lib/credential';
import { failAuthentication } from './authentication-failure';
import type { Principal, RequestContext, Scope } from './context';
import {
  activeAccount,
  callerByHashes,
  findAgentKey,
  findMovedCredential,
  findUserToken,
  hashCredential,
  type PreloadQueries,
} from './credentials';
import { recordAgentActivity, recordTokenUse } from './last-used';
import { authenticateIdentity, isIdentityToken } from './oidc/identity';

/** An authenticated caller, the database of their account, and the rows of the preload queries. */
export interface Authentication {
  principal: Principal;
  /** Identifies the credential, so that the ledger can check it again when it writes. */
  reference: CredentialReference;
  database: Database;
  loaded: unknown[];
}

/**
 * The credential of `Authorization: Bearer …` (RFC 6750 section 2.1).
 * @throws Problem as {@link failAuthentication}
 */
export async function bearerCredential(c: RequestContext): Promise<string> {
  const match = /^Bearer +(\S+)$/i.exec(c.req.header('Authorization') ?? '');
  return match?.[1] ?? failAuthentication(c, 'Send a credential as `Authorization: Bearer <credential>`.');
}

/**
 * Whether a credential is the operator token. Compares digests, so that the time taken reveals nothing about the token.
 */
export async function isOperatorToken(c: RequestContext, credential: string): Promise<boolean> {
  return equalBytes(await sha256(credential), await sha256(c.var.config.adminToken));
}

/**
 * Whether a credential has the form of a user token, an agent key or a JWT. Any other is refused without a database
 * query.
 */
export function isWellFormed(c: RequestContext, credential: string): boolean {
  return parseCredential(credential) !== null || isIdentityToken(c, credential);
}

/**
 * Finds the caller who presents a credential. Takes one round trip; two if the account was moved to another shard, none
 * if the credential is malformed.
 * @param queries run in the same round trip
 * @param mayCreateAccount whether a person who signs in for the first time with the identity provider gets an account
 * @throws Problem `unauthorized` for a credential that is unknown, expired or malformed; `account_inactive`,
 *   `agent_inactive`; `rate_limited` instead of `unauthorized`
 */
export async function authenticate(
  c: RequestContext,
  credential: string,
  queries: PreloadQueries = async () => [],
  mayCreateAccount = true,
): Promise<Authentication> {
  const form = parseCredential(credential);
  if (!form && isIdentityToken(c, credential)) return authenticateIdentity(c, credential, queries, mayCreateAccount);
  if (!form) return failAuthentication(c);
  const hashes = await hashCredential(c.var.config.keyring, credential);
  const found = await findCaller(c, form, hashes, queries);
  if (!found) return failAuthentication(c);
  const { database, shard, row, loaded } = found;
  const now = c.var.runtime.now();
  if (row.expiresAt !== null && row.expiresAt <= now) return failAuthentication(c);
  const account = activeAccount(row);
  if ('scopes' in row) {
    const use = recordTokenUse(database, account.number, row.token, row.lastUsedAt, now);
    if (use) database.piggyback(use);
    const scopes = row.scopes as Scope[];
    const reference = { kind: 'user_token' as const, account: account.number, hash: row.hash };
    const { token, expiresAt } = row;
    return { principal: { kind: 'user', shard, account, token, scopes, expiresAt }, reference, database, loaded };
  }
  if (!row.agentIsActive) {
    throw new Problem('agent_inactive', 'The agent is inactive. Its account can set `is_active` to true again.');
  }
  const activity = recordAgentActivity(database, row.agentNumber, row.lastActivityAt, now);
  if (activity) database.piggyback(activity);
  const agent = { number: row.agentNumber, id: row.agentId };
  return {
    principal: { kind: 'agent', shard, account, agent },
    reference: { kind: 'agent_key', account: account.number, hash: row.hash },
    database,
    loaded,
  };
}

/**
 * Finds a credential on the shard that it names, or on the shard to which its account was moved; null if it is unknown.
 * An account may have moved several times, so each shard may name another one.
 */
async function findCaller(
  c: RequestContext,
  { kind, shard: home }: { kind: CredentialKind; shard: string },
  hashes: Uint8Array[],
  preload: PreloadQueries,
) {
  let shard = home;
  for (const _ of listShards(c.env)) {
    const database = openShard(c.env, shard, c.var.cost);
    if (!database) return null;
    const queries = await preload(database, callerByHashes(kind, hashes));
    const find = kind === 'user' ? findUserToken(database, hashes) : findAgentKey(database, hashes);
    const [[row], [moved], ...loaded] = await loadNonNull(database, [
      find,
      findMovedCredential(database, hashes),
      ...queries,
    ]);
    if (row) return { database, shard, row, loaded };
    if (!moved) return null;
    shard = moved.shard;
  }
  return null;
}
