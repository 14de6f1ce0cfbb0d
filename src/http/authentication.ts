import { type Database, loadNonNull } from '../db/database';
import { listShards, openShard } from '../db/shards';
import { Problem } from '../errors';
import type { CredentialReference } from '../ledger/authority';
import { equalBytes } from '../lib/bytes';
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

/** Who calls, their account's database, and what the fellow queries found in the same round trip. */
export interface Authentication {
  principal: Principal;
  /** The credential, for the ledger to check again. */
  reference: CredentialReference;
  database: Database;
  loaded: unknown[];
}

/** The credential of `Authorization: Bearer …` (RFC 6750 section 2.1). */
export async function bearerCredential(c: RequestContext): Promise<string> {
  const match = /^Bearer +(\S+)$/i.exec(c.req.header('Authorization') ?? '');
  return match?.[1] ?? failAuthentication(c, 'Send a credential as `Authorization: Bearer <credential>`.');
}

/** Whether a credential is the operator token. Compares digests, so that time tells nothing of the token. */
export async function isOperatorToken(c: RequestContext, credential: string): Promise<boolean> {
  const { keyring, adminToken } = c.var.config;
  const [given] = await keyring.mac('operator-token', credential);
  const [wanted] = await keyring.mac('operator-token', adminToken);
  return equalBytes(given, wanted);
}

/** Whether a credential has the form of one: any other is refused before anything is asked. */
export function isWellFormed(c: RequestContext, credential: string): boolean {
  return parseCredential(credential) !== null || isIdentityToken(c, credential);
}

/**
 * Finds out who calls, in one round trip, two for a moved account, and none for a credential that is malformed.
 * @param who whether a person whom the identity provider vouches for gets an account on first sight
 * @throws Problem `unauthorized` for a credential that is unknown, expired or malformed; `account_inactive`,
 *   `agent_inactive`; `rate_limited` in the place of `unauthorized`
 */
export async function authenticate(
  c: RequestContext,
  credential: string,
  fellows: PreloadQueries = async () => [],
  who: 'known' | 'anybody' = 'anybody',
): Promise<Authentication> {
  const form = parseCredential(credential);
  if (!form && isIdentityToken(c, credential)) return authenticateIdentity(c, credential, fellows, who);
  if (!form) return failAuthentication(c);
  const hashes = await hashCredential(c.var.config.keyring, credential);
  const found = await findCaller(c, form, hashes, fellows);
  if (!found) return failAuthentication(c);
  const { database, shard, row, loaded } = found;
  const now = c.var.runtime.now();
  if (isOver(row.expiresAt, now)) return failAuthentication(c);
  const account = activeAccount(row);
  if ('scopes' in row) {
    const note = recordTokenUse(database, account.number, row.token, row.lastUsedAt, now);
    if (note) database.piggyback(note);
    const scopes = row.scopes as Scope[];
    const reference = { kind: 'user_token' as const, account: account.number, hash: row.hash };
    const { token, expiresAt } = row;
    return { principal: { kind: 'user', shard, account, token, scopes, expiresAt }, reference, database, loaded };
  }
  if (!row.agentIsActive) {
    throw new Problem('agent_inactive', 'The agent is switched off; its account can set `is_active` to true again.');
  }
  const note = recordAgentActivity(database, row.agentNumber, row.lastActivityAt, now);
  if (note) database.piggyback(note);
  const agent = { number: row.agentNumber, id: row.agentId };
  return {
    principal: { kind: 'agent', shard, account, agent },
    reference: { kind: 'agent_key', account: account.number, hash: row.hash },
    database,
    loaded,
  };
}

/**
 * Looks for a credential on the shard that it names, or on the one to which its account moved; null for one unknown. A
 * shard may not know yet that an account moved on from where it leads: that one does.
 */
async function findCaller(
  c: RequestContext,
  { kind, shard: home }: { kind: CredentialKind; shard: string },
  hashes: Uint8Array[],
  fellows: PreloadQueries,
) {
  let shard = home;
  for (const _ of listShards(c.env)) {
    const database = openShard(c.env, shard, c.var.cost);
    if (!database) return null;
    const queries = await fellows(database, callerByHashes(kind, hashes));
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

function isOver(expiresAt: number | null, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}
